//! Requests that are started often.

use core::mem::MaybeUninit;

use rmpi_macros::wraps;

use super::super::buffer::{BufferMut, TypedBuffer};
use super::super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::super::status::{self, Status};
use super::super::sys::{self, MPI_Request, c_int};
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
    /// [`REQUEST`](ErrorClass::REQUEST) if it was started and not waited for, or if MPI has freed it, as Open MPI
    /// does when its operation has failed; what MPI says.
    ///
    /// ```no_run
    /// # fn example(mut request: rmpi::PersistentRequest<'_, &mut [f64]>) -> rmpi::RmpiResult {
    /// request.start()?;
    /// request.wait()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Start)]
    pub fn start(&mut self) -> RmpiResult {
        self.may_start()?;
        let mut raw = self.slab.get(self.slot);
        // SAFETY: `MPI_Start` asks for an inactive persistent request, whose buffer nobody uses until it is
        // complete. The slot holds such a request, since it was found inactive and not freed above, and an active
        // one gives nobody its buffer.
        let result = check(unsafe { mpi.call(&mut raw) });
        // Open MPI takes another request where it still has to do with the last message of this one.
        self.slab.keep(self.slot, raw);
        result?;
        self.slab.set_active(self.slot, true);
        Ok(())
    }

    /// Refuses what is started, or what MPI has freed.
    fn may_start(&self) -> RmpiResult {
        may_start(self.is_active(), self.slab.get(self.slot))
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
        requests.iter().try_for_each(Self::may_start)?;
        let mut raw: Raw = requests.iter().map(|request| request.slab.get(request.slot)).collect();
        let count = c_int::try_from(raw.len()).map_err(|_| too_many())?;
        // SAFETY: `MPI_Startall` asks for `count` inactive persistent requests, whose buffers nobody uses until
        // they are complete. `raw` has so many, which were found inactive and not freed above, and active ones give
        // nobody their buffers.
        let result = check(unsafe { mpi.call(count, raw.as_mut_ptr()) });
        for (request, raw) in requests.iter().zip(raw) {
            // Whatever failed: some may have been started.
            request.slab.set_active(request.slot, true);
            request.slab.keep(request.slot, raw);
        }
        result
    }

    /// Waits until the operation is complete. C: `MPI_Wait`. Blocks, not local.
    ///
    /// # Errors
    /// As [`Request::wait`](super::Request::wait); [`REQUEST`](ErrorClass::REQUEST) if it is not started. After
    /// another error it is freed, as Open MPI does, or still counts as started: a second call says.
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
        let result = output(status::empty(), |status| unsafe { mpi.call(&mut raw, status) });
        self.slab.keep(self.slot, raw);
        let status = result?;
        self.ended();
        // SAFETY: `from_raw` asks for a status that MPI wrote, as it has, since it has not failed.
        Ok(unsafe { Status::from_raw(status) })
    }

    /// It is complete, and MPI has not failed: it is as before the start, unless MPI has freed it.
    fn ended(&self) {
        if self.slab.get(self.slot) != sys::MPI_REQUEST_NULL {
            self.slab.set_active(self.slot, false);
        }
    }

    /// Is the operation complete? C: `MPI_Test`. Local.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
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
        let result = output((0, status::empty()), |(flag, status)| unsafe {
            mpi.call(&mut raw, flag, status)
        });
        self.slab.keep(self.slot, raw);
        let (flag, status) = result?;
        if flag == 0 {
            return Ok(None);
        }
        self.ended();
        // SAFETY: `from_raw` asks for a status that MPI wrote, as it has, since the operation is complete.
        Ok(Some(unsafe { Status::from_raw(status) }))
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
    /// [`REQUEST`](ErrorClass::REQUEST) if it was started and not waited for; what MPI says. The scope frees it then,
    /// and the buffer is leaked.
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
        let result = if raw == sys::MPI_REQUEST_NULL {
            // MPI has freed it, when its operation failed.
            Ok(())
        } else {
            // SAFETY: `MPI_Request_free` asks for a request that was not freed, which the slot holds: it is not
            // null. It was found inactive above.
            check(unsafe { mpi.call(&mut raw) })
        };
        // Nobody has the slot after this. What MPI did not free, the end of the scope frees.
        self.slab.set(self.slot, if result.is_ok() { sys::MPI_REQUEST_NULL } else { raw });
        result?;
        // SAFETY: `assume_init` asks for a value, which every request is made with. The request was inactive
        // and is freed, so MPI does not use it.
        Ok(unsafe { self.buffer.assume_init() })
    }
}

pub(in super::super) fn not_started() -> Error {
    Error::refused(ErrorClass::REQUEST, "the operation was not started")
}

/// Refuses to start what is started, or what MPI has freed.
pub(in super::super) fn may_start(is_active: bool, raw: MPI_Request) -> RmpiResult {
    if is_active {
        return Err(started());
    }
    if raw == sys::MPI_REQUEST_NULL {
        return Err(Error::refused(
            ErrorClass::REQUEST,
            "MPI freed the persistent request when its operation failed: make a new one",
        ));
    }
    Ok(())
}

pub(in super::super) fn started() -> Error {
    Error::refused(ErrorClass::REQUEST, "the operation was started, and not waited for")
}
