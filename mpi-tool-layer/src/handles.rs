//! What a layer knows of the application's objects, by their handles.
//!
//! [`HandleMap`] is for objects with an end that the application calls: communicators, files,
//! datatypes. [`PendingRequests`] is for requests, which end when MPI says so, in a call that may
//! be about many of them. Both must cope with MPI's using a handle again as soon as its object is
//! gone.

use core::hash::{BuildHasher, Hasher};
use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mpi_sys::{MPI_Request, MPI_Status, MPI_THREAD_MULTIPLE};

use crate::call::{AnyCall, Call, CallResult, Word};
use crate::host::world;

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
struct Kept<T> {
    /// What was kept last, and is given out first.
    last: T,
    /// What was kept before, if there is more than one.
    #[allow(clippy::box_collection, reason = "there are none as a rule, and they are to be small")]
    others: Option<Box<Vec<T>>>,
}

impl<T> HandleMap<Kept<T>> {
    /// Keeps one more thing of a handle.
    fn push(&self, handle: impl Word, value: T) {
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
    fn pop(&self, handle: impl Word) -> Option<T> {
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

/// What a layer keeps of requests until they are complete.
///
/// The layer [watches completion](crate::MpiInterceptionLayer::WATCHES_COMPLETION) and passes every
/// call that [completes requests](Call::completes_requests) through [`complete`](Self::complete),
/// and every `MPI_Request_free` through [`free`](Self::free). What it keeps it
/// [inserts](Self::insert) when a call has made a request ([`Call::new_request`]), and
/// [updates](Self::update) when a call starts it ([`Call::starts_requests`]).
///
/// With one thread in MPI, what is kept is looked up after the call has completed requests. With
/// several (`MPI_THREAD_MULTIPLE`), another thread could get a completed request's handle for a new
/// one meanwhile; so it is taken out before the call, and what is not complete is put back. Which
/// of the two it is, MPI is asked once.
///
/// A tool that times messages, for example, does this in `around`:
///
/// * in a call that [completes requests](Call::completes_requests) it returns what
///   [`complete`](Self::complete) returns, with a closure that takes the time;
///
/// * otherwise it passes the call on, and [inserts](Self::insert) its [new
///   request](Call::new_request), if there is one, with the time;
///
/// * of calls that [start requests](Call::starts_requests) it [updates](Self::update) all
///   [requests](Call::requests).
///
/// Its method `request_free` returns what [`free`](Self::free) returns.
#[derive(Debug)]
pub struct PendingRequests<T> {
    requests: HandleMap<Kept<T>>,
    /// [`UNKNOWN`], [`ONE`] or [`SEVERAL`].
    threads: AtomicU8,
}

/// May two threads be in MPI at once?
const UNKNOWN: u8 = 0;
const ONE: u8 = 1;
const SEVERAL: u8 = 2;

impl<T> PendingRequests<T> {
    /// None.
    pub const fn new() -> Self {
        Self { requests: HandleMap::new(), threads: AtomicU8::new(UNKNOWN) }
    }

    /// Keeps something of a request that a call has made, before the application gets it: in the
    /// layer, when the call has returned to it. Several may have one handle, since MPI may give all
    /// that it completes at once the same; they come out in any order.
    pub fn insert(&self, request: MPI_Request, kept: T) {
        self.requests.push(request, kept);
    }

    /// Changes what is kept of a request: of a persistent one, when it is started. Nothing happens
    /// if nothing is kept.
    pub fn update(&self, request: MPI_Request, change: impl FnOnce(&mut T)) {
        if let Some(mut kept) = self.requests.pop(request) {
            change(&mut kept);
            self.requests.push(request, kept);
        }
    }

    /// Passes on a call that frees a request (`MPI_Request_free`), and forgets the request; not if
    /// MPI refuses the call. `request` is the handle before the call (`InOut::get`); `next_f` calls
    /// the layer's next function.
    pub fn free<'c>(
        &self,
        request: Option<MPI_Request>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        let kept = request.and_then(|request| Some((request, self.requests.pop(request)?)));
        let result = next_f();
        if result.is_err()
            && let Some((request, kept)) = kept
        {
            self.requests.push(request, kept);
        }
        result
    }

    /// Passes on a call that completes requests, and tells of each that it has completed: what was
    /// kept of it, and its status, or none if it has failed. What `each` returns is kept on, as of
    /// a persistent request.
    ///
    /// `each` runs without a lock, once for each request of which something is kept. Where nothing
    /// is kept at all, the call just goes on.
    #[inline(always)]
    pub fn complete<'c>(
        &self,
        call: impl Call<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
        mut each: impl FnMut(T, Option<&MPI_Status>) -> Option<T>,
    ) -> CallResult<'c> {
        if self.requests.is_empty() {
            return next_f();
        }
        if self.several_threads() {
            // As soon as MPI has completed a request, another thread may get its handle for a new one.
            let mut taken = self.take(call.requests());
            let result = next_f();
            self.give_back(call.erase(), &mut taken, &mut each);
            result
        } else {
            let result = next_f();
            if let [request] = call.requests() {
                call.finished(|_, status| self.settle(*request, status, &mut each));
            } else {
                self.remove_finished(call.erase(), &mut each);
            }
            result
        }
    }

