use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};

use smallvec::SmallVec;
use tool_macros::wraps;

use super::buffer::{BufferMut, RawBuffer, TypedBuffer};
use super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::status::{self, Status};
use super::sys::{self, MPI_Request, MPI_Status, c_int};
use crate::MpiDatatype;

/// Where non-blocking operations may borrow buffers: see [`scope`].
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    requests: Requests,
    // Invariant, as std::thread::Scope is: nobody may make either shorter or longer.
    _scope: PhantomData<&'scope mut &'scope ()>,
    _env: PhantomData<&'env mut &'env ()>,
    // Requests stay on their thread.
    _thread: PhantomData<*const ()>,
}

/// The requests of a scope. They are kept here, and not in what the user has, since that can be
/// forgotten.
#[derive(Debug)]
struct Requests(UnsafeCell<Slab>);

#[derive(Debug)]
struct Slab {
    slots: SmallVec<[Slot; 32]>,
    /// The first free slot, of which each names the next; `NONE` at the end.
    free: u32,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    /// Null where the slot is free.
    raw: MPI_Request,
    /// The next free slot, or what kind of request it is.
    mark: u32,
}

const NONE: u32 = u32::MAX;
/// Not to be cancelled: collective, or of a file or a window.
const LASTING: u32 = u32::MAX - 3;
/// A persistent request that is not started.
const INACTIVE: u32 = u32::MAX - 1;
/// A persistent request that is started.
const ACTIVE: u32 = u32::MAX - 2;

