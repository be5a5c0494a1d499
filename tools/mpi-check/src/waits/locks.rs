//! Who has locked what of windows (`MPI_Win_lock`), for those who wait to lock it.
//!
//! A process that has been through `MPI_Win_lock` may have the lock from then on, whatever MPI does and when. So a process
//! that is in `MPI_Win_lock` meanwhile may have to wait until it is given back: if that can never happen, both wait for ever.

use core::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use mpi_check_engine::Lock;

use super::own;

/// How many locks of a rank are known.
const LOCKS: usize = 8;

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
    let lock = |it: &LockState| {
        let window = it.window.load(Acquire);
        Lock::from_words([window, it.target.load(Relaxed), it.is_alone.load(Relaxed).into()])
    };
    locks.iter().map(lock).filter(|lock| lock.window != 0).collect()
}

/// This process has been through the call that locks.
pub(crate) fn locked(lock: Lock) {
    let Some(own) = own() else { return };
    // Nothing is said of more.
    let free = own.locks.iter().find(|place| place.window.load(Relaxed) == 0);
    if let Some(place) = free {
        let [window, target, _] = lock.to_words();
        place.target.store(target, Relaxed);
        place.is_alone.store(lock.is_exclusive, Relaxed);
        place.window.store(window, Release);
    }
}

/// This process gives a lock back.
pub(crate) fn unlocked(window: u64, target: Option<u32>) {
    let Some(own) = own() else { return };
    let target = Lock::word_of(target);
    let places = own.locks.iter().filter(|place| place.window.load(Relaxed) == window);
    places
        .filter(|place| place.target.load(Relaxed) == target)
        .for_each(|place| place.window.store(0, Release));
}