    /// The same for many requests, out of line: those that a call has finished, afterwards.
    #[inline(never)]
    fn remove_finished<'c>(
        &self,
        call: AnyCall<'c>,
        each: &mut dyn FnMut(T, Option<&MPI_Status>) -> Option<T>,
    ) {
        let before = call.requests();
        call.finished(|position, status| self.settle(before[position], status, &mut *each));
    }

    /// Tells of a request that is complete, and keeps on what `each` returns.
    #[inline(always)]
    fn settle(
        &self,
        request: MPI_Request,
        status: Option<&MPI_Status>,
        mut each: impl FnMut(T, Option<&MPI_Status>) -> Option<T>,
    ) {
        if let Some(kept) = self.requests.pop(request)
            && let Some(kept) = each(kept, status)
        {
            self.requests.push(request, kept);
        }
    }

    /// Takes out what is kept of each, before a call of several threads.
    #[inline(never)]
    fn take(&self, requests: &[MPI_Request]) -> Vec<Option<T>> {
        requests.iter().map(|request| self.requests.pop(*request)).collect()
    }

    /// After such a call: tells of what is complete, and puts back the rest.
    #[inline(never)]
    fn give_back<'c>(
        &self,
        call: AnyCall<'c>,
        taken: &mut [Option<T>],
        each: &mut dyn FnMut(T, Option<&MPI_Status>) -> Option<T>,
    ) {
        let before = call.requests();
        call.finished(|position, status| {
            taken[position] = taken[position].take().and_then(|kept| each(kept, status));
        });
        for (request, kept) in before.iter().zip(taken) {
            if let Some(kept) = kept.take() {
                self.requests.push(*request, kept);
            }
        }
    }

    /// May two threads be in MPI at once? Asked at the first request, and remembered.
    #[inline(always)]
    fn several_threads(&self) -> bool {
        match self.threads.load(Relaxed) {
            UNKNOWN => self.ask_for_threads(),
            known => known == SEVERAL,
        }
    }

    /// Asks MPI for its thread level. Where it does not say one, as without `MPI_Init`, there may
    /// be several threads.
    #[cold]
    fn ask_for_threads(&self) -> bool {
        // A session cannot be asked for its thread level.
        let several = world::thread_level().is_none_or(|level| level == MPI_THREAD_MULTIPLE);
        self.threads.store(if several { SEVERAL } else { ONE }, Relaxed);
        several
    }
}

impl<T> Default for PendingRequests<T> {
    fn default() -> Self {
        Self::new()
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

    /// As many come out as went in, for two requests that are complete from the start.
    #[test]
    fn requests_that_share_a_handle_are_kept_apart() {
        let map = HandleMap::new();
        for i in 0..3 {
            map.push(7, i);
        }
        map.push(8, 10);
        assert_eq!([map.pop(7), map.pop(8), map.pop(8)], [Some(2), Some(10), None]);
        map.push(7, 3);
        assert_eq!([(); 4].map(|()| map.pop(7)), [Some(3), Some(1), Some(0), None]);
        assert!(map.is_empty());
    }
}
