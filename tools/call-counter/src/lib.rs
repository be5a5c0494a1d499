//! Counts the calls of every MPI function.

use mpi_tool_layer::{
    Counters, FunctionCounters, FunctionId, RawMpiInterceptionLayer, Tool, UnsafeBox,
    install_qmpi_layer,
};

struct CallCounter {
    calls: FunctionCounters,
}

// SAFETY: a layer must do what the MPI standard says of each function. MPI does it: every call goes on as it
// came, and its result goes back.
unsafe impl RawMpiInterceptionLayer for CallCounter {
    #[inline(always)]
    fn around<F, R>(&self, function: FunctionId, call: UnsafeBox<'_, F>) -> R
    where
        F: FnOnce() -> R,
    {
        self.calls.add(function, 1);
        // SAFETY: MPI wants arguments as its standard asks: they are the application's own, passed on once.
        unsafe { call.unwrap()() }
    }
}

impl Tool for CallCounter {
    const NEW: Self = CallCounter { calls: FunctionCounters::new("calls") };

    fn counters(&self) -> Option<&dyn Counters> {
        Some(&self.calls)
    }
}

install_qmpi_layer!(CallCounter);
