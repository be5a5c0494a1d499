//! Requests whose buffers moved in.

use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};

use rmpi_macros::wraps;

use super::super::buffer::RawBuffer;
use super::super::error::{RmpiResult, check, output};
use super::super::status::{self, Status};
use super::super::sys::{self, MPI_Request, c_int};
use super::scope::{NONE, Slot};
use super::{Request, Scope, Test};

/// A non-blocking operation whose buffer moved in, and comes back when it is complete.
///
/// Dropped, it is waited for. Forgotten, or dropped by a panic, it leaks the buffer, so that MPI never
/// uses memory of others.
#[derive(Debug)]
#[must_use = "it is waited for when it is dropped"]
pub struct OwnedRequest<'c, B> {
    pub(super) raw: MPI_Request,
    pub(super) buffer: MaybeUninit<B>,
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
    pub(in super::super) unsafe fn begin(
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
    /// message, nobody [cancels](Request::cancel) it, or makes a [future](super::RequestFuture) of it, whose drop does. MPI
    /// runs for `'c`, and this thread may call it.
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

    /// The request as one of a scope, with others in a [`RequestSlice`](super::RequestSlice).
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
        // SAFETY: `from_raw` asks for a status that MPI wrote, as it has, since it has not failed.
        Ok((self.take_buffer(), unsafe { Status::from_raw(status) }))
    }

    pub(super) fn take_buffer(self) -> B {
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
            // SAFETY: `from_raw` asks for a status that MPI wrote, as it has, since the operation is complete.
            Test::Complete((self.take_buffer(), unsafe { Status::from_raw(status) }))
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
