//! Counters that every thread adds to without a lock, and without a locked instruction.
//!
//! Each thread has a piece of memory, its *arena*, in which all instances of [`ThreadCounters`] of
//! a tool have places. Where an instance's counters are is the same offset in every arena, its
//! *lane*. So a counter's address is the thread's arena plus the instance's lane plus the index: no
//! look-up, and no other thread writes there. A sum goes over all arenas, which are in a list that
//! only grows.
//!
//! Neither is there at first: an instance gets its lane, and a thread its arena, at the first
//! count. Both numbers are written such that the sign of their sum says whether both are there
//! (`SIGN`), so an addition has one branch. The way behind that branch is cold, and is called in a
//! way that leaves all registers alone (`add_in_cold_code`), since the branch stands in
//! intercepting functions, whose arguments are in registers.
//!
//! Where there is no room (an instance after 8 MiB of lanes, or a thread whose end cannot be
//! watched), counts go to `shared`, by locked instructions. They are exact everywhere.
//!
//! Arenas are private pages, made when they are first touched: a thread that counts one function
//! costs one page for eight instances. It is for Linux on 64-bit processors only.
//!
//! `memory.rs` has the arenas, `lane.rs` the lanes, additions and sums, and `arch` the call to cold code. Here is what layers use.

pub(crate) mod lane;
pub(crate) mod memory;

use core::ptr;
use core::sync::atomic::AtomicU64;

use crate::arch::add_in_cold_code;
use lane::{Lane, NO_LANE, increase};

use crate::Counter;

/// `N` counters for a layer. Each thread counts in a place of its own; a sum reads them all.
///
/// Counts are exact under any number of threads. An addition is six instructions: where the
/// thread's counts are (two), which of them are the instance's (two), a branch, and one `inc` in
/// memory. The counts of threads that have ended are taken over by threads that start, and never
/// freed: a layer lives as long as its process.
///
/// It is a static as a rule ([`new`](Self::new) is a constant), and may be a part of a layer. Use
/// [`FunctionCounters`](crate::FunctionCounters) for a counter a function, and an atomic number for
/// what is not a sum: there is no way to read and change a counter at once, to set it back, or to
/// find a maximum.
#[derive(Debug)]
#[repr(C)]
pub struct ThreadCounters<const N: usize> {
    /// The first field: the cold code finds `shared` behind it.
    lane: Lane,
    /// For instances and threads that could not get a place.
    shared: [AtomicU64; N],
}

impl<const N: usize> ThreadCounters<N> {
    /// All zero. The instance takes no place in threads' memory before its first count.
    pub const fn new() -> Self {
        Self {
            lane: Lane { offset: AtomicU64::new(NO_LANE), count: N },
            shared: [const { AtomicU64::new(0) }; N],
        }
    }

    /// Adds to a counter. For any thread at any time, but not for signal handlers: the first count
    /// of a thread takes a lock and maps memory. Wraps around at 2^64.
    ///
    /// # Panics
    /// If `index` is not below `N`. Where the index is a constant, nothing is left of the check.
    #[inline(always)]
    pub fn add(&self, index: usize, amount: u64) {
        assert!(index < N);
        let address = self.lane.address();
        if address.cast_signed() < 0 {
            // SAFETY: `add_in_cold_code` wants the lane of a `ThreadCounters` that has the counter,
            // and a pointer for all of it. The lane is the first field (`repr(C)`), the pointer is
            // made of `self`, and `index` is below `N`.
            return unsafe { add_in_cold_code(ptr::from_ref(self).cast(), index, amount) };
        }
        // SAFETY: `counter` wants an address whose sign bit is clear, and the lane to have the
        // counter: both have been checked above.
        increase(unsafe { Lane::counter(address, index) }, amount);
    }

    /// A counter, summed over all threads. Takes no lock and allocates nothing, so that a signal
    /// handler may call it. What other threads add meanwhile may be in it or not.
    ///
    /// # Panics
    /// If `index` is not below `N`.
    pub fn sum(&self, index: usize) -> u64 {
        self.counter(index).value()
    }

    /// A counter, for a report: where it is, to be returned from
    /// [`Counters::counter`](crate::Counters::counter).
    ///
    /// # Panics
    /// If `index` is not below `N`.
    pub fn counter(&self, index: usize) -> Counter<'_> {
        assert!(index < N);
        let number = u32::try_from(index).expect("fewer than 2^32 counters");
        // SAFETY: `of_threads` wants the lane of a `ThreadCounters` that lives as long as the
        // result and has the counter, and a pointer for all of it. The lane is the first field
        // (`repr(C)`) of `self`, which is borrowed, and `index` is below `N`.
        unsafe { Counter::of_threads(ptr::from_ref(self).cast(), number) }
    }
}

impl<const N: usize> Default for ThreadCounters<N> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty times eight threads, so that most of them take over memory of others, and two
    /// instances, which must not mix.
    #[test]
    fn counts_of_all_threads_are_summed_also_when_blocks_are_taken_over() {
        static FIRST: ThreadCounters<3> = ThreadCounters::new();
        static SECOND: ThreadCounters<3> = ThreadCounters::new();
        for _ in 0..20 {
            std::thread::scope(|scope| {
                for thread in 0..8_u64 {
                    scope.spawn(move || {
                        for _ in 0..1000 {
                            FIRST.add(1, 1);
                            SECOND.add(2, thread);
                        }
                    });
                }
            });
        }
        assert_eq!([0, 1, 2].map(|i| FIRST.sum(i)), [0, 20 * 8 * 1000, 0]);
        assert_eq!([0, 1, 2].map(|i| SECOND.sum(i)), [0, 0, 20 * 1000 * 28]);
    }

    /// 2000 instances of 1000 counters want 16 MB: half of them find no room, and count in
    /// `shared`.
    #[test]
    fn more_instances_than_there_is_room_for_count_too() {
        let many: Vec<ThreadCounters<1000>> = (0..2000).map(|_| ThreadCounters::new()).collect();
        for (rank, counters) in many.iter().enumerate() {
            counters.add(rank % 1000, rank as u64);
            counters.add(rank % 1000, 1);
        }
        for (rank, counters) in many.iter().enumerate() {
            assert_eq!(counters.sum(rank % 1000), rank as u64 + 1);
            assert_eq!(counters.sum((rank + 1) % 1000), 0);
        }
    }
}
