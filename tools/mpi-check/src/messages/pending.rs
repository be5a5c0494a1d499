//! Receives that are posted and not complete, in the order in which they were posted.

use std::collections::VecDeque;

use super::{Channel, Wanted};
use crate::waits;

/// A receive that is posted and not complete.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pending {
    pub(super) order: u64,
    /// The message's number on its channel; `None` if it may get any that fits.
    pub(super) number: Option<u64>,
    pub(super) wanted: Wanted,
}

impl Pending {
    fn may_get(&self, channel: Channel) -> bool {
        self.wanted.identity == channel.identity
            && self.wanted.source.is_none_or(|source| source == channel.source)
            && self.wanted.tag.is_none_or(|tag| tag == channel.tag)
    }
}

/// All of them. A program may have thousands: one is found by its order, and all are looked through only where some may get
/// any message.
#[derive(Debug, Default)]
pub(super) struct Pendings {
    all: VecDeque<Pending>,
    /// How many have no number.
    open: usize,
}

impl Pendings {
    /// One that is posted after all others.
    pub(super) fn push(&mut self, pending: Pending) {
        self.all.push_back(pending);
        if pending.number.is_none() {
            self.set_open(self.open + 1);
        }
    }

    fn find(&self, order: u64) -> Option<usize> {
        self.all.binary_search_by_key(&order, |known| known.order).ok()
    }

    /// One is complete.
    pub(super) fn remove(&mut self, order: u64) {
        if let Some(gone) = self.find(order).and_then(|at| self.all.remove(at))
            && gone.number.is_none()
        {
            self.set_open(self.open - 1);
        }
    }

    /// Nobody will be told when it is complete. It stays if it may get any message.
    pub(super) fn remove_numbered(&mut self, order: u64) {
        if let Some(at) = self.find(order)
            && self.all[at].number.is_some()
        {
            self.all.remove(at);
        }
    }

    /// From now on, it may get any message that fits.
    pub(super) fn open(&mut self, order: u64) {
        if let Some(at) = self.find(order)
            && self.all[at].number.take().is_some()
        {
            self.set_open(self.open + 1);
        }
    }

    /// The same for all of a channel that have a number, which is told.
    pub(super) fn open_all(&mut self, channel: Channel, mut told: impl FnMut(u64)) {
        let mut opened = 0;
        for pending in self.all.iter_mut().filter(|known| known.may_get(channel)) {
            if let Some(number) = pending.number.take() {
                told(number);
                opened += 1;
            }
        }
        self.set_open(self.open + opened);
    }

    /// May one that has no number get a message of this channel?
    pub(super) fn has_open(&self, channel: Channel) -> bool {
        self.open > 0
            && self.all.iter().any(|known| known.number.is_none() && known.may_get(channel))
    }

    /// May one that was posted before get a message of this channel?
    pub(super) fn has_earlier(&self, order: u64, channel: Channel) -> bool {
        self.all.iter().take_while(|known| known.order < order).any(|known| known.may_get(channel))
    }

    /// Tells others how many receives may get any message.
    fn set_open(&mut self, open: usize) {
        self.open = open;
        waits::set_open(open);
    }
}
