//! The call sites that a thread has called from before, by return address and stack pointer.
//!
//! The same return address at the same place of the stack does not make the same callers. So an entry has
//! the places on the stack where the callers' return addresses were, and what was there: a call is of this site
//! only if all of them are there still.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How many return addresses an entry may have beside its own: the callers, and the frames of MPI's
/// libraries that are passed over.
pub(crate) const MOST: usize = 12;

/// Entries that a return address and a stack pointer may have, for different callers.
const WAYS: usize = 4;
const SETS: usize = 128;

/// An entry's site where it is none, but leads on: the call came through a library of MPI's, from a place of
/// the stack that is the last of the entry's.
const LEADS_ON: u64 = u64::MAX;

/// A thread's cache. Only its thread uses it, and its signal handlers: all is atomic for their sake, and an
/// entry in the making has stack pointer 0, which no call has. Zeros are an empty cache.
pub(crate) struct SiteCache {
    sets: [[Entry; WAYS]; SETS],
    /// Which way of a set is overwritten next.
    next: AtomicU64,
    /// The bounds of the thread's stack, once they are known.
    pub(super) stack: [AtomicU64; 2],
}

struct Entry {
    stack: AtomicU64,
    returns_to: AtomicU64,
    /// The site's number, or [`LEADS_ON`].
    site: AtomicU64,
    length: AtomicU64,
    /// Where the application's call is on the stack, if the entry leads on.
    leads_to: AtomicU64,
    /// Places on the stack, all above `stack` and in the thread's stack, and what was there.
    frames: [[AtomicU64; 2]; MOST],
}

/// What a cache knows of a caller.
pub(crate) enum Known {
    /// The site's number.
    Site(u32),
    /// Another place on the stack to look at: the application's call of MPI's library.
    From(usize),
}

impl SiteCache {
    /// What is known of a caller.
    #[inline(always)]
    pub(crate) fn find(&self, stack: usize, returns_to: u64) -> Option<Known> {
        let set = &self.sets[set(stack, returns_to)];
        set.iter().find_map(|entry| entry.matching(stack, returns_to))
    }

    /// Remembers the site of a call: by its place on the stack with its return address, and by those of
    /// its callers.
    pub(crate) fn insert(&self, call: [u64; 2], callers: &[[u64; 2]], site: u32) {
        self.write(call, callers, site.into(), 0);
    }

    /// Remembers that a call has come through a library: by the library's frames, and the place on the stack of
    /// the application's call.
    pub(crate) fn insert_through(&self, call: [u64; 2], library: &[[u64; 2]], at: u64) {
        self.write(call, library, LEADS_ON, at);
    }

    fn write(&self, call: [u64; 2], frames: &[[u64; 2]], site: u64, leads_to: u64) {
        let (stack, returns_to) = (call[0] as usize, call[1]);
        let set = &self.sets[set(stack, returns_to)];
        let way = self.next.fetch_add(1, Relaxed) as usize % WAYS;
        let free = set.iter().find(|entry| entry.stack.load(Relaxed) == 0);
        let entry = free.unwrap_or(&set[way]);
        if frames.len() > MOST {
            return;
        }
        entry.stack.store(0, Relaxed);
        entry.returns_to.store(returns_to, Relaxed);
        entry.site.store(site, Relaxed);
        entry.leads_to.store(leads_to, Relaxed);
        entry.length.store(frames.len() as u64, Relaxed);
        for ([place, value], [at, was]) in entry.frames.iter().zip(frames) {
            place.store(*at, Relaxed);
            value.store(*was, Relaxed);
        }
        entry.stack.store(stack as u64, Relaxed);
    }

    /// Forgets all, when another thread takes the memory over.
    pub(crate) fn clear(&self) {
        for entry in self.sets.iter().flatten() {
            if entry.stack.load(Relaxed) != 0 {
                entry.stack.store(0, Relaxed);
            }
        }
        self.stack.iter().for_each(|bound| bound.store(0, Relaxed));
    }
}

impl Entry {
    #[inline(always)]
    fn matching(&self, stack: usize, returns_to: u64) -> Option<Known> {
        if self.stack.load(Relaxed) != stack as u64 || self.returns_to.load(Relaxed) != returns_to {
            return None;
        }
        let length = self.length.load(Relaxed) as usize;
        for [place, value] in self.frames.iter().take(length) {
            let place = place.load(Relaxed) as *const u64;
            // SAFETY: an aligned word must be there. The place was on this thread's stack when the entry was
            // made, aligned and above the stack pointer of that time, which is where the call stands again.
            // So it is on the part of the same stack that is in use.
            if unsafe { place.read_volatile() } != value.load(Relaxed) {
                return None;
            }
        }
        Some(match self.site.load(Relaxed) {
            LEADS_ON => Known::From(self.leads_to.load(Relaxed) as usize),
            site => Known::Site(site as u32),
        })
    }
}

#[inline(always)]
fn set(stack: usize, returns_to: u64) -> usize {
    let mixed = (stack as u64 >> 3 ^ returns_to << 7).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 40) as usize % SETS
}
