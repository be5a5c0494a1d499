//! Sessions, one after the other and with the world.

use rmpi::{
    Communicator, ErrorClass, ErrorHandler, MpiDatatype, Multiple, Serialized, Session, Tag,
};

// What may change threads, whatever a handle is.
const fn may_move<T: Send>() {}
const fn may_be_shared<T: Sync>() {}
const _: () = {
    may_move::<Session<Serialized>>();
    may_move::<Session<Multiple>>();
    may_be_shared::<Session<Multiple>>();
};

#[derive(Clone, Copy, Debug, PartialEq, MpiDatatype)]
#[repr(C)]
struct Pair {
    a: i32,
    b: f64,
}

fn main() -> rmpi::RmpiResult {
    let session = match Session::init() {
        Ok(session) => session,
        Err(error) => {
            assert_eq!(error.class(), ErrorClass::UNSUPPORTED_OPERATION, "{error}");
            return without_sessions();
        }
    };
    // Of another level, or on another thread: it would not be safe.
    let refused = Session::init_thread(Multiple).map(drop);
    assert_eq!(refused.unwrap_err().class(), ErrorClass::OTHER);
    let elsewhere = std::thread::spawn(|| Session::init().map(drop)).join().expect("no panic");
    assert_eq!(elsewhere.unwrap_err().class(), ErrorClass::OTHER);

    let sets: Vec<String> =
        (0..session.get_num_psets()?).map(|n| session.get_nth_pset(n)).collect::<Result<_, _>>()?;
    assert!(sets.iter().any(|name| name == "mpi://WORLD"), "{sets:?}");
    // In MPICH 4, and in Intel MPI, which is made of it, a session's errors are fatal, whatever its error
    // handler.
    let version = rmpi::get_library_version()?;
    let number = version.strip_prefix("MPICH Version:").map(str::trim_start);
    if !number.is_some_and(|number| number.starts_with('4')) && !version.contains("Intel") {
        assert!(session.get_nth_pset(1000).is_err());
        assert!(session.group_from_pset(c"mpi://NOBODY").is_err());
    }
    let everybody = session.group_from_pset(c"mpi://WORLD")?;
    let size = everybody.size()?;
    let told = session.get_pset_info(c"mpi://WORLD")?.get(c"mpi_size")?;
    assert_eq!(told, Some(size.to_string()));
    assert_eq!(session.group_from_pset(c"mpi://SELF")?.size()?, 1);

    let all = Communicator::create_from_group(&everybody, c"org.example.all", None)?;
    assert_eq!(all.get_errhandler()?, Some(ErrorHandler::Return));
    ring(&all)?;
    let long = std::ffi::CString::new(vec![b'x'; 5000]).expect("no zero");
    let refused = Communicator::create_from_group(&everybody, &long, None);
    assert_eq!(refused.unwrap_err().class(), ErrorClass::ARG);
    let nobody = rmpi::Group::empty(&session);
    let refused = Communicator::create_from_group(&nobody, c"org.example.none", None);
    assert_eq!(refused.unwrap_err().class(), ErrorClass::GROUP);
    let rank = all.rank()?;
    drop((nobody, all, everybody));

    // The world beside it; its end leaves the session as it was. Intel MPI says of a session, too, that MPI
    // is initialized.
    if version.contains("Intel") {
        assert_eq!(rmpi::init().map(drop).unwrap_err().class(), ErrorClass::OTHER);
    } else {
        // Of a level that does not go with the session. It does not count as the one time that MPI allows.
        let refused = rmpi::init_thread(Multiple).map(drop);
        assert_eq!(refused.unwrap_err().class(), ErrorClass::OTHER);
        let context = rmpi::init()?;
        ring(context.world())?;
        drop(context);
    }
    assert!(session.get_num_psets()? >= 2);
    let added = rmpi::add_error_class(&session)?;
    rmpi::add_error_code(&session, added)?;
    session.finalize()?;
    // Where MPI cannot begin once more, rmpi refuses.
    if !number.is_some_and(|number| number.starts_with('5')) {
        assert_eq!(Session::init().map(drop).unwrap_err().class(), ErrorClass::OTHER);
        assert_eq!(rmpi::init().map(drop).unwrap_err().class(), ErrorClass::OTHER);
    } else {
        // The classes of errors have ended with MPI.
        let session = Session::init()?;
        let refused = rmpi::add_error_code(&session, added).map(drop);
        assert_eq!(refused.unwrap_err().class(), ErrorClass::ARG);
        session.finalize()?;
    }
    if rank == 0 {
        println!("sessions: right on {size} ranks");
    }
    Ok(())
}

/// Before MPI-4: the refusal has left nothing behind.
fn without_sessions() -> rmpi::RmpiResult {
    let context = rmpi::init()?;
    ring(context.world())?;
    if context.world().rank()? == 0 {
        println!("no sessions in this MPI, the world: right on {} ranks", context.world().size()?);
    }
    Ok(())
}

/// Sends a derived datatype around, which MPI has to make anew in each session.
fn ring(communicator: &Communicator<'_>) -> rmpi::RmpiResult {
    let (rank, size) = (communicator.rank()?, communicator.size()?);
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let mut received = Pair { a: 0, b: 0.0 };
    communicator.process(right).sendrecv(
        &Pair { a: rank as i32, b: 0.5 },
        Tag::new(0),
        &communicator.process(left),
        &mut received,
        Tag::new(0),
    )?;
    assert_eq!(received, Pair { a: left as i32, b: 0.5 }, "from the left");
    Ok(())
}
