//! Sends that are over when the function returns.

use rmpi_macros::wraps;

use super::super::buffer::{BufferMut, BufferRef};
use super::super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::super::status::{self, Status};
use super::object::call;
use super::{Process, Source};
use crate::{MessageTag, TagSelector};

macro_rules! sends {
    ([$($unsafe:tt)?] $(#[$doc:meta])* $name:ident = $function:ident, $example:literal) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// [`RANK`](ErrorClass::RANK), [`TAG`](ErrorClass::TAG) and others that MPI says.
        ///
        /// ```no_run
        /// # fn example(to: rmpi::Process<'_>) -> rmpi::RmpiResult {
        #[doc = concat!($example, "?;")]
        /// # Ok(()) }
        /// ```
        #[wraps($function)]
        pub $($unsafe)? fn $name<B: BufferRef>(&self, buffer: B, tag: impl MessageTag) -> RmpiResult {
            let (raw, envelope) = (buffer.as_raw()?, self.envelope(tag)?);
            // SAFETY: the function reads the buffer's elements, which are readable during the call,
            // since `buffer` is kept that long; rank and tag are those of `envelope`, which has looked
            // at them, and the communicator lives for `'c`. What else a ready send requires, the caller
            // promises.
            check(unsafe {
                call!(mpi, self, raw, envelope)
            })
        }
    };
}

impl Process<'_> {
    sends! {
        []
        /// Sends a message. C: `MPI_Send`. Local or not: it may block until the message is received.
        send = MPI_Send, "to.send(&[1.0, 2.0], rmpi::Tag::new(3))"
    }
    sends! {
        []
        /// Sends a message from an [attached buffer](super::super::RmpiContext::buffer_attach).
        /// C: `MPI_Bsend`. Local; never blocks.
        bsend = MPI_Bsend, "to.bsend(&[1.0, 2.0], rmpi::Tag::new(3))"
    }
    sends! {
        []
        /// Sends a message and waits until its receive has begun. C: `MPI_Ssend`. Blocks, not local.
        ssend = MPI_Ssend, "to.ssend(&[1.0, 2.0], rmpi::Tag::new(3))"
    }
    sends! {
        [unsafe]
        /// Sends a message whose receive has begun. C: `MPI_Rsend`. Blocks, not local.
        ///
        /// # Safety
        /// The matching receive has begun before this call does. If it has not, the standard leaves
        /// open what happens (MPI-5.0, 3.4).
        rsend = MPI_Rsend,
        "// SAFETY: the receiver has said that its receive has begun.\nunsafe { to.rsend(&[1.0, 2.0], rmpi::Tag::new(3)) }"
    }

    /// Sends a message to this process and receives one. C: `MPI_Sendrecv`. Blocks, not local.
    ///
    /// # Errors
    /// As [`send`](Self::send) and [`recv`](Source::recv); [`COMM`](ErrorClass::COMM) if the source is
    /// of another communicator.
    ///
    /// ```no_run
    /// # fn example(left: rmpi::Process<'_>, right: rmpi::Process<'_>) -> rmpi::RmpiResult {
    /// let mut from_left = [0.0; 10];
    /// let tag = rmpi::Tag::new(0);
    /// right.sendrecv(&[1.0; 10], tag, &left, &mut from_left, tag)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Sendrecv)]
    pub fn sendrecv<S: BufferRef, R: BufferMut>(
        &self,
        send: S,
        send_tag: impl MessageTag,
        source: &Source<'_>,
        mut receive: R,
        receive_tag: impl TagSelector,
    ) -> RmpiResult<Status> {
        self.same_communicator(source)?;
        let (send, receive) = (send.as_raw()?, receive.as_raw_mut()?);
        let (to, from) = (self.envelope(send_tag)?, source.envelope(receive_tag)?);
        // SAFETY: MPI_Sendrecv reads one buffer's elements and writes the other's: `send` and `receive`
        // are kept during the call, and `receive` has its memory alone, so that they do not overlap.
        // Ranks and tags are those of `envelope`, which has looked at them; it writes one status.
        output(status::empty(), |status| unsafe {
            mpi.call(
                send.pointer,
                send.count,
                send.datatype,
                to.rank,
                to.tag,
                receive.pointer,
                receive.count,
                receive.datatype,
                from.rank,
                from.tag,
                self.comm(),
                status,
            )
        })
        // SAFETY: `from_raw` asks for a status that MPI wrote, as it has, since it has not failed.
        .map(|status| unsafe { Status::from_raw(status) })
    }

    /// Sends a buffer to this process and receives a message into it. C: `MPI_Sendrecv_replace`.
    /// Blocks, not local.
    ///
    /// # Errors
    /// As [`sendrecv`](Self::sendrecv).
    ///
    /// ```no_run
    /// # fn example(left: rmpi::Process<'_>, right: rmpi::Process<'_>) -> rmpi::RmpiResult {
    /// let mut block = [1.0; 10];
    /// let tag = rmpi::Tag::new(0);
    /// right.sendrecv_replace(&mut block, tag, &left, tag)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Sendrecv_replace)]
    pub fn sendrecv_replace<B: BufferMut>(
        &self,
        mut buffer: B,
        send_tag: impl MessageTag,
        source: &Source<'_>,
        receive_tag: impl TagSelector,
    ) -> RmpiResult<Status> {
        self.same_communicator(source)?;
        let raw = buffer.as_raw_mut()?;
        let (to, from) = (self.envelope(send_tag)?, source.envelope(receive_tag)?);
        // SAFETY: MPI_Sendrecv_replace reads and writes the buffer's elements: `buffer` is kept during
        // the call, and has its memory alone. Ranks and tags are those of `envelope`, which has looked
        // at them; it writes one status.
        output(status::empty(), |status| unsafe {
            mpi.call(
                raw.pointer,
                raw.count,
                raw.datatype,
                to.rank,
                to.tag,
                from.rank,
                from.tag,
                self.comm(),
                status,
            )
        })
        // SAFETY: `from_raw` asks for a status that MPI wrote, as it has, since it has not failed.
        .map(|status| unsafe { Status::from_raw(status) })
    }

    pub(super) fn same_communicator(&self, source: &Source<'_>) -> RmpiResult {
        if self.comm() == source.comm() {
            return Ok(());
        }
        Err(Error::refused(ErrorClass::COMM, "the two processes are of different communicators"))
    }
}
