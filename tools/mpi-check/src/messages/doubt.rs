//! Where nobody can know which messages belong together: from then on, none are compared.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::collections::HashMap;
use std::thread::ThreadId;

use super::{Channel, Wanted};
use crate::findings::rank;
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
pub(super) struct Threads {
    of_channels: HashMap<Channel, ThreadId>,
    /// Of communicators on which a receive may get messages of several channels: which thread receives there.
    of_comms: HashMap<u64, ThreadId>,
}

impl Threads {
    /// This thread uses a channel: if another one has, nobody knows in which order MPI has their messages.
    #[inline]
    pub(super) fn note(&mut self, channel: Channel) {
        if HAS_THREADS.load(Relaxed) {
            let own = std::thread::current().id();
            if *self.of_channels.entry(channel).or_insert(own) != own {
                shared().reached(limit::ORDER);
            }
        }
    }

    /// This thread posts a receive. One that may get messages of several channels may take those that receives of other threads
    /// on its communicator wait for, and the other way round.
    #[inline]
    pub(super) fn note_wanted(&mut self, wanted: Wanted) {
        if HAS_THREADS.load(Relaxed) {
            self.wants(wanted);
        }
    }

    fn wants(&mut self, wanted: Wanted) {
        let own = std::thread::current().id();
        let Wanted { identity, source, tag } = wanted;
        let is_one = source.is_some() && tag.is_some();
        if let (Some(source), Some(tag)) = (source, tag) {
            self.note(Channel { identity, source, target: rank(), tag });
        } else {
            let mut others = self.of_channels.iter();
            let is_shared = others.any(|(of, thread)| of.identity == identity && *thread != own);
            if is_shared || *self.of_comms.entry(identity).or_insert(own) != own {
                shared().reached(limit::ORDER);
            }
        }
        if is_one && self.of_comms.get(&identity).is_some_and(|thread| *thread != own) {
            shared().reached(limit::ORDER);
        }
    }

    /// This thread has got a message, by a receive that may have got one of another channel if `is_open`, as probes that take
    /// messages do.
    #[inline]
    pub(super) fn note_received(&mut self, channel: Channel, is_open: bool) {
        if HAS_THREADS.load(Relaxed) {
            let Channel { identity, source, tag, .. } = channel;
            let (source, tag) = (Some(source), Some(tag));
            self.wants(match is_open {
                true => Wanted { identity, source: None, tag: None },
                false => Wanted { identity, source, tag },
            });
        }
    }
}

/// A request is about to be cancelled that may be a send's: its message may never come.
pub(crate) fn cancelling() {
    super::elsewhere::doubt();
    shared().reached(limit::ORDER);
}
