//! A context that is lent by who runs MPI: what outlives it does not call MPI.

use std::thread;

use rmpi::{Communicator, ErrorClass, MpiDatatype, RmpiContext, RmpiResult, Single, Tag};

#[derive(Clone, Copy, Debug, PartialEq, MpiDatatype)]
#[repr(C)]
struct Pair {
    a: i32,
    b: f64,
}

fn main() -> RmpiResult {
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
    let mut place = (0, 0);
    for _ in 0..3 {
        // SAFETY: `lend` requires MPI to run at this level until the context is dropped, errors to return, and no other
        // caller meanwhile: all that was done above, MPI_Finalize is called below, and the other thread calls nothing.
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

/// Sends a derived datatype to the next process, and receives one from the one before.
fn around(communicator: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (communicator.rank()?, communicator.size()?);
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let (mut received, tag) = (Pair { a: -1, b: 0.0 }, Tag::new(0));
    let mine = Pair { a: rank as i32, b: 0.5 };
    let (to, from) = (communicator.process(right), communicator.process(left));
    to.sendrecv(&mine, tag, &from, &mut received, tag)?;
    assert_eq!(received, Pair { a: left as i32, b: 0.5 });
    Ok(())
}
