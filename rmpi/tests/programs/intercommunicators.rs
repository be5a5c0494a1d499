//! Two groups that talk to each other, and a program that starts more of itself.

use rmpi::{
    AccessMode, Communicator, ErrorClass, ErrorHandler, File, InterCommunicator, InterRoot,
    RmpiContext, Tag,
};

fn main() -> rmpi::RmpiResult {
    let context = rmpi::init()?;
    if std::env::args().any(|argument| argument == "--child") {
        return child(&context);
    }
    let world = context.world();
    halves(world)?;
    ports(world)?;
    spawn(&context)?;
    if world.rank()? == 0 {
        println!("intercommunicators: right on {} ranks", world.size()?);
    }
    Ok(())
}

fn halves(world: &Communicator<'_>) -> rmpi::RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    if size < 2 {
        return Ok(());
    }
    // Of four, one and three.
    let side = usize::from(rank != 0);
    let half = world.split(Some(side as u32), 0)?.expect("a color was given");
    let other = half.intercomm_create(0, world.process(1 - side), Tag::new(7))?;
    let theirs = if side == 0 { size - 1 } else { 1 };
    assert_eq!((other.size()?, other.remote_size()?), (half.size()?, theirs));
    assert_eq!(other.rank()?, half.rank()?);
    assert_eq!(other.remote_group()?.size()?, theirs);
    assert_eq!(other.group()?.rank()?, Some(half.rank()?));
    other.barrier()?;

    // A process of the other side is no way to use it as what it is not.
    let process = other.process(0);
    assert!(process.communicator().test_inter()?);
    assert_eq!(process.communicator().dup().unwrap_err().class(), ErrorClass::COMM);
    let mut all = vec![0; size];
    let refused = process.communicator().allgather(&rank, &mut all);
    assert_eq!(refused.unwrap_err().class(), ErrorClass::COMM);
    let path = std::env::temp_dir().join("rmpi-no-file");
    let refused = File::open(process.communicator(), path, AccessMode::RDONLY, None);
    assert_eq!(refused.unwrap_err().class(), ErrorClass::COMM);
    let outside = other.process(theirs).send(&0, Tag::new(0));
    assert_eq!(outside.unwrap_err().class(), ErrorClass::RANK, "errors return");

    if half.rank()? == 0 {
        let mut received = [0_u64; 2];
        rmpi::scope(|scope| {
            let receive = process.irecv(scope, &mut received[..], Tag::new(1))?;
            process.send(&[rank as u64, 5], Tag::new(1))?;
            receive.wait().map(drop)
        })?;
        assert_eq!(received, [1 - rank as u64, 5], "from the other leader");
    }

    let mut ranks = vec![0; theirs];
    other.allgather(&rank, &mut ranks)?;
    let expected: Vec<usize> = if side == 0 { (1..size).collect() } else { vec![0] };
    assert_eq!(ranks, expected, "the other side's ranks in the world");
    let mut odd = vec![0; theirs + 1];
    if theirs > 1 {
        let refused = other.allgather(&rank, &mut odd);
        assert_eq!(refused.unwrap_err().class(), ErrorClass::COUNT);
    }
    let mut value = if side == 0 { 42 } else { 0 };
    let root = if side == 0 { InterRoot::Here } else { InterRoot::Remote(0) };
    other.bcast(&mut value, root)?;
    assert_eq!(value, 42);
    let mut value = if half.rank()? == 0 { 7 } else { 0 };
    let root = match (side, half.rank()?) {
        (0, _) => InterRoot::Remote(0),
        (_, 0) => InterRoot::Here,
        _ => InterRoot::Elsewhere,
    };
    other.bcast(&mut value, root)?;
    assert_eq!(value, if side == 0 || half.rank()? == 0 { 7 } else { 0 });

    let merged = other.dup()?.merge(side == 0)?;
    assert_eq!(merged.get_errhandler()?, Some(ErrorHandler::Return));
    let expected = if side == 0 { size - 1 } else { half.rank()? };
    assert_eq!(merged.rank()?, expected, "the high group comes last");
    other.disconnect()
}

/// Is this Debian's MPICH 4.0.2, or MPICH 3.4.3? They crash when they spawn.
fn is_old_mpich() -> rmpi::RmpiResult<bool> {
    let version = rmpi::get_library_version()?;
    Ok(version.contains("4.0.2") || version.contains("3.4.3"))
}

