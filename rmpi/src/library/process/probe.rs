//! Probes, and the messages that they take.

use rmpi_macros::wraps;

use super::super::buffer::BufferMut;
use super::super::error::{RmpiResult, output};
use super::super::request::{Request, Scope};
use super::super::status::{self, Status};
use super::super::sys::{self, MPI_Message};
use super::Source;
use crate::TagSelector;

impl<'c> Source<'c> {
    /// Waits for a message without receiving it. C: `MPI_Probe`. Blocks, not local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(from: rmpi::Source<'_>) -> rmpi::RmpiResult {
    /// let length = from.probe(rmpi::AnyTag)?.get_count::<u8>()?.unwrap_or(0);
    /// let mut bytes = vec![0_u8; length];
    /// from.recv(&mut bytes, rmpi::AnyTag)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Probe)]
    pub fn probe(&self, tag: impl TagSelector) -> RmpiResult<Status> {
        let envelope = self.envelope(tag)?;
        // SAFETY: MPI_Probe requires a communicator, and a rank and a tag for it: rank and tag are
        // those of `envelope`, which has looked at them, and the communicator lives for `'c`. It writes
        // one status.
        output(status::empty(), |status| unsafe {
            mpi.call(envelope.rank, envelope.tag, self.comm(), status)
        })
        // SAFETY: `from_raw` asks for a status that MPI wrote, as it has, since it has not failed.
        .map(|status| unsafe { Status::from_raw(status) })
    }

    /// Is there a message? C: `MPI_Iprobe`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(from: rmpi::Source<'_>) -> rmpi::RmpiResult {
    /// if let Some(status) = from.iprobe(rmpi::AnyTag)? {
    ///     println!("{:?}", status.source());
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Iprobe)]
    pub fn iprobe(&self, tag: impl TagSelector) -> RmpiResult<Option<Status>> {
        let envelope = self.envelope(tag)?;
        // SAFETY: MPI_Iprobe requires a communicator, and a rank and a tag for it: rank and tag are
        // those of `envelope`, which has looked at them, and the communicator lives for `'c`. It writes
        // one int and one status.
        let (flag, status) = output((0, status::empty()), |(flag, status)| unsafe {
            mpi.call(envelope.rank, envelope.tag, self.comm(), flag, status)
        })?;
        // SAFETY: `from_raw` asks for a status that MPI wrote, as it has where there is a message.
        Ok((flag != 0).then(|| unsafe { Status::from_raw(status) }))
    }

    /// Waits for a message and takes it, to be received by what comes back and nobody else.
    /// C: `MPI_Mprobe`. Blocks, not local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(from: rmpi::Source<'_>) -> rmpi::RmpiResult {
    /// let (message, status) = from.mprobe(rmpi::AnyTag)?;
    /// let mut bytes = vec![0_u8; status.get_count::<u8>()?.unwrap_or(0)];
    /// message.mrecv(&mut bytes)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Mprobe)]
    pub fn mprobe(&self, tag: impl TagSelector) -> RmpiResult<(Message<'c>, Status)> {
        let envelope = self.envelope(tag)?;
        let initial = (sys::MPI_MESSAGE_NULL, status::empty());
        // SAFETY: MPI_Mprobe requires a communicator, and a rank and a tag for it: rank and tag are
        // those of `envelope`, which has looked at them, and the communicator lives for `'c`. It writes
        // one handle and one status.
        let (raw, status) = output(initial, |(message, status)| unsafe {
            mpi.call(envelope.rank, envelope.tag, self.comm(), message, status)
        })?;
        // SAFETY: `from_raw` asks for a status that MPI wrote, as it has, since it has not failed.
        Ok((Message { raw, _source: *self }, unsafe { Status::from_raw(status) }))
    }

    /// Is there a message? Then takes it. C: `MPI_Improbe`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(from: rmpi::Source<'_>) -> rmpi::RmpiResult {
    /// if let Some((message, _status)) = from.improbe(rmpi::AnyTag)? {
    ///     message.mrecv(&mut [0.0; 10])?;
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Improbe)]
    pub fn improbe(&self, tag: impl TagSelector) -> RmpiResult<Option<(Message<'c>, Status)>> {
        let envelope = self.envelope(tag)?;
        let initial = (0, sys::MPI_MESSAGE_NULL, status::empty());
        // SAFETY: MPI_Improbe requires a communicator, and a rank and a tag for it: rank and tag are
        // those of `envelope`, which has looked at them, and the communicator lives for `'c`. It writes
        // one int, one handle and one status.
        let (flag, raw, status) = output(initial, |(flag, message, status)| unsafe {
            mpi.call(envelope.rank, envelope.tag, self.comm(), flag, message, status)
        })?;
        // SAFETY: `from_raw` asks for a status that MPI wrote, as it has where there is a message.
        Ok((flag != 0)
            .then(|| (Message { raw, _source: *self }, unsafe { Status::from_raw(status) })))
    }
}

/// A message that a matched probe took (MPI-5.0, 3.8.2): it has to be received once. One that is
/// dropped is never received.
#[derive(Debug)]
#[must_use = "nobody else can receive the message"]
pub struct Message<'c> {
    /// A message that a matched probe gave, and that nobody has received.
    raw: MPI_Message,
    _source: Source<'c>,
}

impl<'c> Message<'c> {
    /// Receives the message. C: `MPI_Mrecv`. Blocks, local.
    ///
    /// # Errors
    /// As [`recv`](Source::recv).
    ///
    /// ```no_run
    /// # fn example(message: rmpi::Message<'_>) -> rmpi::RmpiResult {
    /// message.mrecv(&mut [0.0; 10])?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Mrecv)]
    pub fn mrecv<B: BufferMut>(mut self, mut buffer: B) -> RmpiResult<Status> {
        let raw = buffer.as_raw_mut()?;
        // SAFETY: MPI_Mrecv requires a message, received once: a matched probe gave it, and `self` is
        // moved here. It writes the buffer's elements, which are writable during the call, since
        // `buffer` is kept that long, and one status.
        output(status::empty(), |status| unsafe {
            mpi.call(raw.pointer, raw.count, raw.datatype, &mut self.raw, status)
        })
        // SAFETY: `from_raw` asks for a status that MPI wrote, as it has, since it has not failed.
        .map(|status| unsafe { Status::from_raw(status) })
    }

    /// Begins to receive the message. C: `MPI_Imrecv`. Local.
    ///
    /// # Errors
    /// As [`recv`](Source::recv).
    ///
    /// ```no_run
    /// # fn example(message: rmpi::Message<'_>) -> rmpi::RmpiResult {
    /// let mut numbers = [0.0; 10];
    /// rmpi::scope(|scope| message.imrecv(scope, &mut numbers)?.wait())?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Imrecv)]
    pub fn imrecv<'scope, B: BufferMut + 'scope>(
        mut self,
        scope: &'scope Scope<'scope, '_>,
        buffer: B,
    ) -> RmpiResult<Request<'scope, B>>
    where
        'c: 'scope,
    {
        // SAFETY: `begin` requires an operation that uses the buffer's memory only, wherever the buffer
        // moves, while MPI runs for `'scope`: MPI_Imrecv writes to what `as_raw_mut` gives, which the
        // trait promises to stay and to be nobody else's; MPI runs for `'c`, which is longer. The
        // message is received once: a matched probe gave it, and `self` is moved here.
        unsafe {
            scope.begin(
                buffer,
                |buffer| buffer.as_raw_mut(),
                |raw, request| {
                    mpi.call(raw.pointer, raw.count, raw.datatype, &mut self.raw, request)
                },
            )
        }
    }
}
