//! Two layers in one tool: the upper one answers every `MPI_Ssend` with an `MPI_Send` of the layer
//! below, which counts what reaches it.

use mpi_tool_layer::mpi_sys::{MPI_Comm, MPI_Datatype, c_int, c_void};
use mpi_tool_layer::{
    Counters, FunctionCounters, FunctionId, LayerChain, RawMpiInterceptionLayer, Tool, UnsafeBox,
    install_pmpi_layer,
};

struct Upper;

// SAFETY: an MPI_Send may synchronize as MPI_Ssend does or not; the test's programs do not care.
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
        // SAFETY: the application's own arguments.
        unsafe { next_f.table().send(buf, count, datatype, dest, tag, comm) }
    }
}

impl Tool for Upper {
    const NEW: Self = Upper;
}

struct Lower {
    calls: FunctionCounters,
}

// SAFETY: every call goes on to MPI as it came.
unsafe impl RawMpiInterceptionLayer for Lower {
    fn around<F, R>(&self, function: FunctionId, call: UnsafeBox<'_, F>) -> R
    where
        F: FnOnce() -> R,
    {
        self.calls.add(function, 1);
        // SAFETY: the application's own call.
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
