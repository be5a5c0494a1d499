//! Where messages under way are kept, in memory that the ranks of the host share.
//!
//! All messages of a channel have their places in one bucket, the channel's home, so that the ranks of a program that has
//! few messages under way use the same few lines of memory again and again. What does not fit there is in one of four
//! buckets of the overflow, by the message's own key. The home's lock is for all of them; an overflow bucket's is taken while
//! it is held, one at a time, and never the other way round.

use core::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use super::{Channel, Slot};
use crate::shared::{Lock, limit, shared};

/// Homes, and buckets of the overflow.
const HOMES: usize = 512;
const OVERFLOW: usize = 4096;
/// In so many of them a message may be: with fewer, the first one is full long before most others are.
const CHOICES: usize = 4;
/// Places in a bucket: with its lock, their keys are one line of memory.
const PLACES: usize = 7;

/// Places that share a lock.
#[repr(C, align(64))]
struct Bucket {
    lock: Lock,
    /// Of a home: how many of its messages are in the overflow.
    elsewhere: AtomicU32,
    /// 0 where the place is free.
    keys: [AtomicU64; PLACES],
    slots: [Slot; PLACES],
}

/// All messages under way. Zeros are an empty table.
#[repr(C)]
pub(crate) struct Table {
    homes: [Bucket; HOMES],
    overflow: [Bucket; OVERFLOW],
}

/// The place of a message, which stays its own while this is used.
pub(super) struct Place<'a> {
    pub(super) slot: &'a Slot,
    key: &'a AtomicU64,
    home: &'a Bucket,
    is_elsewhere: bool,
    /// Nobody has written anything here of the message before.
    pub(super) is_new: bool,
}

impl Place<'_> {
    /// The message is not under way any more.
    pub(super) fn free(&self) {
        self.key.store(0, Release);
        if self.is_elsewhere {
            let elsewhere = self.home.elsewhere.load(Relaxed);
            self.home.elsewhere.store(elsewhere.saturating_sub(1), Relaxed);
        }
    }
}

impl Bucket {
    fn find(&self, key: u64) -> Option<usize> {
        self.keys.iter().position(|known| known.load(Acquire) == key)
    }

    fn place<'a>(&'a self, at: usize, home: &'a Self, is_new: bool) -> Place<'a> {
        Place {
            slot: &self.slots[at],
            key: &self.keys[at],
            home,
            is_elsewhere: !core::ptr::eq(self, home),
            is_new,
        }
    }
}

/// The key of a message of a channel, by its number. Never 0. Its upper bits are those of the channel's home.
pub(super) fn key(channel: Channel, number: u64) -> u64 {
    let mix =
        |hash: u64, word: u64| (hash ^ word).wrapping_mul(0xff51_afd7_ed55_8ccd).rotate_left(29);
    let ranks = u64::from(channel.source) << 32 | u64::from(channel.target);
    let words = [channel.identity, ranks, channel.tag as u64];
    let home = words.into_iter().fold(0x1234_5678_9abc_def1_u64, mix);
    let mixed = mix(home, number);
    let mixed = (mixed ^ mixed >> 31).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (home ^ home >> 32) << HOME_SHIFT | mixed >> (64 - HOME_SHIFT) | 1
}

const HOME_SHIFT: u32 = 64 - HOMES.trailing_zeros();

impl Table {
    fn home(&self, key: u64) -> &Bucket {
        &self.homes[(key >> HOME_SHIFT) as usize]
    }

    /// The buckets of the overflow that a message may be in.
    fn further(&self, key: u64) -> impl Iterator<Item = &Bucket> {
        let mixed = (key ^ key >> 29).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (0..CHOICES).map(move |choice| &self.overflow[(mixed >> (16 * choice)) as usize % OVERFLOW])
    }

    /// All messages that there are, as long as nobody changes that.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, &Slot)> {
        // Memory that nobody has used is not to be looked at, which would take it.
        let is_used = self.homes.iter().any(|home| home.elsewhere.load(Acquire) > 0);
        let overflow = if is_used { &self.overflow[..] } else { &[] };
        let buckets = self.homes.iter().chain(overflow);
        let places = buckets.flat_map(|bucket| bucket.keys.iter().zip(&bucket.slots));
        places.map(|(key, slot)| (key.load(Acquire), slot)).filter(|(key, _)| *key != 0)
    }

    /// What is known of a message, to be looked at without its lock.
    pub(super) fn look(&self, key: u64) -> Option<&Slot> {
        core::iter::once(self.home(key))
            .chain(self.further(key))
            .find_map(|bucket| Some(&bucket.slots[bucket.find(key)?]))
    }
}

/// Does something at a message's place, of which nobody else can change anything meanwhile. If the message is not known, it
/// gets a place if `may_add` is set, and `None` is returned if not. Without a lock or a place, that is noted as a limit.
pub(super) fn at<R>(key: u64, may_add: bool, action: impl FnOnce(Place<'_>) -> R) -> Option<R> {
    let table = &shared().messages;
    let home = table.home(key);
    let Some(held) = home.lock.take() else {
        shared().reached(limit::MESSAGES);
        return None;
    };
    if let Some(at) = home.find(key) {
        return Some(action(home.place(at, home, false)));
    }
    if home.elsewhere.load(Relaxed) == 0 {
        let free = home.find(0);
        if !may_add {
            return None;
        }
        if let Some(at) = free {
            let result = action(home.place(at, home, true));
            home.keys[at].store(key, Release);
            return Some(result);
        }
    }
    for further in table.further(key) {
        let Some(_held_further) = further.lock.take() else {
            shared().reached(limit::MESSAGES);
            return None;
        };
        if let Some(at) = further.find(key) {
            return Some(action(further.place(at, home, false)));
        }
    }
    if !may_add {
        return None;
    }
    if let Some(at) = home.find(0) {
        let result = action(home.place(at, home, true));
        home.keys[at].store(key, Release);
        return Some(result);
    }
    for further in table.further(key) {
        let Some(_held_further) = further.lock.take() else { break };
        if let Some(at) = further.find(0) {
            let result = action(further.place(at, home, true));
            further.keys[at].store(key, Release);
            home.elsewhere.store(home.elsewhere.load(Relaxed) + 1, Release);
            drop(held);
            return Some(result);
        }
    }
    shared().reached(limit::MESSAGES);
    None
}
