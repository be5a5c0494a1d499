//! A session that comes and goes while somebody else runs MPI: what was made meanwhile stays.

mod outside;

use outside::{Pair, around};
use rmpi::{Communicator, DatatypeRef, ErrorClass, RmpiContext, Session, Single, Tag};

fn main() -> rmpi::RmpiResult {
    // SAFETY: nobody may have begun MPI before: this is what the program does first.
    unsafe { outside::start() };
    // SAFETY: `assume_initialized` requires MPI to run while the context is used, at its level, with errors that
    // return, and no other caller meanwhile: `start` did all that, MPI_Finalize is called below, and this is the
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
