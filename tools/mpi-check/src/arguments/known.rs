//! Calls that were looked at before and were right: programs make the same call again and again.

use std::sync::Mutex;

use mpi_facts::{NONE, only_tells};
use mpi_tool_layer::{Call as _, FunctionClass, FunctionId};

use super::Checked;
use crate::objects;

/// How many calls are remembered.
const CALLS: usize = 64;
/// Calls with more arguments are not.
const WORDS: usize = 12;

/// A call that was right.
#[derive(Clone, Copy)]
struct Known {
    function: FunctionId,
    /// Of the objects.
    generation: u64,
    words: [u64; WORDS],
}

static KNOWN: Mutex<[Option<Known>; CALLS]> = Mutex::new([None; CALLS]);

impl Checked<'_> {
    /// Looks at all arguments, unless the same call was right before and no object has changed since.
    pub(crate) fn check_unless_known(&mut self) {
        if !self.is_known() {
            self.check_and_remember();
        }
    }

    /// Was the same call right before, and has no object changed since? Only of messages and of what only tells something:
    /// their arguments are all that they depend on, as nothing but data and statuses is behind their addresses.
    pub(crate) fn is_known(&self) -> bool {
        let given = self.call.words();
        if !self.may_be_known(given) {
            return false;
        }
        let generation = objects::generation();
        let Ok(known) = KNOWN.try_lock() else { return false };
        known[self.place()].as_ref().is_some_and(|known| {
            known.function == self.function
                && known.generation == generation
                && known.words[..given.len()] == *given
        })
    }

    /// Looks at all arguments. Another call like this one need not be looked at, if it is right.
    pub(crate) fn check_and_remember(&mut self) {
        let generation = objects::generation();
        self.check();
        let given = self.call.words();
        // Without its communicator, not all was looked at.
        let is_whole = self.comm.is_some() || self.shape.communicator == NONE;
        if self.is_sound
            && is_whole
            && self.may_be_known(given)
            && let Ok(mut known) = KNOWN.try_lock()
        {
            let mut words = [0; WORDS];
            words[..given.len()].copy_from_slice(given);
            known[self.place()] = Some(Known { function: self.function, generation, words });
        }
    }

    fn may_be_known(&self, given: &[u64]) -> bool {
        let class = self.shape.class;
        (class == FunctionClass::PointToPoint || only_tells(self.function)) && given.len() <= WORDS
    }

    fn place(&self) -> usize {
        (self.site.number() as usize ^ self.function as usize) % CALLS
    }
}
