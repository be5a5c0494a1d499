//! Requests that are not complete, and locks of windows, in the file.

use core::sync::atomic::{
    AtomicUsize,
    Ordering::{AcqRel, Relaxed, Release},
};

use mpi_facts::watch::{UNKNOWN, full, header, lock, request, slot};
use mpi_tool_layer::mpi_sys::{MPI_LOCK_EXCLUSIVE, MPI_Request, c_int};
use mpi_tool_layer::{Call, FunctionId, Word};

use crate::state::{Slot, Words, file};

/// A request that a call has made.
#[derive(Clone, Copy)]
pub(crate) struct NewRequest {
    /// Its handle.
    pub(crate) handle: u64,
    /// The function's number.
    pub(crate) function: u64,
    /// Is it started by `MPI_Start`?
    pub(crate) is_persistent: bool,
    /// The other rank, as the application has passed it.
    pub(crate) peer: u64,
    /// The tag.
    pub(crate) tag: u64,
    /// The communicator's handle.
    pub(crate) comm: u64,
    /// The call's site.
    pub(crate) site: u64,
    /// The number of the collective operation.
    pub(crate) number: u64,
}

/// How many requests have entries that are not the ones where they are first looked for.
static DISPLACED: AtomicUsize = AtomicUsize::new(0);

/// Are handles `int`s?
const HAS_INT_HANDLES: bool = size_of::<MPI_Request>() == size_of::<i32>();

/// The entry where a request is first looked for.
#[inline(always)]
const fn first_entry(handle: u64) -> usize {
    request::AREA + request::place(handle) * request::LENGTH
}

/// The entries in which a request may be.
#[inline(always)]
fn entries(handle: u64) -> impl Iterator<Item = usize> {
    let first = request::place(handle);
    (first..first + request::REACH)
        .map(|number| request::AREA + number % request::COUNT * request::LENGTH)
}

impl Words {
    /// The entry of a request.
    #[inline(always)]
    fn request(&self, handle: u64) -> Option<usize> {
        entries(handle).find(|at| {
            self.get(at + request::HANDLE) == handle && self.get(at + request::STATE) != 0
        })
    }

    /// Is a handle that of operations that are complete when their functions return?
    #[inline(always)]
    fn is_complete_at_once(&self, handle: u64) -> bool {
        let empty = if HAS_INT_HANDLES { 0 } else { self.get(header::REQUEST_EMPTY) };
        request::is_complete_at_once(handle, HAS_INT_HANDLES, empty)
    }

    /// A request has been made. `is_alone`: by the only thread that calls MPI.
    #[inline(always)]
    pub(crate) fn add_request(&self, new: NewRequest, is_alone: bool) {
        if self.is_complete_at_once(new.handle) {
            return;
        }
        let at = first_entry(new.handle);
        let state = self.word(at + request::STATE);
        // The handle may be elsewhere.
        let is_usual = state.load(Relaxed) == 0 && DISPLACED.load(Relaxed) == 0;
        let is_taken =
            || is_alone || state.compare_exchange(0, request::CLAIMED, AcqRel, Relaxed).is_ok();
        if is_usual && is_taken() {
            self.fill_request(at, &new);
            let kind = if new.is_persistent { request::PERSISTENT } else { request::ACTIVE };
            state.store(new.function << request::FUNCTION_SHIFT | kind, Release);
        } else {
            // Only here is it in memory.
            let copy = new;
            self.add_request_slowly(&copy);
        }
    }

    /// What is kept of a request but for its state.
    #[inline(always)]
    fn fill_request(&self, at: usize, new: &NewRequest) {
        self.set(at + request::HANDLE, new.handle);
        self.set(at + request::PEER, new.peer);
        self.set(at + request::TAG, new.tag);
        self.set(at + request::COMM, new.comm);
        self.set(at + request::SITE, new.site);
        self.set(at + request::NUMBER, new.number);
        if new.is_persistent {
            self.set(at + request::STARTS, 0);
        }
    }

    /// The same of a request that is not put where it is first looked for, or of which that is not known.
    #[cold]
    #[inline(never)]
    fn add_request_slowly(&self, new: &NewRequest) {
        // What had the handle before is gone, whether anybody has seen that or not, or complete like this one.
        let same = self.request(new.handle);
        let is_shared = same.is_some_and(|at| self.get(at + request::STATE) & request::ACTIVE != 0);
        let at = same.or_else(|| {
            entries(new.handle).find(|at| {
                let state = self.word(at + request::STATE);
                state.load(Relaxed) == 0
                    && state.compare_exchange(0, request::CLAIMED, AcqRel, Relaxed).is_ok()
            })
        });
        let Some(at) = at else {
            self.mark_full(full::REQUESTS);
            return;
        };
        self.set(at + request::STATE, request::CLAIMED);
        if same.is_none() && at != first_entry(new.handle) {
            DISPLACED.fetch_add(1, Relaxed);
        }
        self.fill_request(at, new);
        let kind = if new.is_persistent { request::PERSISTENT } else { request::ACTIVE };
        let kind = if is_shared { kind | request::SHARED } else { kind };
        self.set(at + request::STATE, new.function << request::FUNCTION_SHIFT | kind);
    }

