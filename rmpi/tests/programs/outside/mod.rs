//! MPI as a program in C begins it, of which a Rust library is a part; and messages of a derived datatype.

use rmpi::{Communicator, MpiDatatype, RmpiResult, Tag};

#[derive(Clone, Copy, Debug, PartialEq, MpiDatatype)]
#[repr(C)]
pub(crate) struct Pair {
    a: i32,
    b: f64,
}

/// Begins MPI. Errors return.
///
/// # Safety
/// Nobody in this process has begun MPI before.
pub(crate) unsafe fn start() {
    // SAFETY: MPI_Init may be called once in a process, as the caller promises, and its arguments may be null. MPI_Comm_set_errhandler
    // requires a communicator and an error handler, which are predefined, after that.
    unsafe {
        use rmpi::mpi_sys::{MPI_COMM_SELF, MPI_COMM_WORLD, MPI_ERRORS_RETURN};
        let (null, none) = (core::ptr::null_mut(), core::ptr::null_mut());
        assert_eq!(rmpi::mpi_sys::MPI_Init(null, none), 0);
        assert_eq!(rmpi::mpi_sys::MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), 0);
        assert_eq!(rmpi::mpi_sys::MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN), 0);
    }
}

/// Sends a derived datatype to the next process, and receives one from the one before.
pub(crate) fn around(communicator: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (communicator.rank()?, communicator.size()?);
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    let (mut received, tag) = (Pair { a: -1, b: 0.0 }, Tag::new(0));
    let mine = Pair { a: rank as i32, b: 0.5 };
    let (to, from) = (communicator.process(right), communicator.process(left));
    to.sendrecv(&mine, tag, &from, &mut received, tag)?;
    assert_eq!(received, Pair { a: left as i32, b: 0.5 });
    Ok(())
}