impl Requests {
    #[inline]
    fn insert(&self, slot: Slot) -> u32 {
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
    fn get(&self, index: u32) -> MPI_Request {
        // SAFETY: no other reference to the slab lives meanwhile: a `Requests` stays on its thread, and none of
        // its methods keeps one or calls what could come back here.
        unsafe { &*self.0.get() }.slots[index as usize].raw
    }

    #[inline]
    fn is(&self, index: u32, mark: u32) -> bool {
        // SAFETY: no other reference to the slab lives meanwhile: a `Requests` stays on its thread, and none of
        // its methods keeps one or calls what could come back here.
        unsafe { &*self.0.get() }.slots[index as usize].mark == mark
    }

    #[inline]
    fn set_active(&self, index: u32, active: bool) {
        // SAFETY: no other reference to the slab lives meanwhile: a `Requests` stays on its thread, and none of
        // its methods keeps one or calls what could come back here.
        let slab = unsafe { &mut *self.0.get() };
        slab.slots[index as usize].mark = if active { ACTIVE } else { INACTIVE };
    }

    /// What MPI made of a request. Null is a request that has ended.
    #[inline]
    fn set(&self, index: u32, raw: MPI_Request) {
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
                if matches!(slot.mark, INACTIVE | ACTIVE) {
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
/// Waiting for what nobody answers takes for ever, here as in C.
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
    pub(super) fn new() -> Self {
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
    pub(super) fn finish(&self) {
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
    pub(super) unsafe fn begin<B>(
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
    pub(super) unsafe fn begin_lasting<B>(
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
    pub(super) unsafe fn begin_persistent<B>(
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
    pub(super) unsafe fn begin_persistent_all<B>(
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
pub(super) fn placed<B, R>(
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

/// A non-blocking operation of a [`scope`](scope()), and its buffer until it is complete.
///
/// Dropped or forgotten, it is waited for at the end of the scope; an owned buffer in it is leaked
/// then.
#[derive(Debug)]
// No `must_use`: to begin and to let the scope wait is what a scope is for.
pub struct Request<'scope, B> {
    slab: &'scope Requests,
    slot: u32,
    // MPI uses what a reference in here points to: moving the reference must not claim it.
    buffer: MaybeUninit<B>,
}

/// What a test finds: the operation is complete, or the request is still one.
#[derive(Debug)]
#[must_use = "a pending request is in here"]
pub enum Test<R, D> {
    /// The buffer and the status.
    Complete(D),
    /// The request.
    Pending(R),
}

impl<R, D> Test<R, D> {
    /// What a complete operation gave.
    pub fn complete(self) -> Option<D> {
        match self {
            Self::Complete(done) => Some(done),
            Self::Pending(_) => None,
        }
    }
}

impl<'scope, B> Request<'scope, B> {
    /// Ends the request with what MPI made of it.
    #[inline]
    fn after(&self, raw: MPI_Request) {
        self.slab.set(self.slot, raw);
    }

    #[inline]
    fn take_buffer(self) -> B {
        // SAFETY: `assume_init` asks for a value, which every request is made with. The callers have heard from
        // MPI that the operation has ended, so MPI does not use it any more.
        unsafe { self.buffer.assume_init() }
    }

    /// Waits until the operation is complete. C: `MPI_Wait` with `MPI_STATUS_IGNORE`. Blocks, not
    /// local.
    ///
    /// # Errors
    /// [`TRUNCATE`](ErrorClass::TRUNCATE) if a message was longer than the buffer, and others that MPI
    /// says.
    ///
    /// ```no_run
    /// # fn example(from: rmpi::Process<'_>) -> rmpi::RmpiResult {
    /// let mut numbers = [0.0; 10];
    /// rmpi::scope(|scope| {
    ///     let request = from.irecv(scope, &mut numbers, rmpi::Tag::new(0))?;
    ///     let numbers = request.wait()?;
    ///     println!("{numbers:?}");
    ///     Ok(())
    /// })
    /// # }
    /// ```
    #[wraps(MPI_Wait)]
    pub fn wait(self) -> RmpiResult<B> {
        let mut raw = self.slab.get(self.slot);
        // SAFETY: `MPI_Wait` asks for a request that has not ended, which the slot holds as long as this is a
        // `Request`; the status is ignored.
        let result = check(unsafe { mpi.call(&mut raw, sys::MPI_STATUS_IGNORE) });
        self.after(raw);
        result.map(|()| self.take_buffer())
    }

    /// Waits until the operation is complete, and tells of it. C: `MPI_Wait`. Blocks, not local.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    ///
    /// ```no_run
    /// # fn example(request: rmpi::Request<'_, &mut [f64]>) -> rmpi::RmpiResult {
    /// let (numbers, status) = request.wait_status()?;
    /// println!("{:?} of {}", status.get_count::<f64>()?, numbers.len());
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Wait)]
    pub fn wait_status(self) -> RmpiResult<(B, Status)> {
        let mut raw = self.slab.get(self.slot);
        // SAFETY: `MPI_Wait` asks for a request that has not ended, which the slot holds as long as this is a
        // `Request`. It writes a status to what `output` lends.
        let result = output(status::empty(), |status| unsafe { mpi.call(&mut raw, status) });
        self.after(raw);
        result.map(|status| (self.take_buffer(), Status::from_raw(status)))
    }

    /// Is the operation complete? C: `MPI_Test`. Local.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    ///
    /// ```no_run
    /// # fn example(mut request: rmpi::Request<'_, &mut [f64]>) -> rmpi::RmpiResult {
    /// let numbers = loop {
    ///     match request.test()? {
    ///         rmpi::Test::Complete((numbers, _status)) => break numbers,
    ///         rmpi::Test::Pending(still) => request = still,
    ///     }
    /// };
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Test)]
    pub fn test(self) -> RmpiResult<Test<Self, (B, Status)>> {
        let mut raw = self.slab.get(self.slot);
        // SAFETY: `MPI_Test` asks for a request that has not ended, which the slot holds as long as this is a
        // `Request`. It writes an int and a status to what `output` lends.
        let result = output((0, status::empty()), |(flag, status)| unsafe {
            mpi.call(&mut raw, flag, status)
        });
        if raw == sys::MPI_REQUEST_NULL {
            self.after(raw);
        }
        let (flag, status) = result?;
        Ok(if flag != 0 {
            Test::Complete((self.take_buffer(), Status::from_raw(status)))
        } else {
            Test::Pending(self)
        })
    }

    /// Is the operation complete? The request stays one. C: `MPI_Request_get_status`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(request: &rmpi::Request<'_, &mut [f64]>) -> rmpi::RmpiResult {
    /// println!("{}", request.get_status()?.is_some());
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Request_get_status)]
    pub fn get_status(&self) -> RmpiResult<Option<Status>> {
        let raw = self.slab.get(self.slot);
        // SAFETY: `MPI_Request_get_status` asks for a request that has not ended, which the slot holds as long
        // as this is a `Request`. It writes an int and a status to what `output` lends.
        let (flag, status) =
            output((0, status::empty()), |(flag, status)| unsafe { mpi.call(raw, flag, status) })?;
        Ok((flag != 0).then(|| Status::from_raw(status)))
    }

    /// Asks MPI to cancel the operation, which has to be waited for all the same: the status tells
    /// if it was cancelled. C: `MPI_Cancel`. Local.
    ///
    /// # Errors
    /// [`REQUEST`](ErrorClass::REQUEST) if it is collective, or of a file or a window: MPI cancels only
    /// messages (MPI-5.0, 3.8.4). What MPI says.
    ///
    /// ```no_run
    /// # fn example(mut request: rmpi::Request<'_, &mut [f64]>) -> rmpi::RmpiResult {
    /// request.cancel()?;
    /// let (_numbers, status) = request.wait_status()?;
    /// println!("{}", status.test_cancelled()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Cancel)]
    pub fn cancel(&mut self) -> RmpiResult {
        if self.slab.is(self.slot, LASTING) {
            // Open MPI says that it was cancelled, and then nothing any more.
            return Err(Error::refused(
                ErrorClass::REQUEST,
                "only messages can be cancelled, and this is none",
            ));
        }
        let mut raw = self.slab.get(self.slot);
        // SAFETY: `MPI_Cancel` asks for a message's request that has not ended. The slot holds one that has not
        // as long as this is a `Request`. Other kinds were refused above; of those that came from C, the callers
        // of `adopt` and `OwnedRequest::new` promise that nobody cancels them.
        check(unsafe { mpi.call(&mut raw) })
    }

    /// Lets MPI end the request when the operation is complete, whenever that is.
    /// C: `MPI_Request_free`. Local.
    ///
    /// # Safety
    /// The operation is a message or an access of a file: MPI does not free active requests of collective
    /// operations and windows (MPI-5.0, chapters 6 and 12). The buffer is not touched before the operation is
    /// complete, and its memory lives until then, as does a file that is accessed.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(request: rmpi::Request<'_, &[f64]>) -> rmpi::RmpiResult {
    /// // SAFETY: the receiver answers, and the buffer lives until the answer comes.
    /// unsafe { request.free() }
    /// # }
    /// ```
    #[wraps(MPI_Request_free)]
    pub unsafe fn free(self) -> RmpiResult {
        let mut raw = self.slab.get(self.slot);
        // SAFETY: `MPI_Request_free` asks for a request that has not ended, which the slot holds as long as
        // this is a `Request`. That MPI frees requests of its kind, and that the buffer lives until the
        // operation is complete, the caller promises.
        let result = check(unsafe { mpi.call(&mut raw) });
        if raw == sys::MPI_REQUEST_NULL {
            self.after(raw);
        }
        result
    }

    /// C's handle and the buffer; the scope does not wait for it any more.
    ///
    /// # Safety
    /// The buffer is not touched or dropped before the operation is complete. Until then its memory lives, and
    /// a file or a window that the operation accesses stays.
    pub unsafe fn into_raw(self) -> (MPI_Request, MaybeUninit<B>) {
        let raw = self.slab.get(self.slot);
        self.after(sys::MPI_REQUEST_NULL);
        (raw, self.buffer)
    }

    /// The request without its buffer, which stays borrowed to the end of the scope: for requests of
    /// different buffers in one [`RequestSlice`].
    pub fn without_buffer(self) -> Request<'scope, ()> {
        Request { slab: self.slab, slot: self.slot, buffer: MaybeUninit::new(()) }
    }
}

/// An operation that is complete: which of the slice's, its buffer, and its status.
#[derive(Debug, Clone, Copy)]
pub struct Completed<B> {
    /// The request's place in the slice, which is `None` now.
    pub index: usize,
    /// Its buffer.
    pub buffer: B,
    /// Its status.
    pub status: Status,
}

/// Requests as C's functions for several take them: `None` is `MPI_REQUEST_NULL`,
/// which they make of what is complete.
///
/// ```no_run
/// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
/// use rmpi::{RequestSlice, Tag};
/// let mut blocks = [[0.0; 10]; 3];
/// rmpi::scope(|scope| {
///     let mut requests = [const { None }; 3];
///     for (rank, (block, request)) in blocks.iter_mut().zip(&mut requests).enumerate() {
///         *request = Some(world.process(rank).irecv(scope, block, Tag::new(0))?);
///     }
///     while let Some(done) = RequestSlice::new(&mut requests).waitany()? {
///         println!("{} has arrived: {:?}", done.index, done.buffer);
///     }
///     Ok(())
/// })
/// # }
/// ```
///
/// Operations whose buffers moved in go in such a slice, too, and come back from it with their buffers:
///
/// ```no_run
/// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
/// use rmpi::{RequestSlice, Tag};
/// let mut requests = Vec::new();
/// for rank in 0..world.size()? {
///     requests.push(Some(world.process(rank).irecv_owned(vec![0.0; 10], Tag::new(0))?));
/// }
/// while let Some(done) = RequestSlice::new(&mut requests).waitany()? {
///     let numbers: Vec<f64> = done.buffer;
///     println!("{} has arrived: {numbers:?}", done.index);
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct RequestSlice<'a, R>(&'a mut [Option<R>]);

/// What a [`RequestSlice`] has: [`Request`] or [`OwnedRequest`].
pub trait Pending: sealed::Pending {}

mod sealed {
    use super::MPI_Request;

    pub trait Pending {
        type Buffer;
        fn handle(&self) -> MPI_Request;
        /// The buffer of what MPI has ended.
        fn ended(self) -> Self::Buffer;
    }
}

impl<B> Pending for Request<'_, B> {}
impl<B> sealed::Pending for Request<'_, B> {
    type Buffer = B;
    #[inline]
    fn handle(&self) -> MPI_Request {
        self.slab.get(self.slot)
    }
    #[inline]
    fn ended(self) -> B {
        self.after(sys::MPI_REQUEST_NULL);
        self.take_buffer()
    }
}

impl<B> Pending for OwnedRequest<'_, B> {}
impl<B> sealed::Pending for OwnedRequest<'_, B> {
    type Buffer = B;
    #[inline]
    fn handle(&self) -> MPI_Request {
        self.raw
    }
    #[inline]
    fn ended(self) -> B {
        self.take_buffer()
    }
}

