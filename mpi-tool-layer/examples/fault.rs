//! Lets every Nth `MPI_Send` of one rank fail with `MPI_ERR_OTHER`, as if MPI had refused it: the communicator's error handler
//! is called. `MPI_TOOL_FAULT_EVERY=3 MPI_TOOL_FAULT_RANK=1`

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mpi_tool_layer::{
    CallResult, Communicator, Counters, Destination, ErrorCode, FunctionCounters, FunctionId,
    MpiInterceptionLayer, Setting, SettingDefault, Settings, Tag, Tool, TypeDynamicBufferRef,
    install_qmpi_layer, next, world_position,
};

struct Fault {
    every: AtomicU64,
    rank: AtomicU64,
    sends: AtomicU64,
    injected: FunctionCounters,
}

impl MpiInterceptionLayer for Fault {
    fn send<'c>(
        &self,
        next_f: impl next::MPI_Send<'c>,
        buf: TypeDynamicBufferRef<'c>,
        dest: Destination<'c>,
        tag: Tag,
        comm: Communicator<'c>,
    ) -> CallResult<'c> {
        let (every, rank) = (self.every.load(Relaxed), self.rank.load(Relaxed));
        let is_here = world_position().is_some_and(|(own, _)| u64::from(own) == rank);
        if is_here && (self.sends.fetch_add(1, Relaxed) + 1).is_multiple_of(every) {
            self.injected.add(FunctionId::MPI_Send, 1);
            return Err(comm.raise(ErrorCode::OTHER));
        }
        next_f(buf, dest, tag, comm)
    }
}

impl Tool for Fault {
    const NEW: Self = Fault {
        every: AtomicU64::new(0),
        rank: AtomicU64::new(0),
        sends: AtomicU64::new(0),
        injected: FunctionCounters::new("injected errors"),
    };

    const SETTINGS: &'static [Setting] = &[
        Setting {
            name: "EVERY",
            default: SettingDefault::Number(0),
            help: "which send fails: every Nth; 0 for none",
        },
        Setting {
            name: "RANK",
            default: SettingDefault::Number(0),
            help: "the rank whose sends fail",
        },
    ];

    fn configure(&self, settings: &Settings) {
        self.every.store(settings.number("EVERY"), Relaxed);
        self.rank.store(settings.number("RANK"), Relaxed);
    }

    fn counters(&self) -> Option<&dyn Counters> {
        Some(&self.injected)
    }
}

install_qmpi_layer!(Fault, name = "fault");
