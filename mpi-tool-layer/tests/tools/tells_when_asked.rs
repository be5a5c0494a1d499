//! Says on standard error each time that the framework runs its code, from the application's first
//! barrier on: the tests look whether that happens in a signal handler.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use mpi_tool_layer::mpi_sys::{MPI_Comm, c_int};
use mpi_tool_layer::{
    Counter, Counters, RawMpiInterceptionLayer, ThreadCounters, Tool, UnsafeBox, install_pmpi_layer,
};

struct TellsWhenAsked {
    barriers: ThreadCounters<1>,
    telling: AtomicBool,
}

impl TellsWhenAsked {
    fn asked_for(&self, what: &str) {
        if self.telling.load(Relaxed) {
            eprintln!("asked for {what}");
        }
    }
}

// SAFETY: a layer must do what the MPI standard says of each function. MPI does it: every call goes on as it
// came, and its result goes back.
unsafe impl RawMpiInterceptionLayer for TellsWhenAsked {
    fn barrier<F>(&self, next_f: UnsafeBox<'_, F>, comm: MPI_Comm) -> c_int
    where
        F: FnOnce(MPI_Comm) -> c_int,
    {
        // SAFETY: MPI wants arguments as its standard asks: they are the application's own, passed on once.
        let result = unsafe { next_f.unwrap()(comm) };
        self.barriers.add(0, 1);
        self.telling.store(true, Relaxed);
        result
    }
}

impl Counters for TellsWhenAsked {
    fn unit(&self) -> &'static str {
        self.asked_for("its unit");
        "calls"
    }
    fn len(&self) -> usize {
        self.asked_for("the number of its counters");
        1
    }
    fn name(&self, _: usize) -> &'static str {
        self.asked_for("a name");
        "barriers"
    }
    fn class(&self, _: usize) -> &'static str {
        self.asked_for("a class");
        "collective"
    }
    fn unit_of(&self, _: usize) -> Option<&'static str> {
        self.asked_for("a unit");
        None
    }
    fn counter(&self, _: usize) -> Counter<'_> {
        self.asked_for("a counter");
        self.barriers.counter(0)
    }
}

impl Tool for TellsWhenAsked {
    const NEW: Self =
        TellsWhenAsked { barriers: ThreadCounters::new(), telling: AtomicBool::new(false) };

    fn counters(&self) -> Option<&dyn Counters> {
        self.asked_for("its counters");
        Some(self)
    }
}

install_pmpi_layer!(TellsWhenAsked, name = "tells-when-asked");
