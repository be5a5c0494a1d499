//! Measures the time that each rank spends in each MPI function.

use std::time::Instant;

use mpi_tool_layer::{
    Call, CallResult, Compiled, Counters, FunctionCounters, FunctionId, MpiInterceptionLayer, Tool,
    install_pmpi_layer,
};

struct MpiTime {
    spent: FunctionCounters,
}

impl MpiInterceptionLayer for MpiTime {
    // One copy of `around` for all functions: it compiles in seconds.
    const COMPILED: Compiled = Compiled::Once;

    fn around<'c>(
        &self,
        call: impl Call<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        let start = Instant::now();
        let result = next_f();
        // The report is made inside MPI_Finalize, whose time is not over then.
        if call.function() != FunctionId::MPI_Finalize {
            self.spent.add(call.function(), start.elapsed().as_nanos() as u64);
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
