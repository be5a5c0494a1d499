//! A session that comes and goes while somebody else runs MPI: what was made meanwhile stays.

use rmpi::{Communicator, DatatypeRef, ErrorClass, MpiDatatype, RmpiContext, Session, Single, Tag};

#[derive(Clone, Copy, Debug, PartialEq, MpiDatatype)]
#[repr(C)]
struct Pair {
    a: i32,
    b: f64,
}

fn main() -> rmpi::RmpiResult {
    // A program in C, of which this is a library.
    // SAFETY: MPI_Init may be called once in a process, and its arguments may be null. MPI_Comm_set_errhandler
    // requires a communicator and an error handler, which are predefined, after that.
    unsafe {
        use rmpi::mpi_sys::{MPI_COMM_SELF, MPI_COMM_WORLD, MPI_ERRORS_RETURN};
        let (null, none) = (core::ptr::null_mut(), core::ptr::null_mut());
        assert_eq!(rmpi::mpi_sys::MPI_Init(null, none), 0);
        assert_eq!(rmpi::mpi_sys::MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), 0);
        assert_eq!(rmpi::mpi_sys::MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), 0);
    }
    // SAFETY: `assume_initialized` requires MPI to run while the context is used, at its level, with errors that
    // return, and no other caller meanwhile: all that was done above, MPI_Finalize is called below, and this is the
    // only thread.
    let context = unsafe { RmpiContext::<Single>::assume_initialized() };
    let world = context.world();
    let (rank, size) = (world.rank()?, world.size()?);
    let pair = DatatypeRef::of::<Pair>(&context)?;
    around(world)?;
    for _ in 0..2 {
        match Session::init() {
            Ok(session) => {
                let group = session.group_from_pset(c"mpi://WORLD")?;
                let all = Communicator::create_from_group(&group, c"org.example.assumed", None)?;
                around(&all)?;
                drop((all, group));
                session.finalize()?;
            }
            Err(error) if error.class() == ErrorClass::UNSUPPORTED_OPERATION => {}
            // Where a session does not go with the world.
            Err(error) if rmpi::get_library_version()?.contains("Intel") => println!("{error}"),
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!(pair.size()?, 12, "the session has not freed the datatype");
    around(world)?;
    let error = world.process(size).send(&1, Tag::new(0)).unwrap_err();
    assert_eq!(error.class(), ErrorClass::RANK);
    if rank == 0 {
        println!("right on {size} ranks");
    }
    // SAFETY: MPI_Finalize is called once, by the thread that called MPI_Init. The context calls nothing any more;
    // its drop finalizes nothing.
    assert_eq!(unsafe { rmpi::mpi_sys::MPI_Finalize() }, 0);
    Ok(())
}

/// Sends a derived datatype to the next process, and receives one from the one before.
fn around(communicator: &Communicator<'_>) -> rmpi::RmpiResult {
    let (rank, size) = (communicator.rank()?, communicator.size()?);
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let (mut received, tag) = (Pair { a: -1, b: 0.0 }, Tag::new(0));
    let mine = Pair { a: rank as i32, b: 0.5 };
    let (to, from) = (communicator.process(right), communicator.process(left));
    to.sendrecv(&mine, tag, &from, &mut received, tag)?;
    assert_eq!(received, Pair { a: left as i32, b: 0.5 });
    Ok(())
}
