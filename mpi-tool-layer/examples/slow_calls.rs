//! Counts the calls that took long, with a setting of its own for what is long:
//! `MPI_TOOL_SLOW_CALLS_MICROSECONDS=50`.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use mpi_tool_layer::{
    Call, CallResult, Compiled, Counters, FunctionCounters, MpiInterceptionLayer, Setting,
    SettingDefault, Settings, Tool, install_qmpi_layer,
};

struct SlowCalls {
    calls: FunctionCounters,
    microseconds: AtomicU64,
}

impl MpiInterceptionLayer for SlowCalls {
    const COMPILED: Compiled = Compiled::Once;

    fn around<'c>(
        &self,
        call: impl Call<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        let start = Instant::now();
        let result = next_f();
        if start.elapsed().as_micros() >= self.microseconds.load(Relaxed).into() {
            self.calls.add(call.function(), 1);
        }
        result
    }
}

impl Tool for SlowCalls {
    const NEW: Self =
        Self { calls: FunctionCounters::new("slow calls"), microseconds: AtomicU64::new(0) };

    const SETTINGS: &'static [Setting] = &[Setting {
        name: "MICROSECONDS",
        default: SettingDefault::Number(1000),
        help: "how long a call takes that is slow",
    }];

    fn configure(&self, settings: &Settings) {
        self.microseconds.store(settings.number("MICROSECONDS"), Relaxed);
    }

    fn counters(&self) -> Option<&dyn Counters> {
        Some(&self.calls)
    }
}

install_qmpi_layer!(SlowCalls, name = "slow-calls");