/// C's array of the requests.
type Raw = SmallVec<[MPI_Request; 16]>;
type RawStatuses = SmallVec<[MPI_Status; 16]>;

impl<'a, R: Pending> RequestSlice<'a, R> {
    /// The slice as one of requests.
    pub const fn new(requests: &'a mut [Option<R>]) -> Self {
        Self(requests)
    }

    fn raw(&self) -> RmpiResult<(Raw, c_int)> {
        let raw: Raw = self
            .0
            .iter()
            .map(|request| match request {
                Some(request) => request.handle(),
                None => sys::MPI_REQUEST_NULL,
            })
            .collect();
        let count = c_int::try_from(raw.len()).map_err(|_| too_many())?;
        Ok((raw, count))
    }

    /// Notes what MPI made of a request; what has ended gives its buffer, if all went well.
    fn after(&mut self, index: usize, raw: MPI_Request) -> Option<R::Buffer> {
        if raw != sys::MPI_REQUEST_NULL {
            return None;
        }
        self.0[index].take().map(sealed::Pending::ended)
    }

    /// What ended without a buffer to give: an operation that failed.
    fn after_error(&mut self, raw: &[MPI_Request]) {
        for (index, raw) in raw.iter().enumerate() {
            drop(self.after(index, *raw));
        }
    }

