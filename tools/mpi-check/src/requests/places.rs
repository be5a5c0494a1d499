//! Where the buffers of active requests are, for programs that have many of them at once: looking through all of them at each
//! start would take a time that grows with their square.

use std::collections::BTreeMap;

use super::{Buffer, Request, Requests};

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
        let class = (buffer.end - buffer.begin).max(1).ilog2();
        self.classes |= 1 << class;
        self.all.insert((class, buffer.begin, id), (buffer.end, handle));
    }

    /// The first one that meets a buffer and for which `is_so` holds. Others that meet it are taken out.
    fn find<R>(
        &mut self,
        buffer: &Buffer,
        mut is_so: impl FnMut(u64, u64) -> Option<R>,
    ) -> Option<R> {
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
                found = is_so(key.2, *handle);
                if found.is_some() {
                    break;
                }
                over.push(*key);
            }
        }
        for key in over {
            self.all.remove(&key);
        }
        found
    }
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
    /// The active request that needs some of a buffer, if one of the two receives, and whether it is the one.
    pub(super) fn that_needs(&mut self, ours: &Buffer) -> Option<(&Request, bool)> {
        let meets = |theirs: &Buffer| {
            ours.begin < theirs.end
                && theirs.begin < ours.end
                && (ours.is_received || theirs.is_received)
        };
        let that_meets = |request: &Request| {
            let mut buffers = request.buffers.iter().flatten().filter(|_| request.is_active);
            buffers.find(|theirs| meets(theirs)).map(|theirs| theirs.is_received)
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
        let is_so = |id: u64, handle: u64| {
            let request = by_handle.get(&handle)?.iter().find(|request| request.id == id)?;
            Some((request, that_meets(request)?))
        };
        let found = places.received.find(ours, is_so);
        if found.is_some() || !ours.is_received {
            return found;
        }
        places.sent.find(ours, is_so)
    }
}
