//! Measures the time that each rank spends in each MPI function.

use std::time::Instant;

use mpi_tool_layer::{
    Compiled, Counters, FunctionCounters, FunctionId, RawMpiInterceptionLayer, Tool, UnsafeBox,
    install_pmpi_layer,
};

struct MpiTime {
    spent: FunctionCounters,
}

// SAFETY: every call goes on to MPI as it came.
unsafe impl RawMpiInterceptionLayer for MpiTime {
    // One copy of `around` for all functions: it compiles in seconds.
    const COMPILED: Compiled = Compiled::Once;

    fn around<F, R>(&self, function: FunctionId, call: UnsafeBox<'_, F>) -> R
    where
        F: FnOnce() -> R,
    {
        let start = Instant::now();
        // SAFETY: the application's own call.
        let result = unsafe { call.unwrap()() };
        // The report is made inside MPI_Finalize, whose time is not over then.
        if function != FunctionId::MPI_Finalize {
            self.spent.add(function, start.elapsed().as_nanos() as u64);
        }
        result
    }
}

impl Tool for MpiTime {
    const NEW: Self = MpiTime { spent: FunctionCounters::new("nanoseconds") };

    fn counters(&self) -> Option<&dyn Counters> {
        Some(&self.spent)
    }
}

install_pmpi_layer!(MpiTime, name = "mpi-time");
