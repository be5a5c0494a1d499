//! What a layer knows of the application's objects, by their handles.
//!
//! [`HandleMap`] is for objects with an end that the application calls: communicators, files,
//! datatypes. Requests, which end when MPI says so, are in
//! [`PendingRequests`](crate::PendingRequests).

use core::hash::{BuildHasher, Hasher};
use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::call::Word;

/// What a layer keeps of the application's objects, by their handles. For many threads; no lock is
/// held while MPI or the layer runs.
///
/// MPI uses a handle again once its object is gone: forget it *before* the call that frees it,
/// since afterwards another thread may have got the handle for a new object. Handles of different
/// kinds of objects may be equal, so a map is for one kind.
///
/// Any handle is a key, and so is any other [`Word`](crate::Word). An operation locks one of 16
/// shards and looks into a hash table. Nothing is allocated before the first insertion, so `new` is
/// a constant. Where most handles are of no interest to the tool, [`is_empty`](Self::is_empty)
/// saves the look-up as long as none is.
#[derive(Debug)]
pub struct HandleMap<T> {
    shards: [Mutex<HashMap<u64, T, Spread>>; SHARDS],
    /// How many things are kept, in all shards.
    len: AtomicUsize,
}

/// How many locks a map has. A thread waits only for one that works with a handle of the same
/// shard.
const SHARDS: usize = 16;

/// Spreads handles, which are numbers in a row or addresses: neighbours go to different shards and
/// places.
#[derive(Debug, Clone, Copy)]
struct Spread;

/// A hasher for one `u64`, which is what keys are: cheaper than the standard library's, and not
/// safe against chosen keys, which nobody chooses here.
struct SpreadHasher(u64);

/// Fibonacci hashing, with the good upper bits mixed into the lower ones.
const fn spread(handle: u64) -> u64 {
    let product = handle.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ (product >> 32)
}

impl BuildHasher for Spread {
    type Hasher = SpreadHasher;
    fn build_hasher(&self) -> SpreadHasher {
        SpreadHasher(0)
    }
}

impl Hasher for SpreadHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = spread(self.0 ^ u64::from(*byte));
        }
    }
    fn write_u64(&mut self, handle: u64) {
        self.0 = spread(handle);
    }
}

impl<T> HandleMap<T> {
    /// Empty.
    pub const fn new() -> Self {
        Self {
            shards: [const { Mutex::new(HashMap::with_hasher(Spread)) }; SHARDS],
            len: AtomicUsize::new(0),
        }
    }

    /// The locked part of the map in which a handle is. A lock that a panic has left is taken all
    /// the same: the tables are never half changed by the code here.
    fn shard(&self, key: u64) -> MutexGuard<'_, HashMap<u64, T, Spread>> {
        // Other bits than those that the map in the shard uses first.
        let shard = (spread(key) >> 20) as usize % SHARDS;
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Is nothing in it? Reads one number, without a lock: what another thread inserts at this
    /// moment may be missed.
    pub fn is_empty(&self) -> bool {
        self.len.load(Relaxed) == 0
    }

    /// Keeps something of an object; what was kept of the handle before is dropped. To be called
    /// before the application can use the handle, so right after the call that made it.
    pub fn insert(&self, handle: impl Word, value: T) {
        let key = handle.to_word();
        if self.shard(key).insert(key, value).is_none() {
            self.len.fetch_add(1, Relaxed);
        }
    }

    /// Takes out what is kept of an object, if anything is.
    pub fn remove(&self, handle: impl Word) -> Option<T> {
        let key = handle.to_word();
        let value = self.shard(key).remove(&key);
        if value.is_some() {
            self.len.fetch_sub(1, Relaxed);
        }
        value
    }

    /// What is kept of an object, as a copy: no reference into the map gets out, so no lock does.
    /// Something large is kept in an `Arc`.
    pub fn get(&self, handle: impl Word) -> Option<T>
    where
        T: Clone,
    {
        let key = handle.to_word();
        self.shard(key).get(&key).cloned()
    }
}

impl<T> Default for HandleMap<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// What is kept of a handle's requests. What MPI completes at once, it may give all the same
/// handle; then there are several, and none of them can be told from the others.
#[derive(Debug)]
pub(crate) struct Kept<T> {
    /// What was kept last, and is given out first.
    last: T,
    /// What was kept before, if there is more than one.
    #[allow(clippy::box_collection, reason = "there are none as a rule, and they are to be small")]
    others: Option<Box<Vec<T>>>,
}

impl<T> HandleMap<Kept<T>> {
    /// Keeps one more thing of a handle.
    pub(crate) fn push(&self, handle: impl Word, value: T) {
        let key = handle.to_word();
        match self.shard(key).entry(key) {
            Entry::Occupied(mut kept) => {
                let kept = kept.get_mut();
                let before = core::mem::replace(&mut kept.last, value);
                kept.others.get_or_insert_default().push(before);
            }
            Entry::Vacant(place) => {
                place.insert(Kept { last: value, others: None });
                self.len.fetch_add(1, Relaxed);
            }
        }
    }

    /// Takes out what was kept last of a handle.
    pub(crate) fn pop(&self, handle: impl Word) -> Option<T> {
        let key = handle.to_word();
        let mut shard = self.shard(key);
        let Entry::Occupied(mut kept) = shard.entry(key) else { return None };
        if let Some(before) = kept.get_mut().others.as_mut().and_then(|others| others.pop()) {
            return Some(core::mem::replace(&mut kept.get_mut().last, before));
        }
        self.len.fetch_sub(1, Relaxed);
        Some(kept.remove().last)
    }
}

#[cfg(test)]
mod tests {
    use super::HandleMap;

    /// Handles as MPICH has them (numbers in a row) and as Open MPI has them (addresses), all in
    /// one map.
    #[test]
    fn handles_in_a_row_and_addresses_are_found() {
        let map = HandleMap::new();
        for i in 0..10_000_i64 {
            map.insert(0x9800_0000_u32 as i32 + i as i32, i);
            map.insert(0x7fff_0000_0000 + i * 64, -i);
        }
        for i in 0..10_000_i64 {
            assert_eq!(map.get(0x9800_0000_u32 as i32 + i as i32), Some(i));
            assert_eq!(map.remove(0x7fff_0000_0000 + i * 64), Some(-i));
            assert_eq!(map.remove(0x7fff_0000_0000 + i * 64), None);
            assert_eq!(map.remove(0x9800_0000_u32 as i32 + i as i32), Some(i));
        }
        assert!(map.is_empty());
    }
}
