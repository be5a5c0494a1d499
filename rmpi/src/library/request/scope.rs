//! Where requests are kept: the scope of non-blocking operations.

use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::mem::MaybeUninit;

use smallvec::SmallVec;

use super::super::buffer::RawBuffer;
use super::super::error::{RmpiResult, output};
use super::super::sys::{self, MPI_Request, c_int};
use super::{PersistentRequest, Request};

/// Where non-blocking operations may borrow buffers: [`rmpi::scope`](scope()) gives one to a function, and waits at the
/// end for what the function has begun. If the compiler misses an argument of this type, the call belongs into such a
/// function.
///
/// ```no_run
/// # fn example(left: rmpi::Process<'_>) -> rmpi::RmpiResult {
/// let mut theirs = [0.0; 10];
/// rmpi::scope(|scope| left.irecv(scope, &mut theirs, rmpi::Tag::new(0)).map(drop))?;
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    pub(super) requests: Requests,
    // Invariant, as std::thread::Scope is: nobody may make either shorter or longer.
    _scope: PhantomData<&'scope mut &'scope ()>,
    _env: PhantomData<&'env mut &'env ()>,
    // Requests stay on their thread.
    _thread: PhantomData<*const ()>,
}

/// The requests of a scope. They are kept here, and not in what the user has, since that can be
/// forgotten.
#[derive(Debug)]
pub(super) struct Requests(UnsafeCell<Slab>);

#[derive(Debug)]
pub(super) struct Slab {
    slots: SmallVec<[Slot; 32]>,
    /// The first free slot, of which each names the next; `NONE` at the end.
    free: u32,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Slot {
    /// Null where the slot is free.
    pub(super) raw: MPI_Request,
    /// The next free slot, or what kind of request it is.
    pub(super) mark: u32,
}

pub(super) const NONE: u32 = u32::MAX;
/// Not to be cancelled: collective, or of a file or a window.
pub(super) const LASTING: u32 = u32::MAX - 3;
/// A persistent request that is not started.
pub(super) const INACTIVE: u32 = u32::MAX - 1;
/// A persistent request that is started.
pub(super) const ACTIVE: u32 = u32::MAX - 2;
/// MPI freed it, and somebody still has its slot.
const GONE: u32 = u32::MAX - 4;

impl Requests {
    #[inline]
    pub(super) fn insert(&self, slot: Slot) -> u32 {
        // SAFETY: a `&mut` asks that no other reference to the slab lives meanwhile. A `Requests` is not `Sync`
        // and so stays on its thread, and none of its methods keeps a reference or calls what could come back
        // here.
        let slab = unsafe { &mut *self.0.get() };
        let index = slab.free;
        if let Some(free) = slab.slots.get_mut(index as usize) {
            slab.free = free.mark;
            *free = slot;
            return index;
        }
        slab.slots.push(slot);
        (slab.slots.len() - 1) as u32
    }

    #[inline]
    pub(super) fn get(&self, index: u32) -> MPI_Request {
        // SAFETY: no other reference to the slab lives meanwhile: a `Requests` stays on its thread, and none of
        // its methods keeps one or calls what could come back here.
        unsafe { &*self.0.get() }.slots[index as usize].raw
    }

    #[inline]
    pub(super) fn is(&self, index: u32, mark: u32) -> bool {
        // SAFETY: no other reference to the slab lives meanwhile: a `Requests` stays on its thread, and none of
        // its methods keeps one or calls what could come back here.
        unsafe { &*self.0.get() }.slots[index as usize].mark == mark
    }

    #[inline]
    pub(super) fn set_active(&self, index: u32, active: bool) {
        // SAFETY: no other reference to the slab lives meanwhile: a `Requests` stays on its thread, and none of
        // its methods keeps one or calls what could come back here.
        let slab = unsafe { &mut *self.0.get() };
        slab.slots[index as usize].mark = if active { ACTIVE } else { INACTIVE };
    }

    /// What MPI made of a request whose slot somebody keeps, whatever else it says: a null one has ended, and its
    /// buffer is no longer in use. Some MPIs free persistent requests when their operation has failed.
    #[inline]
    pub(super) fn keep(&self, index: u32, raw: MPI_Request) {
        // SAFETY: no other reference to the slab lives meanwhile: a `Requests` stays on its thread, and none of
        // its methods keeps one or calls what could come back here.
        let slab = unsafe { &mut *self.0.get() };
        let slot = &mut slab.slots[index as usize];
        slot.raw = raw;
        if raw == sys::MPI_REQUEST_NULL {
            slot.mark = GONE;
        }
    }