    /// Waits until one of them is complete; `None` if all were. C: `MPI_Waitany`. Blocks, not local.
    ///
    /// # Errors
    /// As [`Request::wait`].
    ///
    /// ```no_run
    /// # fn example(requests: &mut [Option<rmpi::Request<'_, &mut [f64]>>]) -> rmpi::RmpiResult {
    /// while let Some(done) = rmpi::RequestSlice::new(requests).waitany()? {
    ///     println!("{}: {:?}", done.index, done.buffer);
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Waitany)]
    pub fn waitany(&mut self) -> RmpiResult<Option<Completed<R::Buffer>>> {
        let (mut raw, count) = self.raw()?;
        // SAFETY: `MPI_Waitany` asks for `count` requests that are null or have not ended: `raw` has so many,
        // which the slice's requests hold. It writes an index and a status to what `output` lends.
        let result = output((0, status::empty()), |(index, status)| unsafe {
            mpi.call(count, raw.as_mut_ptr(), index, status)
        });
        self.completed(&raw, result)
    }

    fn completed(
        &mut self,
        raw: &[MPI_Request],
        result: RmpiResult<(c_int, MPI_Status)>,
    ) -> RmpiResult<Option<Completed<R::Buffer>>> {
        match result {
            Ok((index, status)) => {
                // MPI_UNDEFINED is negative.
                let Ok(index) = usize::try_from(index) else { return Ok(None) };
                let Some(raw) = raw.get(index) else { return Ok(None) };
                let buffer = self.after(index, *raw);
                let status = Status::from_raw(status);
                Ok(buffer.map(|buffer| Completed { index, buffer, status }))
            }
            Err(error) => {
                self.after_error(raw);
                Err(error)
            }
        }
    }

    /// Is one of them complete? `Some(None)` if all were. C: `MPI_Testany`. Local.
    ///
    /// # Errors
    /// As [`Request::wait`].
    ///
    /// ```no_run
    /// # fn example(requests: &mut [Option<rmpi::Request<'_, &mut [f64]>>]) -> rmpi::RmpiResult {
    /// if let Some(Some(done)) = rmpi::RequestSlice::new(requests).testany()? {
    ///     println!("{}: {:?}", done.index, done.buffer);
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Testany)]
    #[allow(clippy::option_option, reason = "nothing yet, or nothing any more")]
    pub fn testany(&mut self) -> RmpiResult<Option<Option<Completed<R::Buffer>>>> {
        let (mut raw, count) = self.raw()?;
        let mut flag = 0;
        // SAFETY: `MPI_Testany` asks for `count` requests that are null or have not ended: `raw` has so many,
        // which the slice's requests hold. It writes an index, a flag and a status to variables of these types.
        let result = output((0, status::empty()), |(index, status)| unsafe {
            mpi.call(count, raw.as_mut_ptr(), index, &mut flag, status)
        });
        if result.is_ok() && flag == 0 {
            return Ok(None);
        }
        self.completed(&raw, result).map(Some)
    }

    /// Waits until all are complete. C: `MPI_Waitall` with `MPI_STATUSES_IGNORE`. Blocks, not local.
    ///
    /// # Errors
    /// [`IN_STATUS`](ErrorClass::IN_STATUS) if an operation failed; what is still pending stays in
    /// the slice.
    ///
    /// ```no_run
    /// # fn example(requests: &mut [Option<rmpi::Request<'_, &mut [f64]>>]) -> rmpi::RmpiResult {
    /// rmpi::RequestSlice::new(requests).waitall()
    /// # }
    /// ```
    #[wraps(MPI_Waitall)]
    pub fn waitall(&mut self) -> RmpiResult {
        let (mut raw, count) = self.raw()?;
        // SAFETY: `MPI_Waitall` asks for `count` requests that are null or have not ended: `raw` has so many,
        // which the slice's requests hold. The statuses are ignored.
        let result = check(unsafe { mpi.call(count, raw.as_mut_ptr(), sys::MPI_STATUSES_IGNORE) });
        self.after_error(&raw);
        result
    }

    /// Waits until all are complete, and gives buffers and statuses. C: `MPI_Waitall`. Blocks, not
    /// local.
    ///
    /// # Errors
    /// The error of the first operation that failed; what is still pending stays in the slice.
    ///
    /// ```no_run
    /// # fn example(requests: &mut [Option<rmpi::Request<'_, &mut [f64]>>]) -> rmpi::RmpiResult {
    /// for done in rmpi::RequestSlice::new(requests).waitall_status()? {
    ///     println!("{}: {:?} from {:?}", done.index, done.buffer, done.status.source());
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Waitall)]
    pub fn waitall_status(&mut self) -> RmpiResult<Vec<Completed<R::Buffer>>> {
        let (mut raw, count) = self.raw()?;
        let mut statuses: RawStatuses = raw.iter().map(|_| status::empty()).collect();
        // SAFETY: `MPI_Waitall` asks for `count` requests that are null or have not ended: `raw` has so many,
        // which the slice's requests hold. It writes as many statuses, for which there is room.
        let result = check(unsafe { mpi.call(count, raw.as_mut_ptr(), statuses.as_mut_ptr()) });
        self.all_completed(&raw, &statuses, result)
    }

    fn all_completed(
        &mut self,
        raw: &[MPI_Request],
        statuses: &[MPI_Status],
        result: RmpiResult,
    ) -> RmpiResult<Vec<Completed<R::Buffer>>> {
        if let Err(error) = result {
            self.after_error(raw);
            return Err(first_error(statuses, error));
        }
        let mut completed = Vec::with_capacity(raw.len());
        for (index, (raw, status)) in raw.iter().zip(statuses).enumerate() {
            if let Some(buffer) = self.after(index, *raw) {
                completed.push(Completed { index, buffer, status: Status::from_raw(*status) });
            }
        }
        Ok(completed)
    }

    /// Are all complete? C: `MPI_Testall`. Local.
    ///
    /// # Errors
    /// As [`waitall_status`](Self::waitall_status).
    ///
    /// ```no_run
    /// # fn example(requests: &mut [Option<rmpi::Request<'_, &mut [f64]>>]) -> rmpi::RmpiResult {
    /// while rmpi::RequestSlice::new(requests).testall()?.is_none() {
    ///     // Something useful.
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Testall)]
    pub fn testall(&mut self) -> RmpiResult<Option<Vec<Completed<R::Buffer>>>> {
        let (mut raw, count) = self.raw()?;
        let mut statuses: RawStatuses = raw.iter().map(|_| status::empty()).collect();
        let mut flag = 0;
        // SAFETY: `MPI_Testall` asks for `count` requests that are null or have not ended: `raw` has so many,
        // which the slice's requests hold. It writes a flag and as many statuses, for which there is room.
        let result =
            check(unsafe { mpi.call(count, raw.as_mut_ptr(), &mut flag, statuses.as_mut_ptr()) });
        if result.is_ok() && flag == 0 {
            return Ok(None);
        }
        self.all_completed(&raw, &statuses, result).map(Some)
    }

    /// Waits until some are complete; none if all were. C: `MPI_Waitsome`. Blocks, not local.
    ///
    /// # Errors
    /// As [`waitall_status`](Self::waitall_status).
    ///
    /// ```no_run
    /// # fn example(requests: &mut [Option<rmpi::Request<'_, &mut [f64]>>]) -> rmpi::RmpiResult {
    /// for done in rmpi::RequestSlice::new(requests).waitsome()? {
    ///     println!("{}: {:?}", done.index, done.buffer);
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Waitsome)]
    pub fn waitsome(&mut self) -> RmpiResult<Vec<Completed<R::Buffer>>> {
        let (mut raw, count) = self.raw()?;
        let mut statuses: RawStatuses = raw.iter().map(|_| status::empty()).collect();
        let mut indices: SmallVec<[c_int; 16]> = raw.iter().map(|_| 0).collect();
        // SAFETY: `MPI_Waitsome` asks for `count` requests that are null or have not ended: `raw` has so many,
        // which the slice's requests hold. It writes at most as many indices and statuses, for which there is
        // room, and how many they are.
        let result = output(0, |done| unsafe {
            let (indices, statuses) = (indices.as_mut_ptr(), statuses.as_mut_ptr());
            mpi.call(count, raw.as_mut_ptr(), done, indices, statuses)
        });
        self.some_completed(&raw, &statuses, &indices, result)
    }

    /// Which are complete? C: `MPI_Testsome`. Local.
    ///
    /// # Errors
    /// As [`waitall_status`](Self::waitall_status).
    ///
    /// ```no_run
    /// # fn example(requests: &mut [Option<rmpi::Request<'_, &mut [f64]>>]) -> rmpi::RmpiResult {
    /// for done in rmpi::RequestSlice::new(requests).testsome()? {
    ///     println!("{}: {:?}", done.index, done.buffer);
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Testsome)]
    pub fn testsome(&mut self) -> RmpiResult<Vec<Completed<R::Buffer>>> {
        let (mut raw, count) = self.raw()?;
        let mut statuses: RawStatuses = raw.iter().map(|_| status::empty()).collect();
        let mut indices: SmallVec<[c_int; 16]> = raw.iter().map(|_| 0).collect();
        // SAFETY: `MPI_Testsome` asks for `count` requests that are null or have not ended: `raw` has so many,
        // which the slice's requests hold. It writes at most as many indices and statuses, for which there is
        // room, and how many they are.
        let result = output(0, |done| unsafe {
            let (indices, statuses) = (indices.as_mut_ptr(), statuses.as_mut_ptr());
            mpi.call(count, raw.as_mut_ptr(), done, indices, statuses)
        });
        self.some_completed(&raw, &statuses, &indices, result)
    }

    fn some_completed(
        &mut self,
        raw: &[MPI_Request],
        statuses: &[MPI_Status],
        indices: &[c_int],
        result: RmpiResult<c_int>,
    ) -> RmpiResult<Vec<Completed<R::Buffer>>> {
        let count = match result {
            Ok(count) => count,
            Err(error) => {
                self.after_error(raw);
                return Err(first_error(statuses, error));
            }
        };
        // MPI_UNDEFINED is negative: there was nothing to wait for.
        let count = usize::try_from(count).unwrap_or(0);
        let mut completed = Vec::with_capacity(count);
        for (index, status) in indices.iter().zip(statuses).take(count) {
            let index = index.unsigned_abs() as usize;
            if let Some(buffer) = raw.get(index).and_then(|raw| self.after(index, *raw)) {
                completed.push(Completed { index, buffer, status: Status::from_raw(*status) });
            }
        }
        Ok(completed)
    }
}

