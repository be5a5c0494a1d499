//! Receives.

use rmpi_macros::wraps;

use super::super::buffer::BufferMut;
use super::super::error::{RmpiResult, check, output};
use super::super::request::{
    OwnedPersistentRequest, OwnedRequest, PersistentRequest, Request, Scope,
};
use super::super::status::{self, Status};
use super::super::sys;
use super::Source;
use super::object::call;
use crate::TagSelector;

impl<'c> Source<'c> {
    /// Receives a message. C: `MPI_Recv` with `MPI_STATUS_IGNORE`. Blocks, not local.
    ///
    /// # Errors
    /// [`TRUNCATE`](super::super::ErrorClass::TRUNCATE) if the message is longer than the buffer, and others that
    /// MPI says.
    ///
    /// ```no_run
    /// # fn example(from: rmpi::Source<'_>) -> rmpi::RmpiResult {
    /// let mut numbers = [0.0; 2];
    /// from.recv(&mut numbers, rmpi::Tag::new(3))?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Recv)]
    pub fn recv<B: BufferMut>(&self, mut buffer: B, tag: impl TagSelector) -> RmpiResult {
        let (raw, envelope) = (buffer.as_raw_mut()?, self.envelope(tag)?);
        // SAFETY: MPI_Recv writes the buffer's elements, which are writable during the call, since
        // `buffer` is kept that long; rank and tag are those of `envelope`, which has looked at them,
        // and the communicator lives for `'c`.
        check(unsafe { call!(mpi, self, raw, envelope, sys::MPI_STATUS_IGNORE) })
    }

