//! Which requests a call has finished, by what MPI has written: everything but the most frequent case,
//! which is [`Call::finished`]'s own.

use core::ffi::c_int;

use mpi_sys::{MPI_Request, MPI_Status};

use super::{AnyCall, Call, CallResult, Completion};

impl<'c> AnyCall<'c> {
    /// [`Call::finished`] for all that is not one request of a call that succeeded.
    #[inline(never)]
    pub(super) fn finished_requests(
        self,
        result: CallResult<'c>,
        each: &mut dyn FnMut(usize, Option<&MPI_Status>),
    ) {
        let shape = self.shape();
        let statuses: *const MPI_Status = self
            .get(shape.statuses)
            .filter(|statuses: &*const MPI_Status| *statuses != mpi_sys::MPI_STATUSES_IGNORE)
            .unwrap_or(core::ptr::null());
        let in_statuses = match result {
            Ok(_) => false,
            Err(code) if code.class() == mpi_sys::MPI_ERR_IN_STATUS => true,
            Err(_) => {
                self.failed(each);
                return;
            }
        };
        let mut one = |position: usize, status: usize| {
            // SAFETY: the status must be in the application's array, or in the layer's. There is one
            // for each request, and `status` is below the number of requests. Any bits are a status.
            let status = (!statuses.is_null()).then(|| unsafe { &*statuses.add(status) });
            match status {
                Some(status) if in_statuses => match status.MPI_ERROR {
                    mpi_sys::MPI_SUCCESS => each(position, Some(status)),
                    error if error == mpi_sys::MPI_ERR_PENDING => {}
                    _ => each(position, None),
                },
                status => each(position, status),
            }
        };
        // SAFETY: flag, index, number of indices and indices must be readable. The next function has
        // said that MPI accepted the call or set its statuses (`Call::result`), so MPI has written
        // them, through the same addresses. Where it left one alone all the same (MPICH 5, after the
        // application's error handler has run), it is a number of the application's: no index is
        // used that is not below the number of requests, nor are more indices read.
        unsafe {
            if let Some(flag) = self.get::<*const c_int>(shape.flag)
                && !in_statuses
                && *flag == 0
            {
                return;
            }
            match shape.completion {
                Completion::None => {}
                Completion::All => (0..self.requests().len()).for_each(|i| one(i, i)),
                Completion::Any => {
                    let index = self.get::<*const c_int>(shape.index).map_or(-1, |index| *index);
                    if let Ok(index) = usize::try_from(index)
                        && index < self.requests().len()
                    {
                        one(index, 0);
                    }
                }
                Completion::Some => {
                    let count = self.get::<*const c_int>(shape.out_count).map_or(0, |count| *count);
                    let Some(indices) = self.get::<*const c_int>(shape.index) else { return };
                    // MPI_UNDEFINED, negative, where no request was active.
                    let count = usize::try_from(count).unwrap_or(0).min(self.requests().len());
                    for i in 0..count {
                        let index = usize::try_from(*indices.add(i)).unwrap_or(usize::MAX);
                        if index < self.requests().len() {
                            one(index, i);
                        }
                    }
                }
            }
        }
    }

    /// After an error other than `MPI_ERR_IN_STATUS`: tells of the requests that are no more. MPI
    /// has put null in the place of those that it has completed; the others are still pending.
    fn failed(self, each: &mut dyn FnMut(usize, Option<&MPI_Status>)) {
        let Some(now) = self.get::<*const MPI_Request>(self.shape().requests) else { return };
        for (i, before) in self.requests().iter().enumerate() {
            // SAFETY: the element must be in the application's array and readable. The array has as
            // many requests as `self.requests()`, which was copied from it before the call, and it
            // is the application's until the call returns.
            let now = unsafe { *now.add(i) };
            if now != *before && now == mpi_sys::pmpi::MPI_REQUEST_NULL {
                each(i, None);
            }
        }
    }
}
