//! One request of a scope.

use core::mem::MaybeUninit;

use rmpi_macros::wraps;

use super::super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::super::status::{self, Status};
use super::super::sys::{self, MPI_Request};
use super::scope::{LASTING, Requests};

/// A non-blocking operation of a [`scope`](super::scope()), and its buffer until it is complete.
///
/// Dropped or forgotten, it is waited for at the end of the scope; an owned buffer in it is leaked
/// then.
///
/// It cannot leave its scope, nor be kept in a structure that lives longer: the compiler says that a lifetime may not live
/// long enough, or that borrowed data escapes. What is to be kept moves its buffer in: an
/// [`OwnedRequest`](super::OwnedRequest) of `isend_owned` or `irecv_owned`, or for the same messages step after step an
/// [`OwnedPersistentRequest`](super::OwnedPersistentRequest) of `send_init_owned` or `recv_init_owned`.
#[derive(Debug)]
// No `must_use`: to begin and to let the scope wait is what a scope is for.
pub struct Request<'scope, B> {
    pub(super) slab: &'scope Requests,
    pub(super) slot: u32,
    // MPI uses what a reference in here points to: moving the reference must not claim it.
    pub(super) buffer: MaybeUninit<B>,
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
    pub(super) fn after(&self, raw: MPI_Request) {
        self.slab.set(self.slot, raw);
    }

    #[inline]
    pub(super) fn take_buffer(self) -> B {
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
        // SAFETY: `from_raw` asks for a status that MPI wrote, as it has where it has not failed.
        result.map(|status| (self.take_buffer(), unsafe { Status::from_raw(status) }))
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
        // Null: it has ended, and nobody has its slot any more.
        self.after(raw);
        let (flag, status) = result?;
        Ok(if flag != 0 || raw == sys::MPI_REQUEST_NULL {
            // SAFETY: `from_raw` asks for a status that MPI wrote, as it has, since the operation is complete.
            Test::Complete((self.take_buffer(), unsafe { Status::from_raw(status) }))
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
        // SAFETY: `from_raw` asks for a status that MPI wrote, as it has where the operation is complete.
        Ok((flag != 0).then(|| unsafe { Status::from_raw(status) }))
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
        let result = check(unsafe { mpi.call(&mut raw) });
        self.slab.keep(self.slot, raw);
        result
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
        self.after(raw);
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
    /// different buffers in one [`RequestSlice`](super::RequestSlice). An [`Exchange`](super::Exchange) gives the buffers
    /// back.
    pub fn without_buffer(self) -> Request<'scope, ()> {
        Request { slab: self.slab, slot: self.slot, buffer: MaybeUninit::new(()) }
    }
}
