//! Where the buffers of active requests are, for programs that have many of them at once: looking through all of them at each
//! start would take a time that grows with their square.

use core::cell::Cell;
use std::collections::BTreeMap;

use super::{Buffer, Remote, Request, Requests};
use crate::layouts::STEPS;

/// Of up to so many handles, all are looked through.
const FEW: usize = 32;

/// Buffers by their places. Requests that are complete are taken out when they are met.
#[derive(Debug, Default)]
pub(super) struct Places {
    sent: ByLength,
    received: ByLength,
}

/// Buffers by a class of their length, and by where they begin: those that meet a place begin at most one length before.
#[derive(Debug, Default)]
struct ByLength {
    /// By class, beginning and the request's number: the end, and the request's handle.
    all: BTreeMap<(u32, u64, u64), (u64, u64)>,
    /// A bit for each class that has had a buffer.
    classes: u64,
}

impl ByLength {
    fn add(&mut self, buffer: &Buffer, id: u64, handle: u64) {
        let area = &buffer.area;
        let class = (area.end - area.begin).max(1).ilog2();
        self.classes |= 1 << class;
        self.all.insert((class, area.begin, id), (area.end, handle));
    }

    /// The first one that may meet a buffer, as their ends say, and that `look` knows to do so. Those that are over are taken
    /// out.
    fn find<R>(&mut self, buffer: &Buffer, mut look: impl FnMut(u64, u64) -> Look<R>) -> Option<R> {
        let buffer = &buffer.area;
        let mut over = Vec::new();
        let mut found = None;
        let mut classes = self.classes;
        while classes != 0 && found.is_none() {
            let class = classes.trailing_zeros();
            classes &= classes - 1;
            let longest = 2_u64.checked_shl(class).filter(|it| *it != 0).unwrap_or(u64::MAX);
            let first = (class, buffer.begin.saturating_sub(longest), 0);
            for (key, (end, handle)) in self.all.range(first..(class, buffer.end, 0)) {
                if *end <= buffer.begin {
                    continue;
                }
                match look(key.2, *handle) {
                    Look::Meets(that) => {
                        found = Some(that);
                        break;
                    }
                    Look::Passes => {}
                    Look::Over => over.push(*key),
                }
            }
        }
        for key in over {
            self.all.remove(&key);
        }
        found
    }
}

/// What there is at a buffer's place.
enum Look<R> {
    Meets(R),
    /// Something else of the memory between its ends.
    Passes,
    /// Nothing any more.
    Over,
}

impl Places {
    fn of(requests: &super::ByHandle) -> Self {
        let mut places = Self::default();
        for (handle, all) in requests {
            for request in all.iter().filter(|request| request.is_active) {
                places.add(request, *handle);
            }
        }
        places
    }

    /// A request is active from now on.
    pub(super) fn add(&mut self, request: &Request, handle: u64) {
        for buffer in request.buffers.iter().flatten() {
            let places = if buffer.is_received { &mut self.received } else { &mut self.sent };
            places.add(buffer, request.id, handle);
        }
    }

    fn len(&self) -> usize {
        self.sent.all.len() + self.received.all.len()
    }
}

impl Requests {
    /// The active request that needs some of a buffer, if one of the two receives, and whether it is the one. `remote`: the
    /// place that a one-sided operation is about.
    pub(super) fn that_needs(
        &mut self,
        ours: &Buffer,
        remote: Option<&Remote>,
    ) -> Option<(&Request, bool)> {
        let steps = Cell::new(STEPS);
        let meets = |theirs: &Buffer| {
            let mut left = steps.get();
            let meets = (ours.is_received || theirs.is_received)
                && ours.area.meets(&theirs.area, &mut left);
            steps.set(left);
            meets
        };
        let that_meets = |request: &Request| {
            let mut buffers = request.buffers.iter().flatten().filter(|_| request.is_active);
            let met = buffers.find(|theirs| meets(theirs))?;
            let same = remote.zip(request.remote.as_ref());
            let is_again =
                same.is_some_and(|(own, theirs)| own.gets_again(theirs)) && met.area == ours.area;
            (!is_again).then_some(met.is_received)
        };
        let Self { by_handle, places } = self;
        if by_handle.len() <= FEW {
            *places = None;
            let mut all = by_handle.values().flatten();
            return all.find_map(|request| Some((request, that_meets(request)?)));
        }
        if places.as_ref().is_none_or(|places| places.len() > 4 * by_handle.len()) {
            *places = Some(Places::of(by_handle));
        }
        let places = places.as_mut()?;
        let by_handle = &*by_handle;
        let look = |id: u64, handle: u64| {
            let of_handle = by_handle.get(&handle);
            let request = of_handle.and_then(|all| all.iter().find(|request| request.id == id));
            let Some(request) = request else { return Look::Over };
            if !request.is_active || request.buffers.iter().all(Option::is_none) {
                return Look::Over;
            }
            that_meets(request)
                .map_or(Look::Passes, |is_received| Look::Meets((request, is_received)))
        };
        let found = places.received.find(ours, look);
        if found.is_some() || !ours.is_received {
            return found;
        }
        places.sent.find(ours, look)
    }
}
