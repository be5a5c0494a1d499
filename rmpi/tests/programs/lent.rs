//! A context that is lent by who runs MPI: what outlives it does not call MPI.

mod outside;

use std::thread;

use outside::around;
use rmpi::{ErrorClass, RmpiContext, RmpiResult, Single};

fn main() -> RmpiResult {
    // SAFETY: nobody may have begun MPI before: this is what the program does first.
    unsafe { outside::start() };
    let mut place = (0, 0);
    for _ in 0..3 {
        // SAFETY: `lend` requires MPI to run at this level until the context is dropped, errors to return, and no other
        // caller meanwhile: `start` did all that, MPI_Finalize is called below, and the other thread calls nothing.
        let context = unsafe { RmpiContext::<Single>::lend() }?;
        let world = context.world();
        place = (world.rank()?, world.size()?);
        around(world)?;
        let error = rmpi::file_delete(world, "/nowhere/at all", None).unwrap_err();
        assert_eq!(error.class(), ErrorClass::NO_SUCH_FILE);
        let said = error.text();
        assert!(!said.is_empty() && !is_a_number(&said), "{said}");
        thread::scope(|threads| {
            // MPI was not told of this thread.
            threads.spawn(|| assert!(is_a_number(&error.text())));
        });
        drop(context);
        assert!(is_a_number(&error.text()));
    }
    if place.0 == 0 {
        println!("right on {} ranks", place.1);
    }
    // SAFETY: MPI_Finalize is called once, by the thread that called MPI_Init. No context is left.
    assert_eq!(unsafe { rmpi::mpi_sys::MPI_Finalize() }, 0);
    Ok(())
}

/// Is it what rmpi says of an error where it must not ask MPI?
fn is_a_number(said: &str) -> bool {
    said.starts_with("MPI error code ")
}