fn too_many() -> Error {
    Error::refused(ErrorClass::COUNT, "more requests than an int counts")
}

/// The error in the statuses, where the result says that there is one.
fn first_error(statuses: &[MPI_Status], error: Error) -> Error {
    if error.class() != ErrorClass::IN_STATUS {
        return error;
    }
    statuses
        .iter()
        // SAFETY: `from_raw` asks for a code that MPI gave: MPI wrote this one, or it is still the 0 of
        // `status::empty`, which is `MPI_SUCCESS`.
        .filter_map(|status| unsafe { Error::from_raw(status.MPI_ERROR) })
        .find(|error| error.class() != ErrorClass::PENDING)
        .unwrap_or(error)
}

/// A non-blocking operation whose buffer moved in, and comes back when it is complete.
///
/// Dropped, it is waited for. Forgotten, or dropped by a panic, it leaks the buffer, so that MPI never
/// uses memory of others.
#[derive(Debug)]
#[must_use = "it is waited for when it is dropped"]
pub struct OwnedRequest<'c, B> {
    raw: MPI_Request,
    buffer: MaybeUninit<B>,
    // Its communicator lives; and it stays on its thread.
    _communicator: PhantomData<(&'c (), *const ())>,
}

impl<'c, B> OwnedRequest<'c, B> {
    /// Begins an operation on a buffer, which is dropped if that fails.
    ///
    /// # Safety
    /// `call` begins an operation or returns an error code. The operation uses no other memory than what `raw`
    /// gives. That is the buffer's, stays where it is when the buffer moves, and is valid as long as the buffer
    /// exists, also if it is leaked. MPI runs for `'c`.
    #[inline]
    pub(super) unsafe fn begin(
        buffer: B,
        raw: impl FnOnce(&mut B) -> RmpiResult<RawBuffer>,
        call: impl FnOnce(RawBuffer, &mut MPI_Request) -> c_int,
    ) -> RmpiResult<Self> {
        // In its place before MPI has its address: moving a box claims what is in it.
        let mut this = Self {
            raw: sys::MPI_REQUEST_NULL,
            buffer: MaybeUninit::new(buffer),
            _communicator: PhantomData,
        };
        // SAFETY: `assume_init_mut` asks for a value, which `buffer` was just made of. MPI does not use it yet.
        let raw = raw(unsafe { this.buffer.assume_init_mut() })?;
        this.raw = output(sys::MPI_REQUEST_NULL, |request| call(raw, request))?;
        Ok(this)
    }

