//! A tool with a mistake: it panics at the first barrier of rank 1.

use mpi_tool_layer::mpi_sys::{MPI_Comm, MPI_SUCCESS, c_int, pmpi};
use mpi_tool_layer::{RawMpiInterceptionLayer, Tool, UnsafeBox, install_pmpi_layer};

struct Panics;

// SAFETY: a layer must do what the MPI standard says of each function. MPI does it: every call goes on as it
// came, and its result goes back, or the process ends.
unsafe impl RawMpiInterceptionLayer for Panics {
    fn barrier<F>(&self, next_f: UnsafeBox<'_, F>, comm: MPI_Comm) -> c_int
    where
        F: FnOnce(MPI_Comm) -> c_int,
    {
        // SAFETY: MPI wants arguments as its standard asks: they are the application's own, passed on once.
        let code = unsafe { next_f.unwrap()(comm) };
        let mut rank = 0;
        // SAFETY: MPI_Comm_rank wants a valid communicator and writes one `int`: MPI has just accepted this one
        // for a barrier.
        let known =
            code == MPI_SUCCESS && unsafe { pmpi::MPI_Comm_rank(comm, &mut rank) } == MPI_SUCCESS;
        assert!(!known || rank != 1, "rank {rank} was not expected");
        code
    }
}

impl Tool for Panics {
    const NEW: Self = Panics;
}

install_pmpi_layer!(Panics, name = "panics");
