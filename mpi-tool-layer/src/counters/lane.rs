//! Where an instance's counters are in every thread's memory, and what is done with them there.

use core::ptr;
use core::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Mutex, PoisonError};

use super::memory::{self, ARENA, ARENAS, SIGN, word};

/// Where an instance's counters are in the memory of each thread.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Lane {
    /// [`NO_LANE`] until the first count; then the offset, with the sign bit set.
    pub(super) offset: AtomicU64,
    /// How many counters it has.
    pub(super) count: usize,
}

/// How many instances share a group of lanes.
const LANES: usize = 8;
/// From a counter to the next one of the same instance, in bytes: a cache line, in which eight
/// instances have the counter of one index.
const STRIDE: usize = LANES * size_of::<AtomicU64>();

/// The offset of an instance without a lane.
pub(super) const NO_LANE: u64 = (-0x1_0000_i64) as u64;

impl Lane {
    /// A counter of a `ThreadCounters`, whose lane this is, summed over all threads.
    ///
    /// # Safety
    /// That is so, it has the counter, and the pointer may be used for all of it.
    pub(crate) unsafe fn sum(this: *const Lane, index: usize) -> u64 {
        // SAFETY: the lane and the counter of this index behind it must be there: the caller
        // promises a `ThreadCounters` (`repr(C)`), whose `shared` begins right behind its lane.
        // Both are atomics, which others may write meanwhile.
        let (mut sum, offset) = unsafe {
            let shared = &*this.add(1).cast::<AtomicU64>().add(index);
            (shared.load(Relaxed), (*this).offset.load(Acquire))
        };
        if offset == NO_LANE {
            return sum;
        }
        let mut arena = ARENAS.load(Acquire).cast_const();
        while !arena.is_null() {
            // SAFETY: the counter and `next` must be in the arena, which must be there. `ARENAS`
            // has mapped memory that is never freed, and `free_lane` gives out offsets only if all
            // of the lane is below `ARENA`; all are atomics, of zeros at first.
            unsafe {
                let counter = arena.byte_add((offset ^ SIGN) as usize + index * STRIDE);
                sum = sum.wrapping_add((*counter.cast::<AtomicU64>()).load(Relaxed));
                arena = (*arena).next.load(Acquire);
            }
        }
        sum
    }

    /// Where the thread's counters of the lane are; with the sign bit set if it has none. The sum
    /// of word and offset: both have the sign bit, so it goes away if both are there.
    #[inline(always)]
    pub(super) fn address(&self) -> u64 {
        word().wrapping_add(self.offset.load(Relaxed))
    }

    /// A counter of the thread.
    ///
    /// # Safety
    /// `address` is what [`address`](Self::address) has returned in this thread, its sign bit is
    /// clear, and the lane has more counters than `index`.
    #[inline(always)]
    pub(super) unsafe fn counter<'a>(address: u64, index: usize) -> &'a AtomicU64 {
        // SAFETY: the address must be that of an `AtomicU64` that is never freed. The sign bit is
        // clear only if word and offset are both there, so the lane is in the thread's arena, and
        // it has more counters than `index`, as the caller promises.
        unsafe {
            let lane = ptr::with_exposed_provenance::<AtomicU64>(address as usize);
            &*lane.byte_add(index * STRIDE)
        }
    }

    /// Finds the lane a place, and the thread its memory, where there is room. Afterwards
    /// [`address`](Self::address) says whether there was.
    fn enter(&self) {
        if self.offset.load(Relaxed) == NO_LANE {
            free_lane(&self.offset, self.count);
        }
        if word() == 0 {
            memory::take();
        }
    }

    /// Adds to a counter of a `ThreadCounters`, whose lane this is: the way of a thread's or an
    /// instance's first count, and of all that have got no place.
    ///
    /// # Safety
    /// `this` is the lane of a `ThreadCounters` with more counters than `index`, and the pointer
    /// may be used for all of it.
    pub(crate) unsafe extern "C" fn add_slowly(this: *const Lane, index: usize, amount: u64) {
        // SAFETY: the lane must be there, with the shared counter behind it, and `counter` wants a
        // clear sign bit, which is checked, and an index below the lane's count. The rest is the
        // caller's promise.
        unsafe {
            (*this).enter();
            let address = (*this).address();
            if address.cast_signed() < 0 {
                let shared = this.add(1).cast::<AtomicU64>();
                (*shared.add(index)).fetch_add(amount, Relaxed);
            } else {
                increase(Lane::counter(address, index), amount);
            }
        }
    }
}

/// Gives a lane of so many counters its offset, where there is room. Instances with the same number
/// of counters share a group of eight lanes, side by side. Lanes are never given back.
fn free_lane(offset: &AtomicU64, count: usize) {
    /// Eight lanes of instances with the same number of counters.
    struct Group {
        count: usize,
        offset: usize,
        taken: usize,
    }
    /// The first free byte of arenas, and the groups that there are. The first stride is the
    /// `Arena`'s own.
    static GROUPS: Mutex<(usize, Vec<Group>)> = Mutex::new((STRIDE, Vec::new()));
    let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    let (top, groups) = &mut *groups;
    // Another thread may have been faster.
    if offset.load(Relaxed) != NO_LANE {
        return;
    }
    let open = groups.iter_mut().find(|group| group.count == count && group.taken < LANES);
    let group = match open {
        Some(group) => group,
        None if count * STRIDE <= ARENA - *top => {
            groups.push(Group { count, offset: *top, taken: 0 });
            *top += count * STRIDE;
            groups.last_mut().expect("just pushed")
        }
        None => return,
    };
    let lane = group.offset + group.taken * size_of::<AtomicU64>();
    group.taken += 1;
    // Under the lock, so that nobody takes a second one.
    offset.store(lane as u64 | SIGN, Release);
}

/// Adds to a counter that only this thread writes: a load and a store, which the compiler makes
/// one unlocked instruction on memory.
#[inline(always)]
pub(super) fn increase(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(amount), Relaxed);
}
