//! Requests that are started often, and whose buffers moved in.

use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};

use rmpi_macros::wraps;

use super::super::buffer::{BufferMut, RawBuffer, TypedBuffer};
use super::super::error::{RmpiResult, check, output};
use super::super::status::{self, Status};
use super::super::sys::{self, MPI_Request, c_int};
use super::persistent::{may_start, not_started, started};
use super::set::{Raw, too_many};
use crate::MpiDatatype;

/// A message that can be sent or received often (MPI-5.0, 3.9), and its buffer, which moved in: what a structure keeps
/// that exchanges the same messages step after step. It borrows nothing but the communicator, and needs no scope.
///
/// The buffer's elements are accessible between a wait and a start. Dropped, a request that was started is waited for.
/// Forgotten, or dropped by a panic, it leaks the buffer, so that MPI never uses memory of others.
///
/// ```no_run
/// use rmpi::{OwnedPersistentRequest, Process, RmpiResult, Tag};
///
/// /// The outer cells of a process's neighbours.
/// struct Halo<'c> {
///     // To the left, to the right, from the left, from the right.
///     messages: [OwnedPersistentRequest<'c, Vec<f64>>; 4],
/// }
///
/// impl<'c> Halo<'c> {
///     fn new(left: Process<'c>, right: Process<'c>, length: usize) -> RmpiResult<Self> {
///         let cells = vec![0.0; length];
///         Ok(Self {
///             messages: [
///                 left.send_init_owned(cells.clone(), Tag::new(0))?,
///                 right.send_init_owned(cells.clone(), Tag::new(1))?,
///                 left.recv_init_owned(cells.clone(), Tag::new(1))?,
///                 right.recv_init_owned(cells, Tag::new(0))?,
///             ],
///         })
///     }
///
///     fn exchange(&mut self, mine: [&[f64]; 2]) -> RmpiResult<[&[f64]; 2]> {
///         for (message, mine) in self.messages.iter_mut().zip(mine) {
///             message.buffer_mut()?.copy_from_slice(mine);
///         }
///         OwnedPersistentRequest::startall(&mut self.messages)?;
///         // What needs no cells of the neighbours.
///         OwnedPersistentRequest::waitall(&mut self.messages)?;
///         Ok([self.messages[2].buffer()?, self.messages[3].buffer()?])
///     }
/// }
/// ```
#[derive(Debug)]
#[must_use = "it is freed when it is dropped"]
pub struct OwnedPersistentRequest<'c, B> {
    /// A persistent request, or null where MPI has freed it.
    raw: MPI_Request,
    /// Was it started, and has MPI not said that it is complete?
    active: bool,
    // MPI uses what it owns: moving it must not claim that.
    buffer: MaybeUninit<B>,
    // Its communicator lives; and it stays on its thread.
    _communicator: PhantomData<(&'c (), *const ())>,
}

