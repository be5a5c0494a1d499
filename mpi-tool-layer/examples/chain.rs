//! Two layers in one tool: the upper one answers every `MPI_Ssend` with `MPI_Issend` and `MPI_Wait`, which
//! is the same operation in two calls; the layer below counts what reaches it.

use mpi_tool_layer::mpi_sys::{
    MPI_Comm, MPI_Datatype, MPI_REQUEST_NULL, MPI_STATUS_IGNORE, MPI_SUCCESS, c_int, c_void,
};
use mpi_tool_layer::{
    Counters, FunctionCounters, FunctionId, LayerChain, RawMpiInterceptionLayer, Tool, UnsafeBox,
    install_pmpi_layer,
};

struct Upper;

// SAFETY: `ssend` must return when `MPI_Ssend` would, with the same result: when the receive has begun
// and the buffer can be used again. So does the wait for a synchronous send.
unsafe impl RawMpiInterceptionLayer for Upper {
    fn ssend<F>(
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
        let below = next_f.table();
        let mut request = MPI_REQUEST_NULL;
        // SAFETY: MPI_Issend wants what MPI_Ssend wants, which the application has passed, and the
        // buffer until the request is complete: the application's call is not over before.
        unsafe {
            let result = below.issend(buf, count, datatype, dest, tag, comm, &mut request);
            if result != MPI_SUCCESS {
                return result;
            }
            below.wait(&mut request, MPI_STATUS_IGNORE)
        }
    }
}

impl Tool for Upper {
    const NEW: Self = Upper;
}

struct Lower {
    calls: FunctionCounters,
}

// SAFETY: a layer must do what the MPI standard says of each function. MPI does it: every call goes on as it
// came, and its result goes back.
unsafe impl RawMpiInterceptionLayer for Lower {
    fn around<F, R>(&self, function: FunctionId, call: UnsafeBox<'_, F>) -> R
    where
        F: FnOnce() -> R,
    {
        self.calls.add(function, 1);
        // SAFETY: MPI wants arguments as its standard asks: they are the application's own, passed on once.
        unsafe { call.unwrap()() }
    }
}

impl Tool for Lower {
    const NEW: Self = Lower { calls: FunctionCounters::new("calls") };

    fn counters(&self) -> Option<&dyn Counters> {
        Some(&self.calls)
    }
}

type Chain = LayerChain<Upper, Lower>;
install_pmpi_layer!(Chain, name = "chain");
