//! A context that moved to another thread, where `MPI_Finalize` is forbidden: rmpi refuses, and MPI goes on.

use std::thread;

use rmpi::{ErrorClass, RmpiContext, RmpiResult, Serialized};

fn main() -> RmpiResult {
    let context = rmpi::init_thread(Serialized)?;
    let (rank, size) = (context.world().rank()?, context.world().size()?);
    // There and back is what the level is for.
    let context = thread::spawn(move || {
        assert!(context.world().barrier().is_ok());
        context
    });
    let context = context.join().expect("the thread did not panic");
    // An example has one context, and this one's end is refused: the thread's `finalize`, or its drop.
    let drops = rank % 2 == 1;
    let ended =
        thread::spawn(move || if drops { Err(dropped(context)) } else { context.finalize() });
    let result = ended.join().expect("the thread did not panic");
    assert_eq!(result.map_err(|error| error.class()), Err(ErrorClass::OTHER));
    assert_eq!(rmpi::finalized(), Ok(false), "MPI was finalized on another thread");
    // MPI still works, here.
    // SAFETY: `assume_initialized` requires MPI to run while the context is used, at its level, with
    // errors that return, and no other caller meanwhile: `init_thread` began MPI at a higher level and
    // has errors return, MPI_Finalize is called below, and both threads have been joined.
    let context = unsafe { RmpiContext::<rmpi::Single>::assume_initialized() };
    context.world().barrier()?;
    if rank == 0 {
        println!("right on {size} ranks");
    }
    // SAFETY: MPI_Finalize is called once, by the thread that initialized MPI, which is this one: the
    // other's call was refused. The context calls nothing any more; its drop finalizes nothing.
    assert_eq!(unsafe { rmpi::mpi_sys::MPI_Finalize() }, 0);
    Ok(())
}

/// Drops a context where it may not end, and gives the error that its drop could not.
fn dropped(context: RmpiContext<Serialized>) -> rmpi::Error {
    drop(context);
    let refused = rmpi::init().map(drop);
    refused.expect_err("MPI runs, and starts but once")
}