    /// A request of C, with the buffer that it uses.
    ///
    /// # Safety
    /// `raw` is an active request that is not persistent, and nobody else ends it. MPI uses no other memory for
    /// it than what the buffer owns, which stays where it is when the buffer moves. If the operation is no
    /// message, nobody [cancels](Request::cancel) it. MPI runs for `'c`, and this thread may call it.
    pub unsafe fn new(raw: MPI_Request, buffer: B) -> Self {
        Self { raw, buffer: MaybeUninit::new(buffer), _communicator: PhantomData }
    }

    /// C's handle and the buffer, which nobody waits for any more.
    ///
    /// # Safety
    /// The buffer is not touched or dropped before the operation is complete.
    pub unsafe fn into_raw(self) -> (MPI_Request, MaybeUninit<B>) {
        let this = ManuallyDrop::new(self);
        // SAFETY: `read` asks for a value that is not used twice: `this` is neither used nor dropped any more.
        (this.raw, unsafe { core::ptr::read(&this.buffer) })
    }

    /// The request as one of a scope, with others in a [`RequestSlice`].
    pub fn into_scope<'scope>(self, scope: &'scope Scope<'scope, '_>) -> Request<'scope, B>
    where
        'c: 'scope,
    {
        // SAFETY: `into_raw` asks that nobody touches the buffer before the operation is complete: the request
        // has it and gives it out only then, and the scope keeps the handle and waits.
        let (raw, buffer) = unsafe { self.into_raw() };
        let slot = scope.requests.insert(Slot { raw, mark: NONE });
        Request { slab: &scope.requests, slot, buffer }
    }

    /// Waits until the operation is complete, and gives the buffer back. C: `MPI_Wait`. Blocks, not
    /// local.
    ///
    /// # Errors
    /// As [`Request::wait`]; the buffer is dropped then.
    ///
    /// ```no_run
    /// # fn example(from: rmpi::Process<'_>) -> rmpi::RmpiResult {
    /// let request = from.irecv_owned(vec![0.0; 10], rmpi::Tag::new(0))?;
    /// let (numbers, status) = request.wait()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Wait)]
    pub fn wait(mut self) -> RmpiResult<(B, Status)> {
        // SAFETY: `MPI_Wait` asks for a request that has not ended, which `self.raw` is: what ends it consumes
        // `self`. It writes a status to what `output` lends.
        let status = output(status::empty(), |status| unsafe { mpi.call(&mut self.raw, status) })?;
        Ok((self.take_buffer(), Status::from_raw(status)))
    }

    fn take_buffer(self) -> B {
        // SAFETY: `into_raw` asks that the operation is complete before the buffer is touched, which the
        // callers have heard from MPI; `assume_init` asks for a value, which every request is made with.
        unsafe { self.into_raw().1.assume_init() }
    }

    /// Is the operation complete? C: `MPI_Test`. Local.
    ///
    /// # Errors
    /// As [`Request::wait`]; the buffer is dropped then.
    ///
    /// ```no_run
    /// # fn example(request: rmpi::OwnedRequest<'_, Vec<f64>>) -> rmpi::RmpiResult {
    /// match request.test()? {
    ///     rmpi::Test::Complete((numbers, _status)) => println!("{numbers:?}"),
    ///     rmpi::Test::Pending(request) => drop(request),
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Test)]
    pub fn test(mut self) -> RmpiResult<Test<Self, (B, Status)>> {
        // SAFETY: `MPI_Test` asks for a request that has not ended, which `self.raw` is: what ends it consumes
        // `self`. It writes an int and a status to what `output` lends.
        let (flag, status) = output((0, status::empty()), |(flag, status)| unsafe {
            mpi.call(&mut self.raw, flag, status)
        })?;
        Ok(if flag != 0 {
            Test::Complete((self.take_buffer(), Status::from_raw(status)))
        } else {
            Test::Pending(self)
        })
    }

    /// Asks MPI to cancel the operation, which has to be waited for all the same. C: `MPI_Cancel`.
    /// Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(mut request: rmpi::OwnedRequest<'_, Vec<f64>>) -> rmpi::RmpiResult {
    /// request.cancel()?;
    /// let (_numbers, status) = request.wait()?;
    /// println!("{}", status.test_cancelled()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Cancel)]
    pub fn cancel(&mut self) -> RmpiResult {
        // SAFETY: `MPI_Cancel` asks for a message's request that has not ended. What ends it consumes `self`,
        // and only messages use `begin`; `new`'s caller promises that nobody cancels another kind.
        check(unsafe { mpi.call(&mut self.raw) })
    }
}

