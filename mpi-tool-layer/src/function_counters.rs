//! Counters for tools that treat all functions alike.

use crate::{Counter, Counters, FunctionId, ThreadCounters};

/// A counter for each MPI function, as a report wants them.
#[derive(Debug)]
pub struct FunctionCounters {
    unit: &'static str,
    counts: ThreadCounters<{ FunctionId::COUNT }>,
}

impl FunctionCounters {
    /// All zero. `unit` is what is counted, in the plural.
    pub const fn new(unit: &'static str) -> Self {
        Self { unit, counts: ThreadCounters::new() }
    }

    /// Adds to a function's counter.
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
