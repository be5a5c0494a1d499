//! Counters for tools that treat all functions alike: a number for each of the 700.
//!
//! It is also the shortest example of how [`Counters`] is implemented over [`ThreadCounters`].

use crate::{Counter, Counters, FunctionId, ThreadCounters};

/// A counter for each MPI function, as a report wants them: named by the C name, in the function's
/// [class](crate::FunctionClass). Functions whose counter is 0 are left out of reports.
///
/// A [`ThreadCounters`] of its own underneath: exact under any number of threads, and without
/// locks. A tool returns a reference to it from [`Tool::counters`](crate::Tool::counters).
#[derive(Debug)]
pub struct FunctionCounters {
    unit: &'static str,
    counts: ThreadCounters<{ FunctionId::COUNT }>,
}

impl FunctionCounters {
    /// All zero. `unit` is what is counted, in the plural: `calls`, `nanoseconds`.
    pub const fn new(unit: &'static str) -> Self {
        Self { unit, counts: ThreadCounters::new() }
    }

    /// Adds to a function's counter: six instructions where the function is known when the layer is
    /// compiled. `MPI_Send` and `MPI_Send_c` have a counter each; a high-level layer knows the
    /// first only.
    #[inline(always)]
    pub fn add(&self, function: FunctionId, amount: u64) {
        self.counts.add(function as usize, amount);
    }
}

impl Counters for FunctionCounters {
    fn unit(&self) -> &'static str {
        self.unit
    }

    fn len(&self) -> usize {
        FunctionId::COUNT
    }

    fn name(&self, index: usize) -> &'static str {
        FunctionId::from_index(index).map_or("", FunctionId::name)
    }

    fn class(&self, index: usize) -> &'static str {
        FunctionId::from_index(index).map_or("", |function| function.class().name())
    }

    fn counter(&self, index: usize) -> Counter<'_> {
        self.counts.counter(index)
    }
}