    /// What MPI made of a request whose slot nobody keeps. Null is a request that has ended.
    #[inline]
    pub(super) fn set(&self, index: u32, raw: MPI_Request) {
        // SAFETY: no other reference to the slab lives meanwhile: a `Requests` stays on its thread, and none of
        // its methods keeps one or calls what could come back here.
        let slab = unsafe { &mut *self.0.get() };
        let slot = &mut slab.slots[index as usize];
        slot.raw = raw;
        if raw == sys::MPI_REQUEST_NULL {
            slot.mark = slab.free;
            slab.free = index;
        }
    }
}

/// The end of a scope. The slab's drop and not the scope's, which cannot have one, since it is borrowed
/// for as long as it lives.
impl Drop for Slab {
    fn drop(&mut self) {
        for slot in &mut self.slots {
            if slot.raw == sys::MPI_REQUEST_NULL {
                continue;
            }
            // SAFETY: both functions ask for a request that MPI has not freed: a slot that is not null holds
            // one, since whoever ends a request sets its slot to null. MPI runs: what the requests were begun
            // with outlives the scope.
            unsafe {
                // MPICH 4.0 waits for ever for a persistent collective that was never started.
                if slot.mark != INACTIVE {
                    sys::MPI_Wait(&mut slot.raw, sys::MPI_STATUS_IGNORE);
                }
                // Some MPIs have freed it already, if the operation has failed.
                if matches!(slot.mark, INACTIVE | ACTIVE) && slot.raw != sys::MPI_REQUEST_NULL {
                    sys::MPI_Request_free(&mut slot.raw);
                }
            }
            if slot.raw != sys::MPI_REQUEST_NULL {
                // MPI would go on writing to memory that is another's from now on.
                eprintln!("rmpi: MPI_Wait did not end a request of a scope that ends; aborting");
                std::process::abort();
            }
        }
    }
}

/// Runs a function that may begin non-blocking operations on borrowed buffers, and waits for those
/// that it left, be they dropped, forgotten, or left by a panic.
///
/// As with [`std::thread::scope`], what is borrowed lives longer than the scope: buffers and
/// communicators are made outside. [`Request::wait`] gives the buffer back, for the next operation of
/// the same scope.
///
/// What is begun need not be waited for by name: a request that is dropped is waited for at the end. A closure that
/// ends with `Ok(())` says of which type its result is: `|scope| -> RmpiResult { … }`.
///
/// Waiting for what nobody answers takes for ever, here as in C.
///
/// A request that has to outlive the function that begins it, in a structure or as a result, needs no scope, but a buffer
/// that moves in: `isend_owned`, `irecv_owned` ([`OwnedRequest`](super::OwnedRequest)), and for the same messages again
/// and again `send_init_owned`, `recv_init_owned` ([`OwnedPersistentRequest`](super::OwnedPersistentRequest)).
///
/// ```no_run
/// # fn example(left: rmpi::Process<'_>, right: rmpi::Process<'_>) -> rmpi::RmpiResult {
/// let mine = [1.0; 100];
/// let mut theirs = [0.0; 100];
/// rmpi::scope(|scope| {
///     let receive = left.irecv(scope, &mut theirs, rmpi::Tag::new(0))?;
///     right.isend(scope, &mine, rmpi::Tag::new(0))?.wait()?;
///     let theirs = receive.wait()?;
///     println!("{}", theirs[0]);
///     Ok(())
/// })
/// # }
/// ```
#[inline]
pub fn scope<'env, F, T>(f: F) -> T
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
{
    let scope = Scope::new();
    // The drop of its slab waits, also when the function panics.
    f(&scope)
}

impl<'scope> Scope<'scope, '_> {
    #[inline]
    pub(in super::super) fn new() -> Self {
        let slab = Slab { slots: SmallVec::new(), free: NONE };
        Self {
            requests: Requests(UnsafeCell::new(slab)),
            _scope: PhantomData,
            _env: PhantomData,
            _thread: PhantomData,
        }
    }

    /// Waits for what is left, before the scope ends.
    #[inline]
    pub(in super::super) fn finish(&self) {
        // SAFETY: no other reference to the slab lives meanwhile: the scope stays on its thread, and no method
        // of `Requests` keeps one. The old slab's drop, which calls MPI, comes after the last use of this one.
        let slab = unsafe { &mut *self.requests.0.get() };
        if !slab.slots.is_empty() {
            drop(core::mem::replace(slab, Slab { slots: SmallVec::new(), free: NONE }));
        }
    }

    /// A request of C, with the buffer that it uses.
    ///
    /// # Safety
    /// `raw` is an active request that is not persistent, and nobody else ends it. MPI uses no other memory for
    /// it than the buffer's and what is static; the buffer's stays where it is when the buffer moves, and is
    /// valid for `'scope`, also if the buffer is leaked. If the operation is no message, nobody
    /// [cancels](Request::cancel) it. MPI runs for `'scope`, and this thread may call it.
    #[inline]
    pub unsafe fn adopt<B>(&'scope self, raw: MPI_Request, buffer: B) -> Request<'scope, B> {
        let slot = self.requests.insert(Slot { raw, mark: NONE });
        Request { slab: &self.requests, slot, buffer: MaybeUninit::new(buffer) }
    }

    /// Begins an operation on a buffer, which is dropped if that fails.
    ///
    /// # Safety
    /// `call` begins an operation or returns an error code. The operation uses no other memory than what `raw`
    /// gives and what is static. What `raw` gives is the buffer's, stays where it is when the buffer moves, and
    /// is valid for `'scope`, also if the buffer is leaked. MPI runs for `'scope`.
    #[inline]
    pub(in super::super) unsafe fn begin<B>(
        &'scope self,
        buffer: B,
        raw: impl FnOnce(&mut B) -> RmpiResult<RawBuffer>,
        call: impl FnOnce(RawBuffer, &mut MPI_Request) -> c_int,
    ) -> RmpiResult<Request<'scope, B>> {
        let (request, buffer) = placed(buffer, |buffer| {
            let raw = raw(buffer)?;
            output(sys::MPI_REQUEST_NULL, |request| call(raw, request))
        })?;
        let slot = self.requests.insert(Slot { raw: request, mark: NONE });
        Ok(Request { slab: &self.requests, slot, buffer })
    }

