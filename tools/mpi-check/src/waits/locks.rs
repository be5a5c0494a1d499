//! Who has locked what of windows (`MPI_Win_lock`), for those who wait to lock it.
//!
//! A process that has been through `MPI_Win_lock` may have the lock from then on, whatever MPI does and when. So a process
//! that is in `MPI_Win_lock` meanwhile may have to wait until it is given back: if that can never happen, both wait for ever.

use core::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use super::own;

/// How many locks of a rank are known.
const LOCKS: usize = 8;

/// All targets of a window.
const ALL: u64 = u64::MAX;

/// A lock of a target, or of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lock {
    window: u64,
    target: u64,
    /// It excludes all others.
    is_alone: bool,
}

impl Lock {
    /// `target`: `None` for all.
    pub(crate) fn new(window: u64, target: Option<u32>, is_alone: bool) -> Self {
        Self { window, target: target.map_or(ALL, u64::from), is_alone }
    }

    pub(super) fn to_words(self) -> [u64; 3] {
        [self.window, self.target, self.is_alone.into()]
    }

    pub(super) fn from_words([window, target, is_alone]: [u64; 3]) -> Self {
        Self { window, target, is_alone: is_alone != 0 }
    }

    /// Can nobody have it while somebody else has the other one?
    pub(super) fn excludes(self, other: Self) -> bool {
        self.window == other.window
            && (self.target == other.target || self.target == ALL || other.target == ALL)
            && (self.is_alone || other.is_alone)
    }
}

#[repr(C)]
pub(super) struct LockState {
    /// 0 if the place is free.
    window: AtomicU64,
    target: AtomicU64,
    is_alone: AtomicBool,
}

/// Those that a rank has: written by the rank only.
pub(super) type Locks = [LockState; LOCKS];

/// Those of a rank at one moment.
pub(super) fn of(locks: &Locks) -> Vec<Lock> {
    let lock = |it: &LockState| Lock {
        window: it.window.load(Acquire),
        target: it.target.load(Relaxed),
        is_alone: it.is_alone.load(Relaxed),
    };
    locks.iter().map(lock).filter(|lock| lock.window != 0).collect()
}

/// This process has been through the call that locks.
pub(crate) fn locked(lock: Lock) {
    let Some(own) = own() else { return };
    // Nothing is said of more.
    let free = own.locks.iter().find(|place| place.window.load(Relaxed) == 0);
    if let Some(place) = free {
        place.target.store(lock.target, Relaxed);
        place.is_alone.store(lock.is_alone, Relaxed);
        place.window.store(lock.window, Release);
    }
}

/// This process gives a lock back.
pub(crate) fn unlocked(window: u64, target: Option<u32>) {
    let Some(own) = own() else { return };
    let target = target.map_or(ALL, u64::from);
    let places = own.locks.iter().filter(|place| place.window.load(Relaxed) == window);
    places
        .filter(|place| place.target.load(Relaxed) == target)
        .for_each(|place| place.window.store(0, Release));
}