impl<B> OwnedPersistentRequest<'_, B> {
    /// Prepares an operation on a buffer, which is dropped if that fails.
    ///
    /// # Safety
    /// `call` makes a persistent request of a message, which is inactive, or returns an error code. Each start uses
    /// no other memory than what `raw` gives. That is the buffer's, stays where it is when the buffer moves, and is
    /// valid as long as the buffer exists, also if it is leaked. MPI runs for `'c`.
    #[inline]
    pub(in super::super) unsafe fn begin(
        buffer: B,
        raw: impl FnOnce(&mut B) -> RmpiResult<RawBuffer>,
        call: impl FnOnce(RawBuffer, &mut MPI_Request) -> c_int,
    ) -> RmpiResult<Self> {
        // In its place before MPI has its address, as with `OwnedRequest`.
        let mut this = Self {
            raw: sys::MPI_REQUEST_NULL,
            active: false,
            buffer: MaybeUninit::new(buffer),
            _communicator: PhantomData,
        };
        // SAFETY: `assume_init_mut` asks for a value, which `buffer` was just made of. MPI does not use it yet.
        let raw = raw(unsafe { this.buffer.assume_init_mut() })?;
        this.raw = output(sys::MPI_REQUEST_NULL, |request| call(raw, request))?;
        Ok(this)
    }

    /// Starts the operation. C: `MPI_Start`. Local.
    ///
    /// # Errors
    /// [`REQUEST`](super::super::ErrorClass::REQUEST) if it was started and not waited for, or if MPI has freed it, as Open MPI
    /// does when its operation has failed; what MPI says.
    ///
    /// ```no_run
    /// # fn example(to: rmpi::Process<'_>) -> rmpi::RmpiResult {
    /// let mut request = to.send_init_owned(vec![0.0; 10], rmpi::Tag::new(0))?;
    /// request.start()?;
    /// request.wait()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Start)]
    pub fn start(&mut self) -> RmpiResult {
        may_start(self.active, self.raw)?;
        // SAFETY: `MPI_Start` asks for an inactive persistent request, whose buffer nobody uses until it is complete:
        // this one is neither active nor freed, as was looked at above, and an active one gives nobody its buffer.
        check(unsafe { mpi.call(&mut self.raw) })?;
        self.active = true;
        Ok(())
    }

    /// Starts several. C: `MPI_Startall`. Local.
    ///
    /// # Errors
    /// As [`start`](Self::start). What MPI may have started counts as started then.
    ///
    /// ```no_run
    /// # fn example(requests: &mut [rmpi::OwnedPersistentRequest<'_, Vec<f64>>]) -> rmpi::RmpiResult {
    /// rmpi::OwnedPersistentRequest::startall(requests)?;
    /// rmpi::OwnedPersistentRequest::waitall(requests)
    /// # }
    /// ```
    #[wraps(MPI_Startall in Self)]
    pub fn startall(requests: &mut [Self]) -> RmpiResult {
        requests.iter().try_for_each(|request| may_start(request.active, request.raw))?;
        let mut raw: Raw = requests.iter().map(|request| request.raw).collect();
        let count = c_int::try_from(raw.len()).map_err(|_| too_many())?;
        // SAFETY: `MPI_Startall` asks for `count` inactive persistent requests, whose buffers nobody uses until they
        // are complete: `raw` has so many, which are neither active nor freed, as was looked at above, and active ones
        // give nobody their buffers.
        let result = check(unsafe { mpi.call(count, raw.as_mut_ptr()) });
        for (request, raw) in requests.iter_mut().zip(raw) {
            // Whatever failed: some may have been started.
            (request.raw, request.active) = (raw, raw != sys::MPI_REQUEST_NULL);
        }
        result
    }

    /// Waits until the operation is complete. C: `MPI_Wait`. Blocks, not local.
    ///
    /// # Errors
    /// As [`Request::wait`](super::Request::wait); [`REQUEST`](super::super::ErrorClass::REQUEST) if it is not started. After
    /// another error it is freed, as Open MPI does, or still counts as started: a second call says.
    ///
    /// ```no_run
    /// # fn example(request: &mut rmpi::OwnedPersistentRequest<'_, Vec<f64>>) -> rmpi::RmpiResult {
    /// request.start()?;
    /// let status = request.wait()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Wait)]
    pub fn wait(&mut self) -> RmpiResult<Status> {
        if !self.active {
            return Err(not_started());
        }
        // SAFETY: `MPI_Wait` asks for a request that was not freed, which an active one was not. It writes a status to
        // what `output` lends.
        let result = output(status::empty(), |status| unsafe { mpi.call(&mut self.raw, status) });
        self.active = result.is_err() && self.raw != sys::MPI_REQUEST_NULL;
        // SAFETY: `from_raw` asks for a status that MPI wrote, as it has where it has not failed.
        result.map(|status| unsafe { Status::from_raw(status) })
    }

    /// Waits until all are complete that were started. C: `MPI_Waitall` with `MPI_STATUSES_IGNORE`. Blocks, not local.
    ///
    /// # Errors
    /// [`IN_STATUS`](super::super::ErrorClass::IN_STATUS) if an operation failed. All that MPI has not freed count as started then:
    /// [`wait`](Self::wait) says of each.
    ///
    /// ```no_run
    /// # fn example(requests: &mut [rmpi::OwnedPersistentRequest<'_, Vec<f64>>]) -> rmpi::RmpiResult {
    /// rmpi::OwnedPersistentRequest::waitall(requests)?;
    /// println!("{:?}", requests[0].buffer()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Waitall in Self)]
    pub fn waitall(requests: &mut [Self]) -> RmpiResult {
        // MPI would wait for an inactive one, too, which it takes for complete; what is null it leaves.
        let raw = requests
            .iter()
            .map(|request| if request.active { request.raw } else { sys::MPI_REQUEST_NULL });
        let mut raw: Raw = raw.collect();
        let count = c_int::try_from(raw.len()).map_err(|_| too_many())?;
        // SAFETY: `MPI_Waitall` asks for `count` requests that are null or were not freed: `raw` has so many, and an
        // active one was not freed. The statuses are ignored.
        let result = check(unsafe { mpi.call(count, raw.as_mut_ptr(), sys::MPI_STATUSES_IGNORE) });
        for (request, raw) in requests.iter_mut().zip(raw) {
            if request.active {
                request.raw = raw;
                request.active = result.is_err() && raw != sys::MPI_REQUEST_NULL;
            }
        }
        result
    }

    /// Is the operation complete? C: `MPI_Test`. Local.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    ///
    /// ```no_run
    /// # fn example(request: &mut rmpi::OwnedPersistentRequest<'_, Vec<f64>>) -> rmpi::RmpiResult {
    /// request.start()?;
    /// while request.test()?.is_none() {}
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Test)]
    pub fn test(&mut self) -> RmpiResult<Option<Status>> {
        if !self.active {
            return Err(not_started());
        }
        // SAFETY: `MPI_Test` asks for a request that was not freed, which an active one was not. It writes an int and a
        // status to what `output` lends.
        let result = output((0, status::empty()), |(flag, status)| unsafe {
            mpi.call(&mut self.raw, flag, status)
        });
        let complete = result.as_ref().is_ok_and(|(flag, _)| *flag != 0);
        self.active = !complete && self.raw != sys::MPI_REQUEST_NULL;
        let (_, status) = result?;
        // SAFETY: `from_raw` asks for a status that MPI wrote, as it has where the operation is complete.
        Ok(complete.then(|| unsafe { Status::from_raw(status) }))
    }

    /// Was it started, and has nothing said that it is complete?
    pub const fn is_active(&self) -> bool {
        self.active
    }

    /// The buffer's elements, while the operation is not started.
    ///
    /// # Errors
    /// [`REQUEST`](super::super::ErrorClass::REQUEST) if it was started and not waited for.
    pub fn buffer(&self) -> RmpiResult<&[B::Element]>
    where
        B: TypedBuffer,
    {
        if self.active {
            return Err(started());
        }
        // SAFETY: `from_raw_parts` asks for so many values that nobody writes to while the slice lives. The
        // buffer, which is a value since the request was made, promises them as a `TypedBuffer`. MPI does not
        // use them while the request is inactive, and to start it takes `&mut self`.
        Ok(unsafe {
            let (pointer, length) = self.buffer.assume_init_ref().as_elements();
            core::slice::from_raw_parts(pointer, length)
        })
    }

    /// The buffer's elements, to change them, while the operation is not started.
    ///
    /// # Errors
    /// [`REQUEST`](super::super::ErrorClass::REQUEST) if it was started and not waited for.
    pub fn buffer_mut(&mut self) -> RmpiResult<&mut [B::Element]>
    where
        B: TypedBuffer<Element: MpiDatatype> + BufferMut,
    {
        if self.active {
            return Err(started());
        }
        // SAFETY: `from_raw_parts_mut` asks for so many values that nobody else uses while the slice lives. The
        // buffer, which is a value since the request was made, promises them as a `TypedBuffer`, and as a
        // `BufferMut` that nobody else has access. MPI does not use them while the request is inactive, and
        // `self` is borrowed. The elements, and not the buffer, since another buffer must not take its place.
        unsafe {
            let buffer = self.buffer.assume_init_mut();
            let length = buffer.as_elements().1;
            let pointer = buffer.as_raw_mut()?.pointer.cast();
            Ok(core::slice::from_raw_parts_mut(pointer, length))
        }
    }

    /// Frees the request and gives the buffer back. C: `MPI_Request_free`. Local.
    ///
    /// # Errors
    /// [`REQUEST`](super::super::ErrorClass::REQUEST) if it was started and not waited for, which is then waited for, as by a drop;
    /// what MPI says, and the buffer is leaked.
    ///
    /// ```no_run
    /// # fn example(request: rmpi::OwnedPersistentRequest<'_, Vec<f64>>) -> rmpi::RmpiResult {
    /// let numbers: Vec<f64> = request.free()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Request_free)]
    pub fn free(self) -> RmpiResult<B> {
        if self.active {
            return Err(started());
        }
        let mut this = ManuallyDrop::new(self);
        if this.raw != sys::MPI_REQUEST_NULL {
            // SAFETY: `MPI_Request_free` asks for a request that was not freed, as MPI would have made null of it.
            check(unsafe { mpi.call(&mut this.raw) })?;
        }
        // SAFETY: `assume_init_read` asks for a value that is not used twice: every request is made with one, and `this`
        // is neither used nor dropped any more. The request was inactive and is freed, so MPI does not use it.
        Ok(unsafe { this.buffer.assume_init_read() })
    }
}

impl<B> Drop for OwnedPersistentRequest<'_, B> {
    fn drop(&mut self) {
        if self.active {
            if std::thread::panicking() {
                return;
            }
            // The first call tells an operation's error, and the second that it has ended.
            for _ in 0..2 {
                // SAFETY: `MPI_Wait` asks for a request that was not freed, which an active one was not. MPI runs for `'c`.
                let code = unsafe { sys::MPI_Wait(&mut self.raw, sys::MPI_STATUS_IGNORE) };
                self.active = code != sys::MPI_SUCCESS && self.raw != sys::MPI_REQUEST_NULL;
                if !self.active {
                    break;
                }
            }
        }
        if self.active {
            // MPI may go on using the buffer, which is leaked.
            return;
        }
        if self.raw != sys::MPI_REQUEST_NULL {
            // SAFETY: `MPI_Request_free` asks for a request that was not freed, as MPI would have made null of it. MPI
            // runs for `'c`.
            unsafe { sys::MPI_Request_free(&mut self.raw) };
        }
        // SAFETY: `assume_init_drop` asks for a value that nobody uses afterwards: every request is made with one, which
        // only `free` takes out, without a drop. The request is inactive, so MPI does not use it.
        unsafe { self.buffer.assume_init_drop() };
    }
}