    /// A persistent request has been started.
    pub(crate) fn start_request(&self, handle: u64) {
        if let Some(at) = self.request(handle) {
            let starts = self.get(at + request::STARTS);
            self.set(at + request::STARTS, starts.wrapping_add(1));
            let of = self.get(at + request::STATE) >> request::FUNCTION_SHIFT;
            if of == FunctionId::MPI_Psend_init as u64 {
                self.word(at + request::NUMBER).fetch_and(request::PARTITIONS, AcqRel);
            }
            self.word(at + request::STATE).fetch_or(request::ACTIVE, AcqRel);
        }
    }

    /// Parts of a message are ready: several threads may say so at once.
    pub(crate) fn add_ready(&self, handle: u64, parts: u64) {
        if let Some(at) = self.request(handle) {
            self.word(at + request::NUMBER).fetch_add(parts, AcqRel);
        }
    }

    /// A request is complete.
    #[inline(always)]
    pub(crate) fn end_request(&self, handle: u64) {
        if self.is_complete_at_once(handle) {
            return;
        }
        let at = first_entry(handle);
        let state = self.word(at + request::STATE);
        let is_usual = state.load(Relaxed) & request::KIND == request::ACTIVE;
        if is_usual && self.get(at + request::HANDLE) == handle {
            state.store(0, Release);
        } else {
            self.end_request_slowly(handle);
        }
    }

    /// The same of a request that stays, or that is not where it is first looked for.
    #[inline(never)]
    fn end_request_slowly(&self, handle: u64) {
        if let Some(at) = self.request(handle) {
            let state = self.get(at + request::STATE);
            if state & request::PERSISTENT != 0 {
                self.set(at + request::STATE, state & !request::ACTIVE);
            } else {
                self.remove_request(at, handle);
            }
        }
    }

    /// A request has been freed.
    pub(crate) fn free_request(&self, handle: u64) {
        if let Some(at) = self.request(handle) {
            self.remove_request(at, handle);
        }
    }

    fn remove_request(&self, at: usize, handle: u64) {
        self.set(at + request::STATE, 0);
        if at != first_entry(handle) {
            DISPLACED.fetch_sub(1, Relaxed);
        }
    }

    /// This process has locked a window.
    pub(crate) fn add_lock(&self, window: u64, target: u64, is_exclusive: bool, site: u64) {
        for at in (0..lock::COUNT).map(|number| lock::AREA + number * lock::LENGTH) {
            let free = self.word(at + lock::WINDOW);
            if free.compare_exchange(0, u64::MAX, AcqRel, Relaxed).is_ok() {
                self.set(at + lock::TARGET, target);
                self.set(at + lock::EXCLUSIVE, is_exclusive.into());
                self.set(at + lock::SITE, site);
                self.set(at + lock::WINDOW, window);
                return;
            }
        }
        self.mark_full(full::LOCKS);
    }

    /// This process has unlocked a window.
    pub(crate) fn end_lock(&self, window: u64, target: u64) {
        for at in (0..lock::COUNT).map(|number| lock::AREA + number * lock::LENGTH) {
            if self.get(at + lock::WINDOW) == window && self.get(at + lock::TARGET) == target {
                self.set(at + lock::WINDOW, 0);
                return;
            }
        }
    }
}

/// Is the lock that `MPI_Win_lock` wants exclusive?
#[inline(always)]
pub(crate) fn is_exclusive<'c>(call: impl Call<'c>) -> bool {
    let first = call.arguments().next().map_or(0, |(_, word)| word);
    c_int::from_word(first) == MPI_LOCK_EXCLUSIVE
}

/// A window may have been locked or unlocked.
#[inline(always)]
pub(crate) fn note_lock<'c>(call: impl Call<'c>, slot: &Slot) {
    use FunctionId::{MPI_Win_lock, MPI_Win_lock_all, MPI_Win_unlock, MPI_Win_unlock_all};
    let (Some(file), Some(window)) = (file(), call.window()) else { return };
    let window = window.raw().to_word();
    let target = call.destination().map_or(UNKNOWN, |target| target.raw().to_word());
    match call.function() {
        MPI_Win_lock => {
            file.add_lock(window, target, is_exclusive(call), slot.get(slot::SITE));
        }
        MPI_Win_lock_all => file.add_lock(window, target, false, slot.get(slot::SITE)),
        MPI_Win_unlock | MPI_Win_unlock_all => file.end_lock(window, target),
        _ => {}
    }
}
