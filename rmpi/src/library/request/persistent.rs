//! Requests that are started often.

use core::mem::MaybeUninit;

use rmpi_macros::wraps;

use super::super::buffer::{BufferMut, TypedBuffer};
use super::super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::super::status::{self, Status};
use super::super::sys::{self, c_int};
use super::scope::{ACTIVE, Requests};
use super::set::{Raw, too_many};
use crate::MpiDatatype;

/// An operation that can be started often (MPI-5.0, 3.9), with its buffer, which is accessible between
/// a wait and a start. The scope frees it.
#[derive(Debug)]
pub struct PersistentRequest<'scope, B> {
    pub(super) slab: &'scope Requests,
    pub(super) slot: u32,
    pub(in super::super) buffer: MaybeUninit<B>,
}

impl<B> PersistentRequest<'_, B> {
    pub(in super::super) fn is_active(&self) -> bool {
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
    /// As [`Request::wait`](super::Request::wait); [`REQUEST`](ErrorClass::REQUEST) if it is not started.
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
    /// As [`Request::wait`](super::Request::wait).
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