    /// As [`begin`](Self::begin), of an operation that MPI cannot cancel: a collective one, or one of a file or
    /// a window. `call` begins it.
    ///
    /// # Safety
    /// As for [`begin`](Self::begin), of the memory that `call` gives to MPI. What else the operation uses,
    /// such as a file or a reduction operation, outlives `'scope`.
    #[inline]
    pub(in super::super) unsafe fn begin_lasting<B>(
        &'scope self,
        buffer: B,
        call: impl FnOnce(&mut B) -> RmpiResult<MPI_Request>,
    ) -> RmpiResult<Request<'scope, B>> {
        let (raw, buffer) = placed(buffer, call)?;
        let slot = self.requests.insert(Slot { raw, mark: LASTING });
        Ok(Request { slab: &self.requests, slot, buffer })
    }

    /// As [`begin`](Self::begin), of a persistent operation, which the scope frees.
    ///
    /// # Safety
    /// As for [`begin`](Self::begin), for each start. The request is persistent and inactive.
    #[inline]
    pub(in super::super) unsafe fn begin_persistent<B>(
        &'scope self,
        buffer: B,
        raw: impl FnOnce(&mut B) -> RmpiResult<RawBuffer>,
        call: impl FnOnce(RawBuffer, &mut MPI_Request) -> c_int,
    ) -> RmpiResult<PersistentRequest<'scope, B>> {
        // SAFETY: `begin_persistent_all` asks for what this function asks for, which the caller promises: what
        // it calls does what `raw` and `call` do.
        unsafe {
            self.begin_persistent_all(buffer, |buffer| {
                let raw = raw(buffer)?;
                output(sys::MPI_REQUEST_NULL, |request| call(raw, request))
            })
        }
    }

    /// As [`begin_persistent`](Self::begin_persistent), of several buffers. `call` prepares the operation.
    ///
    /// # Safety
    /// As for [`begin_persistent`](Self::begin_persistent), of the memory that `call` gives to MPI.
    #[inline]
    pub(in super::super) unsafe fn begin_persistent_all<B>(
        &'scope self,
        buffer: B,
        call: impl FnOnce(&mut B) -> RmpiResult<MPI_Request>,
    ) -> RmpiResult<PersistentRequest<'scope, B>> {
        let (raw, buffer) = placed(buffer, call)?;
        let slot = self.requests.insert(Slot { raw, mark: INACTIVE });
        Ok(PersistentRequest { slab: &self.requests, slot, buffer })
    }

    /// A persistent request of C, inactive, with the buffer that it uses.
    ///
    /// # Safety
    /// As for [`adopt`](Self::adopt), for each start, but that the request is persistent and inactive.
    pub unsafe fn adopt_persistent<B>(
        &'scope self,
        raw: MPI_Request,
        buffer: B,
    ) -> PersistentRequest<'scope, B> {
        let slot = self.requests.insert(Slot { raw, mark: INACTIVE });
        let buffer = MaybeUninit::new(buffer);
        PersistentRequest { slab: &self.requests, slot, buffer }
    }
}

/// Puts a buffer where it stays, and begins an operation on it; drops it if that fails.
///
/// MPI gets the address of what the buffer owns only when the buffer is a `MaybeUninit`: moving a `Box`
/// says that nobody else uses what is in it, and moving a `MaybeUninit` of one does not.
#[inline]
pub(in super::super) fn placed<B, R>(
    buffer: B,
    begin: impl FnOnce(&mut B) -> RmpiResult<R>,
) -> RmpiResult<(R, MaybeUninit<B>)> {
    let mut buffer = MaybeUninit::new(buffer);
    // SAFETY: `assume_init_mut` asks for a value, which `buffer` was just made of. MPI does not use it yet, so
    // that a reference may claim it.
    match begin(unsafe { buffer.assume_init_mut() }) {
        Ok(request) => Ok((request, buffer)),
        Err(error) => {
            // SAFETY: `assume_init_drop` asks for a value that nobody uses afterwards: `buffer` was made of
            // one, and ends here. No operation began, so MPI does not use it.
            unsafe { buffer.assume_init_drop() };
            Err(error)
        }
    }
}