fn ports(world: &Communicator<'_>) -> rmpi::RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let long = std::ffi::CString::new(vec![b'x'; 5000]).expect("no zero");
    // SAFETY: `connect` requires a port that `open_port` made. It refuses this one, which is longer
    // than a port's name, before MPI sees it.
    let refused = unsafe { world.connect(&long, None, 0) };
    assert_eq!(refused.unwrap_err().class(), ErrorClass::PORT);
    for name in [c"", c"two\nlines", &long] {
        let refused = [
            rmpi::lookup_name(world, name, None).map(drop),
            rmpi::publish_name(world, name, None, c"port"),
            rmpi::publish_name(world, c"service", None, name),
            rmpi::unpublish_name(world, name, None, c"port"),
        ];
        assert!(refused.iter().all(Result::is_err), "{refused:?}");
    }
    if size < 2 || is_old_mpich()? {
        return Ok(());
    }
    let half = world.split(Some(u32::from(rank != 0)), 0)?.expect("a color was given");
    let mut name = [0_u8; 2048];
    let other = if rank == 0 {
        let port = match rmpi::open_port(world, None) {
            Ok(port) => port,
            Err(error) => {
                println!("no ports: {error}");
                for other in 1..size {
                    world.process(other).send(&name, Tag::new(0))?;
                }
                return Ok(());
            }
        };
        name[..port.as_bytes().len()].copy_from_slice(port.as_bytes());
        for other in 1..size {
            world.process(other).send(&name, Tag::new(0))?;
        }
        // SAFETY: `accept` requires a port that `open_port` made and that is open: it was made above,
        // and is closed below.
        let other = unsafe { half.accept(&port, None, 0)? };
        rmpi::close_port(world, &port)?;
        other
    } else {
        world.process(0).recv(&mut name, Tag::new(0))?;
        let port = std::ffi::CStr::from_bytes_until_nul(&name).expect("the rest is zero");
        if port.is_empty() {
            return Ok(());
        }
        // SAFETY: `connect` requires a port that `open_port` made and that is open: rank 0 made it,
        // sent its name, and closes it after it has accepted.
        unsafe { half.connect(port, None, 0)? }
    };
    assert_eq!(other.remote_size()?, if rank == 0 { size - 1 } else { 1 });
    let mut sum = vec![0; other.remote_size()?];
    other.allgather(&rank, &mut sum)?;
    assert_eq!(sum.iter().sum::<usize>(), if rank == 0 { size * (size - 1) / 2 } else { 0 });
    other.disconnect()
}

fn spawn(context: &RmpiContext) -> rmpi::RmpiResult {
    let world = context.world();
    assert!(context.get_parent()?.is_none());
    if is_old_mpich()? || std::env::var_os("RMPI_NO_SPAWN").is_some() {
        return Ok(());
    }
    let program = std::env::current_exe().expect("it runs");
    let program = std::ffi::CString::new(program.into_os_string().into_encoded_bytes());
    let program = program.expect("a path has no zero");
    let children = match world.spawn(&program, &[c"--child", c"more"], 1, None, 0) {
        Ok(children) => children,
        Err(error) => {
            println!("no children: {error}");
            return Ok(());
        }
    };
    assert_eq!(children.remote_size()?, 1);
    // MPICH 5.0.2 fails at a parent that has not connected to a child yet when the child ends.
    world.barrier()?;
    if world.rank()? == 0 {
        let mut answer = 0;
        children.process(0).send(&20, Tag::new(0))?;
        children.process(0).recv(&mut answer, Tag::new(1))?;
        assert_eq!(answer, 41, "the child's answer");
    }
    children.disconnect()?;
    // Two programs at once, which are one world, in their order.
    let mut info = rmpi::Info::new(context)?;
    info.set(c"rmpi_test", c"ignored")?;
    let child = rmpi::Spawn::new(&program, 1).arguments(&[c"--child"]);
    let two = [child, child.info(&info)];
    let programs = if world.rank()? == 0 { &two[..] } else { &[] };
    let children = world.spawn_multiple(programs, 0)?;
    assert_eq!(children.remote_size()?, 2);
    world.barrier()?;
    if world.rank()? == 0 {
        for rank in 0..2 {
            let mut answer = 0;
            children.process(rank).send(&(10 * rank as i32), Tag::new(0))?;
            children.process(rank).recv(&mut answer, Tag::new(1))?;
            assert_eq!(answer, 20 * rank as i32 + 1);
        }
    }
    children.disconnect()?;
    if world.rank()? == 0 {
        let none = world.spawn_multiple(&[], 0).map(drop).unwrap_err();
        assert_eq!(none.class(), ErrorClass::ARG);
    }
    Ok(())
}

fn child(context: &RmpiContext) -> rmpi::RmpiResult {
    let parent: InterCommunicator<'_> = context.get_parent()?.expect("it was spawned");
    assert_eq!(context.get_parent().unwrap_err().class(), ErrorClass::OTHER);
    // SAFETY: `assume_initialized` requires MPI to run while the context is used, at its level, with errors that
    // return, and no other caller meanwhile: `context` outlives it, has begun MPI at this level, and this is the
    // only thread.
    let other_mode = unsafe { rmpi::pmpi_mode::RmpiContext::<rmpi::Single>::assume_initialized() };
    let refused = other_mode.get_parent().map(drop).unwrap_err();
    assert_eq!(
        refused.into_raw(),
        ErrorClass::OTHER.into_raw(),
        "the parent is one, in both modes"
    );
    drop(parent);
    let parent = context.get_parent()?.expect("it was given back");
    let mut value = 0;
    parent.process(0).recv(&mut value, Tag::new(0))?;
    parent.process(0).send(&(2 * value + 1), Tag::new(1))?;
    parent.disconnect()?;
    assert!(context.get_parent()?.is_none());
    Ok(())
}
