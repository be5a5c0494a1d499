//! Where nobody can know which messages belong together: from then on, none are compared.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::collections::HashMap;
use std::thread::ThreadId;

use super::Channel;
use crate::shared::{limit, shared};

/// Several threads may call MPI at once.
static HAS_THREADS: AtomicBool = AtomicBool::new(false);

/// Several threads may call MPI at once.
pub(crate) fn set_has_threads() {
    HAS_THREADS.store(true, Relaxed);
}

/// May several threads call MPI at once?
pub(crate) fn has_threads() -> bool {
    HAS_THREADS.load(Relaxed)
}

/// Which thread uses a channel, where several may.
#[derive(Default)]
pub(super) struct Threads(HashMap<Channel, ThreadId>);

impl Threads {
    /// This thread uses a channel: if another one has, nobody knows in which order MPI has their messages.
    pub(super) fn note(&mut self, channel: Channel) {
        if HAS_THREADS.load(Relaxed) {
            let own = std::thread::current().id();
            if *self.0.entry(channel).or_insert(own) != own {
                shared().reached(limit::ORDER);
            }
        }
    }
}

/// A request is about to be cancelled that may be a send's: its message may never come.
pub(crate) fn cancelling() {
    super::elsewhere::doubt();
    shared().reached(limit::ORDER);
}
