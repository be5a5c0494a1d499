//! Counts the calls of every MPI function.

use mpi_tool_layer::{
    Counters, FunctionCounters, FunctionId, RawMpiInterceptionLayer, Tool, UnsafeBox,
    install_qmpi_layer,
};

struct CallCounter {
    calls: FunctionCounters,
}

// SAFETY: every call goes on to MPI as it came.
unsafe impl RawMpiInterceptionLayer for CallCounter {
    #[inline(always)]
    fn around<F, R>(&self, function: FunctionId, call: UnsafeBox<'_, F>) -> R
    where
        F: FnOnce() -> R,
    {
        self.calls.add(function, 1);
        // SAFETY: the application's own call.
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
