//! What a layer keeps of requests, which end when MPI says so, in a call that may be about many of them. MPI may use a handle
//! again as soon as its request is gone, and may give what it completes at once all the same one.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{
    AtomicU8, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

use mpi_sys::{MPI_Request, MPI_Status, MPI_THREAD_MULTIPLE};

use crate::call::{AnyCall, Call, CallResult, Word};
use crate::handles::{HandleMap, Kept};
use crate::host::world;

/// One thing, in a place that a handle tells: as a rule nothing else is there, and it is put in and taken out without a lock.
#[derive(Debug)]
struct Place<T> {
    /// The handle of what is kept here, or [`FREE`](Self::FREE), or [`BUSY`](Self::BUSY).
    handle: AtomicU64,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: threads may share a place if what is in it may go from one to another: whoever reaches it has taken it out
// of all others' reach before, by setting the handle to `BUSY` from what it was, and nobody gets a reference to it.
unsafe impl<T: Send> Sync for Place<T> {}

impl<T> Place<T> {
    /// Nothing is there.
    const FREE: u64 = 0;
    /// A thread is putting something in or taking it out.
    const BUSY: u64 = 1;

    const fn new() -> Self {
        Self { handle: AtomicU64::new(Self::FREE), value: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    /// Gives the place to this thread alone, if its handle is this one. It is its until it stores another one.
    #[inline(always)]
    fn take(&self, handle: u64) -> bool {
        self.handle.load(Relaxed) == handle
            && self.handle.compare_exchange(handle, Self::BUSY, Acquire, Relaxed).is_ok()
    }

    /// Can a handle stand in a place?
    #[inline(always)]
    const fn may_have(handle: u64) -> bool {
        handle > Self::BUSY
    }

    /// Puts something in, or gives it back if something is there already.
    #[inline(always)]
    fn put(&self, handle: u64, value: T) -> Result<(), T> {
        if !Self::may_have(handle) || !self.take(Self::FREE) {
            return Err(value);
        }
        // SAFETY: nobody else may reach the value: `take` has made the place this thread's.
        unsafe { (*self.value.get()).write(value) };
        self.handle.store(handle, Release);
        Ok(())
    }

    /// Holds what is there, if it is of this handle.
    #[inline(always)]
    fn hold(&self, handle: u64) -> Option<Held<'_, T>> {
        (Self::may_have(handle) && self.take(handle)).then(|| Held { place: self, handle })
    }

    /// Takes out what is there, if it is of this handle.
    #[inline(always)]
    fn remove(&self, handle: u64) -> Option<T> {
        if !Self::may_have(handle) || !self.take(handle) {
            return None;
        }
        // SAFETY: there must be a value, which is read once, and nobody else may reach it: `take` has made the place this
        // thread's; `put` has written a value before it stored a handle, and the place is free from here on.
        let value = unsafe { (*self.value.get()).assume_init_read() };
        self.handle.store(Self::FREE, Release);
        Some(value)
    }
}

/// What is in a place, which nobody else reaches meanwhile. It is there again afterwards, unless it is [dropped](Self::end).
#[derive(Debug)]
pub(crate) struct Held<'a, T> {
    place: &'a Place<T>,
    handle: u64,
}

impl<T> Held<'_, T> {
    #[inline(always)]
    pub(crate) fn get(&self) -> &T {
        // SAFETY: there must be a value, and nobody may change it: `hold` has found its handle there, which `put` stores when
        // it has written one, and has made the place this thread's.
        unsafe { (*self.place.value.get()).assume_init_ref() }
    }

    /// Nothing is there any more.
    #[inline(always)]
    pub(crate) fn end(self) {
        let Self { place, .. } = self;
        core::mem::forget(self);
        // SAFETY: there must be a value, which nobody uses any more: as in `get`, and the place is free from here on.
        unsafe { (*place.value.get()).assume_init_drop() };
        place.handle.store(Place::<T>::FREE, Release);
    }
}

impl<T> Drop for Held<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.place.handle.store(self.handle, Release);
    }
}

impl<T> Drop for Place<T> {
    fn drop(&mut self) {
        let handle = *self.handle.get_mut();
        drop(self.remove(handle));
    }
}

/// So many places there are: more requests than programs have at a time, as a rule.
const PLACES: usize = 256;

/// What is kept of all requests: each in its place, and in a map what finds its place taken.
#[derive(Debug)]
struct Requests<T> {
    places: [Place<T>; PLACES],
    others: HandleMap<Kept<T>>,
}

impl<T> Requests<T> {
    const fn new() -> Self {
        Self { places: [const { Place::new() }; PLACES], others: HandleMap::new() }
    }

