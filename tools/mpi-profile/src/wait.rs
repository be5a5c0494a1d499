//! What part of a collective operation a rank waits for others.
//!
//! With `MPI_TOOL_MPI_PROFILE_WAIT=sync`, each blocking collective operation begins with a barrier: when that is over, all
//! ranks are there, and the rest of the call's time moves data. `MPI_Barrier` itself is nothing but waiting.

use mpi_tool_layer::{Call, Clock, Communicators, FunctionId};

/// The beginning of a call, and how long it has waited.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    pub(crate) time: u64,
    /// After the wait, if there was one.
    there: Option<u64>,
    is_barrier: bool,
}

impl Start {
    /// Of a call that waits for nobody that we know of.
    #[inline(always)]
    pub(crate) fn now() -> Self {
        Self { time: Clock::now(), there: None, is_barrier: false }
    }

    /// Of a call that is about to be passed on: waits for the others, if they do the same.
    #[inline(always)]
    pub(crate) fn of<'c>(call: impl Call<'c>, communicators: &Communicators) -> Self {
        let time = Clock::now();
        let there = communicators.await_all(call).then(Clock::now);
        Self { time, there, is_barrier: call.function() == FunctionId::MPI_Barrier }
    }

    /// How much of the time since the start was waiting; `None` if that is not known.
    #[inline(always)]
    pub(crate) fn waited(self, time: u64) -> Option<u64> {
        if self.is_barrier {
            return Some(time);
        }
        self.there.map(|there| there.wrapping_sub(self.time))
    }
}
