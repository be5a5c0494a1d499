//! Groups, what communicators are made of, infos and error handlers.

#![allow(clippy::forget_non_drop, reason = "what a user may do")]

use rmpi::{
    Communicator, Comparison, ErrorClass, ErrorHandler, Group, Info, RankRange, SplitType, Tag,
};

fn main() -> rmpi::RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    let (rank, size) = (world.rank()?, world.size()?);

    let all = world.group()?;
    assert_eq!((all.size()?, all.rank()?), (size, Some(rank)));
    let even: Vec<usize> = (0..size).step_by(2).collect();
    let group = all.incl(&even)?;
    assert_eq!(group.size()?, even.len());
    assert_eq!(group.rank()?, (rank % 2 == 0).then_some(rank / 2), "every second process");
    let range = RankRange { first: 0, last: size - 1, stride: 2 };
    assert_eq!(group.compare(&all.range_incl(&[range])?)?, Comparison::Identical);
    let odd = all.excl(&even)?;
    assert_eq!(odd.compare(&all.range_excl(&[range])?)?, Comparison::Identical);
    assert_eq!(all.difference(&group)?.compare(&odd)?, Comparison::Identical);
    assert_eq!(group.union(&odd)?.size()?, size);
    assert_eq!(group.intersection(&odd)?.size()?, 0);
    let expected: Vec<_> = (0..size).map(|rank| (rank % 2 == 0).then_some(rank / 2)).collect();
    let everybody: Vec<usize> = (0..size).collect();
    assert_eq!(all.translate_ranks(&everybody, &group)?, expected);
    let backwards = RankRange { first: size - 1, last: 0, stride: -1 };
    assert_eq!(all.range_incl(&[backwards])?.rank()?, Some(size - 1 - rank));

    for refused in [all.incl(&[size]), all.excl(&[0, 0]), all.incl(&[usize::MAX])] {
        assert_eq!(refused.unwrap_err().class(), ErrorClass::RANK);
    }
    let nowhere = RankRange { first: 0, last: 0, stride: 0 };
    assert_eq!(all.range_incl(&[nowhere]).unwrap_err().class(), ErrorClass::ARG);
    assert_eq!(all.range_excl(&[range, range]).unwrap_err().class(), ErrorClass::RANK);
    let far = RankRange { first: 0, last: 0, stride: isize::MAX };
    assert_eq!(all.range_incl(&[far])?.size()?, 1);
    Group::empty(&context).free()?;
    assert_eq!(Group::empty(&context).rank()?, None);

    communicators(world, &group)?;
    infos(world)?;
    errors(world)?;

    let alone = Communicator::create_from_group(&all, c"org.example.groups", None);
    match alone {
        Ok(everybody) => {
            assert_eq!(everybody.get_errhandler()?, Some(ErrorHandler::Return));
            everybody.barrier()?;
        }
        // MPICH makes none of a group of the world.
        Err(error) => println!("create_from_group: {error}"),
    }
    if world.rank()? == 0 {
        println!("groups: right on {} ranks", world.size()?);
    }
    Ok(())
}

fn communicators(world: &Communicator<'_>, group: &Group<'_>) -> rmpi::RmpiResult {
    let rank = world.rank()?;
    let made = |communicator: &Communicator<'_>| -> rmpi::RmpiResult {
        let errors = communicator.process(communicator.size()?).send(&0, Tag::new(0));
        assert_eq!(errors.unwrap_err().class(), ErrorClass::RANK, "errors return");
        assert!(!communicator.test_inter()?);
        Ok(())
    };
    let create = world.create(group)?;
    assert_eq!(create.is_some(), rank % 2 == 0);
    if let Some(even) = &create {
        made(even)?;
        assert_eq!(even.rank()?, rank / 2);
    }
    if rank % 2 == 0 {
        made(&world.create_group(group, Tag::new(3))?.expect("it is in the group"))?;
    }
    // MPIs abort or crash over processes that are not in the communicator.
    let alone = world.split(Some(rank as u32), 0)?.expect("a color was given");
    if world.size()? > 1 {
        let all = world.group()?;
        assert_eq!(alone.create(&all).unwrap_err().class(), ErrorClass::GROUP);
        assert_eq!(alone.create_group(&all, Tag::new(3)).unwrap_err().class(), ErrorClass::GROUP);
    }
    let node = world.split_type(Some(SplitType::Shared), 0, None)?.expect("a type was given");
    made(&node)?;
    assert!(world.split_type(None, 0, None)?.is_none());
    made(&world.dup_with_info(None)?)?;
    let copy = rmpi::scope(|scope| world.idup(scope)?.wait()?.into_communicator())?;
    made(&copy)?;
    assert_eq!(copy.compare(world)?, Comparison::Congruent);
    // Forgotten, it is waited for at the end of the scope, and leaked.
    rmpi::scope(|scope| world.idup(scope).map(std::mem::forget))?;
    copy.barrier()
}

fn infos(world: &Communicator<'_>) -> rmpi::RmpiResult {
    let mut info = Info::new(world)?;
    info.set(c"a", c"first")?;
    info.set(c"b", c"other")?;
    info.set(c"b", c"second")?;
    assert_eq!(info.get(c"b")?.as_deref(), Some("second"));
    assert_eq!(info.get(c"c")?, None);
    match info.get_string(c"a") {
        Ok(value) => assert_eq!(value.as_deref(), Some("first")),
        Err(error) => assert_eq!(error.class(), ErrorClass::UNSUPPORTED_OPERATION),
    }
    assert_eq!((info.get_valuelen(c"a")?, info.get_valuelen(c"c")?), (Some(5), None));
    let copy = info.dup()?;
    info.delete(c"a")?;
    assert!(info.delete(c"a").is_err());
    assert_eq!((info.keys()?, copy.get_nkeys()?), (vec!["b".to_owned()], 2));
    assert!(info.get_nthkey(5).is_err());
    let mut env = Info::env(world);
    env.keys()?;
    assert_eq!(env.set(c"command", c"mine").unwrap_err().class(), ErrorClass::INFO);
    let hinted = world.dup_with_info(Some(&copy))?;
    hinted.set_info(&copy)?;
    hinted.get_info()?.free()
}

fn errors(world: &Communicator<'_>) -> rmpi::RmpiResult {
    let mine = world.dup()?;
    assert_eq!(mine.get_errhandler()?, Some(ErrorHandler::Return));
    mine.set_errhandler(ErrorHandler::Fatal)?;
    assert_eq!(mine.get_errhandler()?, Some(ErrorHandler::Fatal));
    mine.set_errhandler(ErrorHandler::Return)?;
    let class = rmpi::add_error_class(world)?;
    let error = rmpi::add_error_code(world, class)?;
    rmpi::add_error_string(world, error, c"it diverges")?;
    assert_eq!((error.class(), error.text().as_str()), (class, "it diverges"));
    mine.call_errhandler(error)
}
