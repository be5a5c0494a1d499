//! Counts the calls of every MPI function.

use mpi_tool_layer::{
    Counters, FunctionId, RawMpiInterceptionLayer, ThreadCounters, Tool, UnsafeBox,
    install_pmpi_layer,
};

struct CallCounter {
    calls: ThreadCounters<{ FunctionId::COUNT }>,
}

// SAFETY: every call goes on to MPI as it came.
unsafe impl RawMpiInterceptionLayer for CallCounter {
    #[inline(always)]
    fn around<F, R>(&self, function: FunctionId, call: UnsafeBox<'_, F>) -> R
    where
        F: FnOnce() -> R,
    {
        self.calls.add(function as usize, 1);
        // SAFETY: the application's own call.
        unsafe { call.unwrap()() }
    }
}

impl Tool for CallCounter {
    const NEW: Self = CallCounter { calls: ThreadCounters::new() };

    fn counters(&self) -> Option<&dyn Counters> {
        Some(self)
    }
}

impl Counters for CallCounter {
    fn unit(&self) -> &'static str {
        "calls"
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

    fn value(&self, index: usize) -> u64 {
        self.calls.sum(index)
    }
}

install_pmpi_layer!(CallCounter);
