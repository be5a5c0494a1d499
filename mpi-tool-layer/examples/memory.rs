//! How much memory each rank has in use, in each phase of the program (`MPI_Pcontrol`): a gauge.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use mpi_tool_layer::mpi_sys::c_int;
use mpi_tool_layer::{
    Counters, Gauges, MpiInterceptionLayer, RunningMpi, Tool, install_qmpi_layer,
};

const PHASES: [&str; 4] = ["outside of phases", "phase 1", "phase 2", "later phases"];

struct Memory {
    phase: AtomicUsize,
    resident: Gauges<{ PHASES.len() }>,
}

impl Memory {
    fn look(&self) {
        // The second number is that of pages that are in memory.
        let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        if let Some(Ok(pages)) = text.split(' ').nth(1).map(str::parse::<u64>) {
            self.resident.set(self.phase.load(Relaxed), pages * 4);
        }
    }
}

impl MpiInterceptionLayer for Memory {
    fn profiling_level(&self, level: c_int) {
        self.look();
        let phase = usize::try_from(level).unwrap_or(0).min(PHASES.len() - 1);
        self.phase.store(phase, Relaxed);
        self.look();
    }
}

impl Tool for Memory {
    const NEW: Self =
        Memory { phase: AtomicUsize::new(0), resident: Gauges::new("kB resident", PHASES) };

    fn started(&self, _: &RunningMpi) {
        self.look();
    }

    fn ending(&self, _: &RunningMpi) {
        self.look();
    }

    fn counters(&self) -> Option<&dyn Counters> {
        Some(&self.resident)
    }
}

install_qmpi_layer!(Memory, name = "memory");
