//! Measures the time of calls by the communicator that they are on.

use mpi_tool_layer::{
    AnyTable, Call, CallResult, Clock, CommunicatorLayer, Compiled, LayerChain, Measure,
    MeasureUnit, MpiInterceptionLayer, Table, Tool, TrackedComm, install_pmpi_layer,
};

struct Times(Table<TrackedComm, 1>);

impl MpiInterceptionLayer for Times {
    const COMPILED: Compiled = Compiled::Once;

    fn around<'c>(
        &self,
        call: impl Call<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        let communicator = CommunicatorLayer::communicators().of(call);
        let start = Clock::now();
        let result = next_f();
        self.0.add(communicator, 1, [Some(Clock::now() - start)]);
        result
    }
}

const TIME: Measure = Measure { name: "time", unit: MeasureUnit::Ticks };

impl Tool for Times {
    const NEW: Self = Times(Table::new("calls", &[TIME], 4096));

    fn table(&self) -> Option<&AnyTable> {
        Some(self.0.any())
    }
}

// The upper layer follows the communicators.
install_pmpi_layer!(LayerChain<CommunicatorLayer, Times>, name = "time-by-communicator");
