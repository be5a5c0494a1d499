//! Answers `MPI_Send` with `MPI_Isend` and `MPI_Wait`, which the tools below see instead.

use mpi_tool_layer::mpi_sys::{
    MPI_Comm, MPI_Datatype, MPI_REQUEST_NULL, MPI_STATUS_IGNORE, MPI_SUCCESS, c_int, c_void,
};
use mpi_tool_layer::{RawMpiInterceptionLayer, Tool, UnsafeBox, install_pmpi_layer};

struct SendAsIsend;

// SAFETY: `send` must return when `MPI_Send` would, with the same result: when the buffer can be used again.
// That is when a send that does not block has been waited for.
unsafe impl RawMpiInterceptionLayer for SendAsIsend {
    fn send<F>(
        &self,
        next_f: UnsafeBox<'_, F>,
        buf: *const c_void,
        count: c_int,
        datatype: MPI_Datatype,
        dest: c_int,
        tag: c_int,
        comm: MPI_Comm,
    ) -> c_int
    where
        F: FnOnce(*const c_void, c_int, MPI_Datatype, c_int, c_int, MPI_Comm) -> c_int,
    {
        let next = next_f.table();
        let mut request = MPI_REQUEST_NULL;
        // SAFETY: MPI_Isend wants what MPI_Send wants, which the application has passed, and the buffer until
        // the request is complete: the application's call is not over before. The request is a local, which the
        // wait completes.
        unsafe {
            let result = next.isend(buf, count, datatype, dest, tag, comm, &mut request);
            if result != MPI_SUCCESS {
                return result;
            }
            next.wait(&mut request, MPI_STATUS_IGNORE)
        }
    }
}

impl Tool for SendAsIsend {
    const NEW: Self = SendAsIsend;
}

install_pmpi_layer!(SendAsIsend, name = "send-as-isend");
