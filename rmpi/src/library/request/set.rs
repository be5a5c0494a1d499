//! Several requests at once: C waits for any, all or some of an array.

use rmpi_macros::wraps;
use smallvec::SmallVec;

use super::super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::super::status::{self, Status};
use super::super::sys::{self, MPI_Request, MPI_Status, c_int};
use super::{OwnedRequest, Request};

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
/// Sends and receives together, whose buffers are of different types, are [`Exchange`](super::Exchange)s.
#[derive(Debug)]
pub struct RequestSlice<'a, R>(&'a mut [Option<R>]);

/// What a [`RequestSlice`] has: [`Request`], [`OwnedRequest`], or an [`Exchange`](super::Exchange) of two of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no request that others can be waited for with",
    note = "a `RequestSlice` is made of a `&mut [Option<R>]`, where `R` is a `Request`, an `OwnedRequest`, or an \
            `Exchange` of a send and a receive"
)]
pub trait Pending: sealed::Pending {}

pub(super) mod sealed {
    use super::MPI_Request;

    pub trait Pending {
        type Buffer;
        fn handle(&self) -> MPI_Request;
        /// What MPI made of a request that it has not ended.
        fn keep(&mut self, raw: MPI_Request);
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
    fn keep(&mut self, raw: MPI_Request) {
        self.slab.keep(self.slot, raw);
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
    fn keep(&mut self, raw: MPI_Request) {
        self.raw = raw;
    }
    #[inline]
    fn ended(self) -> B {
        self.take_buffer()
    }
}

/// C's array of the requests.
pub(super) type Raw = SmallVec<[MPI_Request; 16]>;
pub(super) type RawStatuses = SmallVec<[MPI_Status; 16]>;

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
            if let Some(request) = &mut self.0[index] {
                request.keep(raw);
            }
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
                // SAFETY: `from_raw` asks for a status that MPI wrote, as it has, since the operation is complete.
                let status = unsafe { Status::from_raw(status) };
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
                // SAFETY: `from_raw` asks for a status that MPI wrote, as it has of each that is complete.
                let status = unsafe { Status::from_raw(*status) };
                completed.push(Completed { index, buffer, status });
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
        // SAFETY: `MPI_Waitsome` asks for so many requests that are null or have not ended, and for room for as many
        // indices and statuses, and for a number: `some` gives them.
        self.some(|count, requests, done, indices, statuses| unsafe {
            mpi.call(count, requests, done, indices, statuses)
        })
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
        // SAFETY: `MPI_Testsome` asks for so many requests that are null or have not ended, and for room for as many
        // indices and statuses, and for a number: `some` gives them.
        self.some(|count, requests, done, indices, statuses| unsafe {
            mpi.call(count, requests, done, indices, statuses)
        })
    }

    /// Waits for some or tests them, by a function of C, which gets how many requests there are, the requests, and
    /// room for a number, and for as many indices and statuses.
    fn some(
        &mut self,
        call: impl FnOnce(c_int, *mut MPI_Request, &mut c_int, *mut c_int, *mut MPI_Status) -> c_int,
    ) -> RmpiResult<Vec<Completed<R::Buffer>>> {
        let (mut raw, count) = self.raw()?;
        let mut statuses: RawStatuses = raw.iter().map(|_| status::empty()).collect();
        let mut indices: SmallVec<[c_int; 16]> = raw.iter().map(|_| 0).collect();
        let result = output(0, |done| {
            call(count, raw.as_mut_ptr(), done, indices.as_mut_ptr(), statuses.as_mut_ptr())
        });
        let count = match result {
            Ok(count) => count,
            Err(error) => {
                self.after_error(&raw);
                return Err(first_error(&statuses, error));
            }
        };
        // MPI_UNDEFINED is negative: there was nothing to wait for.
        let count = usize::try_from(count).unwrap_or(0);
        let mut completed = Vec::with_capacity(count);
        for (index, status) in indices.iter().zip(&statuses).take(count) {
            let index = index.unsigned_abs() as usize;
            if let Some(buffer) = raw.get(index).and_then(|raw| self.after(index, *raw)) {
                // SAFETY: `from_raw` asks for a status that MPI wrote, as it has of each that is complete.
                let status = unsafe { Status::from_raw(*status) };
                completed.push(Completed { index, buffer, status });
            }
        }
        Ok(completed)
    }
}

pub(super) fn too_many() -> Error {
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
