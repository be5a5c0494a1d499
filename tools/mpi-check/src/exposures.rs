//! How often processes have posted a window for each other (`MPI_Win_post`), and have come to the ends of their epochs
//! (`MPI_Win_complete`): what those who start and await epochs wait for.
//!
//! Each count is written by one process, before the call is passed on, and read by the thread that looks for deadlocks.

use core::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use crate::shared::{Bucket, limit, shared};

/// Buckets, and places in each.
const PLACES: (usize, usize) = (512, 8);

/// The memory that processes share for it.
pub(crate) type Table = [Bucket<Count, { PLACES.1 }>; PLACES.0];

/// How often something has happened.
#[repr(C)]
pub(crate) struct Count {
    /// 0 if the place is free.
    key: AtomicU64,
    count: AtomicU64,
}

/// What is counted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum What {
    Post = 1,
    Complete,
}

/// What `from` does with a window for `to`: ranks in the window's group.
pub(crate) fn key(window: u64, what: What, from: u32, to: u32) -> u64 {
    let pair = u64::from(from) << 32 | u64::from(to);
    let mut mixed = window ^ pair.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (what as u64) << 61;
    for multiplier in [0xff51_afd7_ed55_8ccd_u64, 0xc4ce_b9fe_1a85_ec53] {
        mixed = (mixed ^ mixed >> 29).wrapping_mul(multiplier);
    }
    mixed | 1
}

fn bucket(key: u64) -> &'static Bucket<Count, { PLACES.1 }> {
    &shared().exposures[(key >> 40) as usize % PLACES.0]
}

/// It happens once more.
pub(crate) fn note(key: u64) {
    let bucket = bucket(key);
    let Some(_held) = bucket.lock.take() else {
        shared().reached(limit::EXPOSURES);
        return;
    };
    let place = |wanted| bucket.slots.iter().find(|slot| slot.key.load(Relaxed) == wanted);
    if let Some(known) = place(key) {
        known.count.fetch_add(1, Release);
    } else if let Some(free) = place(0) {
        free.count.store(1, Relaxed);
        free.key.store(key, Release);
    } else {
        shared().reached(limit::EXPOSURES);
    }
}

/// How often has it happened? `None` if nobody knows.
pub(crate) fn count(key: u64) -> Option<u64> {
    if shared().has_reached(limit::EXPOSURES) {
        return None;
    }
    let known = bucket(key).slots.iter().find(|slot| slot.key.load(Acquire) == key);
    Some(known.map_or(0, |known| known.count.load(Acquire)))
}

/// The window is gone for all who ask.
pub(crate) fn forget(key: u64) {
    let bucket = bucket(key);
    let Some(_held) = bucket.lock.take() else { return };
    if let Some(known) = bucket.slots.iter().find(|slot| slot.key.load(Relaxed) == key) {
        known.key.store(0, Release);
    }
}