    /// Receives a message and tells of it. C: `MPI_Recv` with a status. Blocks, not local.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let mut numbers = [0.0; 100];
    /// let status = world.any_source().recv_status(&mut numbers, rmpi::AnyTag)?;
    /// println!("{:?} numbers from {:?}", status.get_count::<f64>()?, status.source());
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Recv)]
    pub fn recv_status<B: BufferMut>(
        &self,
        mut buffer: B,
        tag: impl TagSelector,
    ) -> RmpiResult<Status> {
        let (raw, envelope) = (buffer.as_raw_mut()?, self.envelope(tag)?);
        // SAFETY: MPI_Recv writes the buffer's elements, which are writable during the call, since
        // `buffer` is kept that long, and one status; rank and tag are those of `envelope`, which has
        // looked at them, and the communicator lives for `'c`.
        output(status::empty(), |status| unsafe { call!(mpi, self, raw, envelope, status) })
            // SAFETY: `from_raw` asks for a status that MPI wrote, as it has, since it has not failed.
            .map(|status| unsafe { Status::from_raw(status) })
    }

    /// Begins to receive a message. C: `MPI_Irecv`. Local.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    ///
    /// ```no_run
    /// # fn example(from: rmpi::Source<'_>) -> rmpi::RmpiResult {
    /// let mut numbers = [0.0; 2];
    /// rmpi::scope(|scope| {
    ///     let request = from.irecv(scope, &mut numbers, rmpi::Tag::new(3))?;
    ///     request.wait()
    /// })?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Irecv)]
    pub fn irecv<'scope, B: BufferMut + 'scope>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        buffer: B,
        tag: impl TagSelector,
    ) -> RmpiResult<Request<'scope, B>>
    where
        'c: 'scope,
    {
        let envelope = self.envelope(tag)?;
        // SAFETY: `begin` requires an operation that uses the buffer's memory only, wherever the buffer
        // moves, while MPI runs for `'scope`: a receive writes to what `as_raw_mut` gives, which the
        // trait promises to stay and to be nobody else's; MPI runs for `'c`, which is longer.
        unsafe {
            scope.begin(
                buffer,
                |buffer| buffer.as_raw_mut(),
                |raw, request| call!(mpi, self, raw, envelope, request),
            )
        }
    }

    /// Begins to receive a message into a buffer that the request keeps. C: `MPI_Irecv`. Local.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    ///
    /// ```no_run
    /// # fn example(from: rmpi::Source<'_>) -> rmpi::RmpiResult {
    /// let request = from.irecv_owned(vec![0.0; 2], rmpi::Tag::new(3))?;
    /// let (numbers, _status) = request.wait()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Irecv)]
    pub fn irecv_owned<B: BufferMut + 'static>(
        &self,
        buffer: B,
        tag: impl TagSelector,
    ) -> RmpiResult<OwnedRequest<'c, B>> {
        let envelope = self.envelope(tag)?;
        // SAFETY: `OwnedRequest::begin` requires an operation that uses the buffer's memory only,
        // wherever the buffer moves, while MPI runs for `'c`: a receive writes to what `as_raw_mut`
        // gives, which the trait promises to stay and to be nobody else's, and the communicator lives
        // for `'c`.
        unsafe {
            OwnedRequest::begin(
                buffer,
                |buffer| buffer.as_raw_mut(),
                |raw, request| call!(mpi, self, raw, envelope, request),
            )
        }
    }

    /// Prepares a receive, to be started often. C: `MPI_Recv_init`. Local.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    ///
    /// ```no_run
    /// # fn example(from: rmpi::Source<'_>) -> rmpi::RmpiResult {
    /// let mut numbers = [0.0; 2];
    /// rmpi::scope(|scope| {
    ///     let mut request = from.recv_init(scope, &mut numbers[..], rmpi::Tag::new(3))?;
    ///     for _ in 0..10 {
    ///         request.start()?;
    ///         request.wait()?;
    ///         println!("{:?}", request.buffer());
    ///     }
    ///     Ok(())
    /// })
    /// # }
    /// ```
    #[wraps(MPI_Recv_init)]
    pub fn recv_init<'scope, B: BufferMut + 'scope>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        buffer: B,
        tag: impl TagSelector,
    ) -> RmpiResult<PersistentRequest<'scope, B>>
    where
        'c: 'scope,
    {
        let envelope = self.envelope(tag)?;
        // SAFETY: `begin_persistent` requires of each start that it uses the buffer's memory only,
        // wherever the buffer moves, while MPI runs for `'scope`: a receive writes to what `as_raw_mut`
        // gives, which the trait promises to stay and to be nobody else's; MPI runs for `'c`, which is
        // longer.
        unsafe {
            scope.begin_persistent(
                buffer,
                |buffer| buffer.as_raw_mut(),
                |raw, request| call!(mpi, self, raw, envelope, request),
            )
        }
    }

    /// Prepares a receive into a buffer that the request keeps, to be started often. C: `MPI_Recv_init`. Local.
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    ///
    /// ```no_run
    /// # fn example(from: rmpi::Source<'_>) -> rmpi::RmpiResult {
    /// let mut request = from.recv_init_owned(vec![0.0; 2], rmpi::Tag::new(3))?;
    /// for _ in 0..10 {
    ///     request.start()?;
    ///     request.wait()?;
    ///     println!("{:?}", request.buffer()?);
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Recv_init)]
    pub fn recv_init_owned<B: BufferMut + 'static>(
        &self,
        buffer: B,
        tag: impl TagSelector,
    ) -> RmpiResult<OwnedPersistentRequest<'c, B>> {
        let envelope = self.envelope(tag)?;
        // SAFETY: `OwnedPersistentRequest::begin` requires of each start that it uses the buffer's memory
        // only, wherever the buffer moves, while MPI runs for `'c`: a receive writes to what `as_raw_mut`
        // gives, which the trait promises to stay and to be nobody else's, and the communicator lives for
        // `'c`.
        unsafe {
            OwnedPersistentRequest::begin(
                buffer,
                |buffer| buffer.as_raw_mut(),
                |raw, request| call!(mpi, self, raw, envelope, request),
            )
        }
    }
}