    /// The place of a handle: the highest eight bits of a product, which neighbours in a row of numbers or addresses do not share.
    #[inline(always)]
    fn place(&self, handle: u64) -> &Place<T> {
        const { assert!(PLACES == 1 << 8) };
        &self.places[(handle.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize]
    }

    /// Keeps one more thing of a handle.
    #[inline(always)]
    fn push(&self, handle: impl Word, value: T) {
        let key = handle.to_word();
        if let Err(value) = self.place(key).put(key, value) {
            self.others.push(handle, value);
        }
    }

    /// Takes out one of the things that are kept of a handle.
    #[inline(always)]
    fn pop(&self, handle: impl Word) -> Option<T> {
        let key = handle.to_word();
        match self.place(key).remove(key) {
            None if !self.others.is_empty() => self.others.pop(handle),
            found => found,
        }
    }

    /// May anything be kept of a handle?
    #[inline(always)]
    fn may_have(&self, handle: impl Word) -> bool {
        let key = handle.to_word();
        self.place(key).handle.load(Relaxed) == key || !self.others.is_empty()
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
/// As a rule, what is kept of a request lies in a place that its handle tells, one of 256, and is put
/// there and taken out without a lock, by one atomic exchange. What finds its place taken goes into a
/// [`HandleMap`](crate::HandleMap), under a lock: of two requests with the same handle the second one,
/// and some of those in a program that has a hundred at a time. A place is a part of this value, so
/// what is kept should be small. Nothing is allocated for it.
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
    requests: Requests<T>,
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
        Self { requests: Requests::new(), threads: AtomicU8::new(UNKNOWN) }
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
    /// is kept of any, the call just goes on.
    #[inline(always)]
    pub fn complete<'c>(
        &self,
        call: impl Call<'c>,
        next_f: impl FnOnce() -> CallResult<'c>,
        mut each: impl FnMut(T, Option<&MPI_Status>) -> Option<T>,
    ) -> CallResult<'c> {
        if !call.requests().iter().any(|request| self.requests.may_have(*request)) {
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

    /// What is kept of a request, if it lies in the place that the handle tells.
    #[inline(always)]
    pub(crate) fn hold(&self, request: MPI_Request) -> Option<Held<'_, T>> {
        let handle = request.to_word();
        self.requests.place(handle).hold(handle)
    }

    /// May anything be kept of a request?
    #[inline(always)]
    pub(crate) fn may_have(&self, request: MPI_Request) -> bool {
        self.requests.may_have(request)
    }

    /// May two threads be in MPI at once? If not, a call that completes requests may be passed through
    /// [`complete`](Self::complete) when it is over already. MPI is asked once.
    #[inline(always)]
    pub fn several_threads(&self) -> bool {
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
    use super::{Place, Requests};

    /// As many come out as went in, for requests that are complete from the start: the first one from its place.
    #[test]
    fn requests_that_share_a_handle_are_kept_apart() {
        let kept = Requests::new();
        for i in 0..3 {
            kept.push(7, i);
        }
        kept.push(8, 10);
        assert_eq!([kept.pop(7), kept.pop(8), kept.pop(8)], [Some(0), Some(10), None]);
        kept.push(7, 3);
        assert_eq!([(); 4].map(|()| kept.pop(7)), [Some(3), Some(2), Some(1), None]);
        assert!(kept.others.is_empty());
    }

    /// Many more than there are places, with handles of all kinds, and what is left is dropped once.
    #[test]
    fn whatever_finds_no_place_is_kept_all_the_same() {
        let counted = std::sync::Arc::new(());
        let kept = Requests::new();
        let handles = || (0..2_000_i64).chain((1..2_000).map(|i| 0x7fff_0000_0000 + i * 64));
        handles().for_each(|handle| kept.push(handle, (handle, counted.clone())));
        for handle in handles().filter(|handle| handle % 3 != 0) {
            assert!(kept.may_have(handle));
            assert_eq!(kept.pop(handle).map(|(of, _)| of), Some(handle));
            assert!(kept.pop(handle).is_none());
        }
        let left = handles().filter(|handle| handle % 3 == 0).count();
        assert_eq!(std::sync::Arc::strong_count(&counted), 1 + left);
        drop(kept);
        assert_eq!(std::sync::Arc::strong_count(&counted), 1);
    }

    /// What is held is nobody else's, and there again afterwards; where nothing is, nothing comes of it.
    #[test]
    fn what_is_held_is_there_again_or_has_ended() {
        let place = Place::new();
        assert!(place.hold(7).is_none());
        assert!(place.remove(7).is_none());
        let counted = std::sync::Arc::new(());
        place.put(7, counted.clone()).unwrap();
        assert!(place.hold(8).is_none());
        let held = place.hold(7).unwrap();
        assert!(place.hold(7).is_none() && place.remove(7).is_none());
        assert!(place.put(9, counted.clone()).is_err());
        assert_eq!(std::sync::Arc::strong_count(held.get()), 2);
        drop(held);
        place.hold(7).unwrap().end();
        assert_eq!(std::sync::Arc::strong_count(&counted), 1);
        assert!(place.remove(7).is_none());
        place.put(9, counted).unwrap();
    }

    /// Threads that put in and take out at once, all in the same few places, lose nothing and get nothing twice.
    #[test]
    fn threads_share_places() {
        const THREADS: i64 = 4;
        const ROUNDS: i64 = if cfg!(miri) { 50 } else { 50_000 };
        let kept = Requests::new();
        // Each keeps two things of a handle and takes out one of its neighbour's.
        let work = |thread: i64| {
            let handle = |thread: i64, round: i64| 2 + thread % THREADS + THREADS * (round % 100);
            let mut count = 0;
            for round in 0..ROUNDS {
                let (own, others) = (handle(thread, round), handle(thread + 1, round));
                kept.push(own, Box::new(own));
                kept.push(own, Box::new(own));
                count += 2;
                if let Some(value) = kept.pop(others) {
                    assert_eq!(*value, others);
                    count -= 1;
                }
            }
            count
        };
        let count: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| {
                    scope.spawn({
                        let work = &work;
                        move || work(thread)
                    })
                })
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        let left = (0..1_000).flat_map(|handle| {
            let kept = &kept;
            std::iter::from_fn(move || {
                kept.pop(handle).inspect(|value| assert_eq!(**value, handle))
            })
        });
        assert_eq!(left.count(), count);
    }
}