/// A buffer that is here, or away with an operation: for an operation that begins under a condition and
/// is waited for under another one, or for the buffer at any time.
///
/// ```no_run
/// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
/// use rmpi::{Lent, Tag};
/// let mut numbers = Lent::from(vec![1.0; 100]);
/// if world.rank()? == 0 {
///     numbers = numbers.lend(|numbers| world.process(1).isend_owned(numbers, Tag::new(0)))?;
/// }
/// // Whatever needs no numbers.
/// let (mut numbers, _status) = numbers.wait()?;
/// numbers[0] = 2.0;
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "an operation may be in here"]
pub enum Lent<'c, B> {
    /// The buffer.
    Here(B),
    /// The operation that has it.
    Away(OwnedRequest<'c, B>),
}

impl<B> From<B> for Lent<'_, B> {
    fn from(buffer: B) -> Self {
        Self::Here(buffer)
    }
}

impl<'c, B> Lent<'c, B> {
    /// Begins an operation, after waiting for the one before.
    ///
    /// # Errors
    /// Those of that operation, and of [`wait`](Self::wait); the buffer is dropped then.
    ///
    /// ```no_run
    /// # fn example(to: rmpi::Process<'_>) -> rmpi::RmpiResult {
    /// let mut numbers = rmpi::Lent::from(vec![1.0; 100]);
    /// for _ in 0..10 {
    ///     numbers = numbers.lend(|numbers| to.isend_owned(numbers, rmpi::Tag::new(0)))?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn lend(
        self,
        begin: impl FnOnce(B) -> RmpiResult<OwnedRequest<'c, B>>,
    ) -> RmpiResult<Self> {
        begin(self.wait()?.0).map(Self::Away)
    }

    /// The buffer, once no operation has it any more, and the operation's status, if there was one.
    /// C: `MPI_Wait`, unless the buffer is here. Blocks, not local.
    ///
    /// # Errors
    /// As [`OwnedRequest::wait`].
    ///
    /// ```no_run
    /// # fn example(numbers: rmpi::Lent<'_, Vec<f64>>) -> rmpi::RmpiResult {
    /// let (numbers, _status) = numbers.wait()?;
    /// # Ok(()) }
    /// ```
    pub fn wait(self) -> RmpiResult<(B, Option<Status>)> {
        match self {
            Self::Here(buffer) => Ok((buffer, None)),
            Self::Away(request) => request.wait().map(|(buffer, status)| (buffer, Some(status))),
        }
    }

    /// Is the buffer here, or does it come back now? C: `MPI_Test`, unless it is here. Local.
    ///
    /// # Errors
    /// As [`OwnedRequest::test`].
    ///
    /// ```no_run
    /// # fn example(mut numbers: rmpi::Lent<'_, Vec<f64>>) -> rmpi::RmpiResult {
    /// while numbers.get().is_none() {
    ///     numbers = numbers.test()?;
    /// }
    /// # Ok(()) }
    /// ```
    pub fn test(self) -> RmpiResult<Self> {
        match self {
            Self::Away(request) => Ok(match request.test()? {
                Test::Complete((buffer, _)) => Self::Here(buffer),
                Test::Pending(request) => Self::Away(request),
            }),
            here => Ok(here),
        }
    }

    /// The buffer, if it is here.
    pub const fn get(&self) -> Option<&B> {
        match self {
            Self::Here(buffer) => Some(buffer),
            Self::Away(_) => None,
        }
    }

    /// The buffer, if it is here.
    pub const fn get_mut(&mut self) -> Option<&mut B> {
        match self {
            Self::Here(buffer) => Some(buffer),
            Self::Away(_) => None,
        }
    }
}

impl<B> Drop for OwnedRequest<'_, B> {
    fn drop(&mut self) {
        if self.raw != sys::MPI_REQUEST_NULL {
            if std::thread::panicking() {
                return;
            }
            // SAFETY: `MPI_Wait` asks for a request that has not ended: MPI makes null of one that has, and
            // this is not. MPI runs for `'c`.
            unsafe { sys::MPI_Wait(&mut self.raw, sys::MPI_STATUS_IGNORE) };
        }
        if self.raw == sys::MPI_REQUEST_NULL {
            // SAFETY: `assume_init_drop` asks for a value that nobody uses afterwards: every request is made
            // with one, which only `into_raw` takes out, without a drop. The request is null, so MPI does not
            // use it any more.
            unsafe { self.buffer.assume_init_drop() };
        }
    }
}

/// An operation that can be started often (MPI-5.0, 3.9), with its buffer, which is accessible between
/// a wait and a start. The scope frees it.
#[derive(Debug)]
pub struct PersistentRequest<'scope, B> {
    slab: &'scope Requests,
    slot: u32,
    pub(super) buffer: MaybeUninit<B>,
}

