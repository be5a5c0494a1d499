//! A tool with a mistake: it panics at the first barrier of rank 1.

use mpi_tool_layer::mpi_sys::{MPI_Comm, MPI_SUCCESS, c_int, pmpi};
use mpi_tool_layer::{RawMpiInterceptionLayer, Tool, UnsafeBox, install_pmpi_layer};

struct Panics;

// SAFETY: every call that goes on, goes on as it came.
unsafe impl RawMpiInterceptionLayer for Panics {
    fn barrier<F>(&self, next_f: UnsafeBox<'_, F>, comm: MPI_Comm) -> c_int
    where
        F: FnOnce(MPI_Comm) -> c_int,
    {
        // SAFETY: the application's own call.
        let code = unsafe { next_f.unwrap()(comm) };
        let mut rank = 0;
        // SAFETY: a communicator that MPI has accepted for a barrier, and a place for the rank.
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