impl<B> PersistentRequest<'_, B> {
    pub(super) fn is_active(&self) -> bool {
        self.slab.is(self.slot, ACTIVE)
    }

    /// Starts the operation. C: `MPI_Start`. Local.
    ///
    /// # Errors
    /// [`REQUEST`](ErrorClass::REQUEST) if it was started and not waited for; what MPI says.
    ///
    /// ```no_run
    /// # fn example(mut request: rmpi::PersistentRequest<'_, &mut [f64]>) -> rmpi::RmpiResult {
    /// request.start()?;
    /// request.wait()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Start)]
    pub fn start(&mut self) -> RmpiResult {
        if self.is_active() {
            return Err(started());
        }
        let mut raw = self.slab.get(self.slot);
        // SAFETY: `MPI_Start` asks for an inactive persistent request, whose buffer nobody uses until it is
        // complete. The slot holds such a request until `free`, it was found inactive above, and an active one
        // gives nobody its buffer.
        check(unsafe { mpi.call(&mut raw) })?;
        self.slab.set_active(self.slot, true);
        Ok(())
    }

    /// Starts several. C: `MPI_Startall`. Local.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    ///
    /// ```no_run
    /// # fn example(requests: &mut [rmpi::PersistentRequest<'_, &mut [f64]>]) -> rmpi::RmpiResult {
    /// rmpi::PersistentRequest::startall(requests)?;
    /// for request in requests {
    ///     request.wait()?;
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Startall in Self)]
    pub fn startall(requests: &mut [Self]) -> RmpiResult {
        if requests.iter().any(|request| request.is_active()) {
            return Err(started());
        }
        let mut raw: Raw = requests.iter().map(|request| request.slab.get(request.slot)).collect();
        let count = c_int::try_from(raw.len()).map_err(|_| too_many())?;
        // Whatever fails: some may have been started.
        for request in requests {
            request.slab.set_active(request.slot, true);
        }
        // SAFETY: `MPI_Startall` asks for `count` inactive persistent requests, whose buffers nobody uses until
        // they are complete. `raw` has so many, which were found inactive above, and active ones give nobody
        // their buffers.
        check(unsafe { mpi.call(count, raw.as_mut_ptr()) })
    }

    /// Waits until the operation is complete. C: `MPI_Wait`. Blocks, not local.
    ///
    /// # Errors
    /// As [`Request::wait`]; [`REQUEST`](ErrorClass::REQUEST) if it is not started.
    ///
    /// ```no_run
    /// # fn example(mut request: rmpi::PersistentRequest<'_, &mut [f64]>) -> rmpi::RmpiResult {
    /// request.start()?;
    /// let status = request.wait()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Wait)]
    pub fn wait(&mut self) -> RmpiResult<Status> {
        if !self.is_active() {
            return Err(not_started());
        }
        let mut raw = self.slab.get(self.slot);
        // SAFETY: `MPI_Wait` asks for a request that was not freed, which the slot holds until `free`. It
        // writes a status to what `output` lends.
        let status = output(status::empty(), |status| unsafe { mpi.call(&mut raw, status) })?;
        self.slab.set_active(self.slot, false);
        Ok(Status::from_raw(status))
    }

    /// Is the operation complete? C: `MPI_Test`. Local.
    ///
    /// # Errors
    /// As [`Request::wait`].
    ///
    /// ```no_run
    /// # fn example(mut request: rmpi::PersistentRequest<'_, &mut [f64]>) -> rmpi::RmpiResult {
    /// request.start()?;
    /// while request.test()?.is_none() {}
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Test)]
    pub fn test(&mut self) -> RmpiResult<Option<Status>> {
        if !self.is_active() {
            return Err(not_started());
        }
        let mut raw = self.slab.get(self.slot);
        // SAFETY: `MPI_Test` asks for a request that was not freed, which the slot holds until `free`. It
        // writes an int and a status to what `output` lends.
        let (flag, status) = output((0, status::empty()), |(flag, status)| unsafe {
            mpi.call(&mut raw, flag, status)
        })?;
        if flag == 0 {
            return Ok(None);
        }
        self.slab.set_active(self.slot, false);
        Ok(Some(Status::from_raw(status)))
    }

    /// The buffer's elements, while the operation is not started.
    pub fn buffer(&self) -> Option<&[B::Element]>
    where
        B: TypedBuffer,
    {
        if self.is_active() {
            return None;
        }
        // SAFETY: `from_raw_parts` asks for so many values that nobody writes to while the slice lives. The
        // buffer, which is a value since the request was made, promises them as a `TypedBuffer`. MPI does not
        // use them while the request is inactive, and to start it takes `&mut self`.
        Some(unsafe {
            let (pointer, length) = self.buffer.assume_init_ref().as_elements();
            core::slice::from_raw_parts(pointer, length)
        })
    }

    /// The buffer's elements, while the operation is not started.
    pub fn buffer_mut(&mut self) -> Option<&mut [B::Element]>
    where
        B: TypedBuffer<Element: MpiDatatype> + BufferMut,
    {
        if self.is_active() {
            return None;
        }
        // SAFETY: `from_raw_parts_mut` asks for so many values that nobody else uses while the slice lives. The
        // buffer, which is a value since the request was made, promises them as a `TypedBuffer`, and as a
        // `BufferMut` that nobody else has access. MPI does not use them while the request is inactive, and
        // `self` is borrowed. The elements, and not the buffer, since another buffer must not take its place.
        unsafe {
            let buffer = self.buffer.assume_init_mut();
            let length = buffer.as_elements().1;
            let pointer = buffer.as_raw_mut().ok()?.pointer.cast();
            Some(core::slice::from_raw_parts_mut(pointer, length))
        }
    }

    /// Frees the request and gives the buffer back. C: `MPI_Request_free`. Local.
    ///
    /// # Errors
    /// [`REQUEST`](ErrorClass::REQUEST) if it was started and not waited for; what MPI says.
    ///
    /// ```no_run
    /// # fn example(request: rmpi::PersistentRequest<'_, Vec<f64>>) -> rmpi::RmpiResult {
    /// let numbers: Vec<f64> = request.free()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Request_free)]
    pub fn free(self) -> RmpiResult<B> {
        if self.is_active() {
            return Err(started());
        }
        let mut raw = self.slab.get(self.slot);
        // SAFETY: `MPI_Request_free` asks for a request that was not freed, which the slot holds until it is
        // set to null below. It was found inactive above.
        check(unsafe { mpi.call(&mut raw) })?;
        self.slab.set(self.slot, sys::MPI_REQUEST_NULL);
        // SAFETY: `assume_init` asks for a value, which every request is made with. The request was inactive
        // and is freed, so MPI does not use it.
        Ok(unsafe { self.buffer.assume_init() })
    }
}

fn not_started() -> Error {
    Error::refused(ErrorClass::REQUEST, "the operation was not started")
}

fn started() -> Error {
    Error::refused(ErrorClass::REQUEST, "the operation was started, and not waited for")
}
