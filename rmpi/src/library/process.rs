use core::ops::Deref;

use tool_macros::wraps;

use super::buffer::{BufferMut, BufferRef};
use super::communicator::Communicator;
use super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::request::{OwnedRequest, PersistentRequest, Request, Scope};
use super::status::{self, Status};
use super::sys::{self, MPI_Comm, MPI_Message, c_int};
use crate::{Tag, TagSelector};

/// To or from whom, and with which tag: C's two numbers, which rmpi has looked at.
#[derive(Clone, Copy)]
struct Envelope {
    rank: c_int,
    tag: c_int,
}

/// Where messages come from: a [`Process`], or any, by
/// [`any_source`](Communicator::any_source). What can be received and probed is here.
#[derive(Debug, Clone, Copy)]
pub struct Source<'c> {
    pub(super) communicator: &'c Communicator<'c>,
    pub(super) rank: c_int,
}

/// A process of a communicator: a communicator and a rank. Messages can be sent to it;
/// it is the root of collective operations; and it is a [`Source`].
#[derive(Debug, Clone, Copy)]
pub struct Process<'c>(Source<'c>);

impl<'c> Deref for Process<'c> {
    type Target = Source<'c>;
    fn deref(&self) -> &Source<'c> {
        &self.0
    }
}

impl<'c> From<Process<'c>> for Source<'c> {
    fn from(process: Process<'c>) -> Self {
        process.0
    }
}

impl<'c> Source<'c> {
    pub(super) fn new(communicator: &'c Communicator<'c>, rank: c_int) -> Self {
        Self { communicator, rank }
    }

    /// The communicator.
    pub const fn communicator(&self) -> &'c Communicator<'c> {
        self.communicator
    }

    /// The rank; `None` for `MPI_ANY_SOURCE` and `MPI_PROC_NULL`.
    pub fn rank(&self) -> Option<usize> {
        self.rank.try_into().ok()
    }

    /// C's arguments: the communicator and the rank.
    pub const fn into_raw(self) -> (MPI_Comm, c_int) {
        (self.communicator.as_raw(), self.rank)
    }

    #[inline]
    pub(super) fn comm(&self) -> MPI_Comm {
        self.communicator.as_raw()
    }

    /// C's rank, if the communicator has such a process. Not every MPI looks: what it does not check, it
    /// takes for the index of an array.
    ///
    /// # Errors
    /// [`RANK`](ErrorClass::RANK) if there is none.
    #[inline]
    pub(super) fn peer(&self) -> RmpiResult<c_int> {
        // The special ranks are negative, and every communicator has them.
        if self.rank < self.communicator.peers()? {
            return Ok(self.rank);
        }
        Err(Error::refused(ErrorClass::RANK, "the communicator has no process of that rank"))
    }

    #[inline]
    fn envelope(&self, tag: impl TagSelector) -> RmpiResult<Envelope> {
        Ok(Envelope { rank: self.peer()?, tag: tag_of(tag)? })
    }
}

/// C's tag, if it is one.
#[inline]
pub(super) fn tag_of(tag: impl TagSelector) -> RmpiResult<c_int> {
    tag.number().ok_or(Error::refused(ErrorClass::TAG, "a tag is at most 2147483647"))
}

/// A call with a message's arguments, which most functions here begin with.
macro_rules! call {
    ($mpi:ident, $peer:expr, $raw:ident, $envelope:ident $(, $last:expr)?) => {
        $mpi.call(
            $raw.pointer,
            $raw.count,
            $raw.datatype,
            $envelope.rank,
            $envelope.tag,
            $peer.comm(),
            $($last)?
        )
    };
}

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
        pub $($unsafe)? fn $name<B: BufferRef>(&self, buffer: B, tag: Tag) -> RmpiResult {
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

impl<'c> Process<'c> {
    pub(super) fn new(communicator: &'c Communicator<'c>, rank: c_int) -> Self {
        Self(Source::new(communicator, rank))
    }

    /// The process of C's arguments.
    ///
    /// # Safety
    /// The rank is `MPI_PROC_NULL`, or not negative: whether the communicator has it is asked for later, but other
    /// special ones would go to MPI, where they mean nothing.
    pub const unsafe fn from_raw(communicator: &'c Communicator<'c>, rank: c_int) -> Self {
        Self(Source { communicator, rank })
    }

    sends! {
        []
        /// Sends a message. C: `MPI_Send`. Local or not: it may block until the message is received.
        send = MPI_Send, "to.send(&[1.0, 2.0], rmpi::Tag::new(3))"
    }
    sends! {
        []
        /// Sends a message from an [attached buffer](super::RmpiContext::buffer_attach).
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
        send_tag: Tag,
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
        .map(Status::from_raw)
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
        send_tag: Tag,
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
        .map(Status::from_raw)
    }

    fn same_communicator(&self, source: &Source<'_>) -> RmpiResult {
        if self.comm() == source.comm() {
            return Ok(());
        }
        Err(Error::refused(ErrorClass::COMM, "the two processes are of different communicators"))
    }
}

/// The brace that ends an unsafe block, where there is one.
macro_rules! close {
    (unsafe) => {
        " }"
    };
}
use close;

/// Non-blocking and persistent sends: on the stack of a scope, or with a buffer that moves in.
macro_rules! sends_later {
    ($([$($unsafe:tt)?] $start:ident $owned:ident $init:ident = $immediate:ident, $persistent:ident, $what:literal
        $(, $safety:literal, $safety_of_starts:literal, $reason:literal)?;)*) => {
        impl<'c> Process<'c> {$(
            #[doc = concat!("Begins ", $what, ". C: `", stringify!($immediate), "`. Local.")]
            $(#[doc = concat!("\n# Safety\n", $safety)])?
            ///
            /// # Errors
            /// As [`send`](Self::send).
            ///
            /// ```no_run
            /// # fn example(to: rmpi::Process<'_>) -> rmpi::RmpiResult {
            /// let numbers = [1.0, 2.0];
            /// rmpi::scope(|scope| {
            $(#[doc = concat!("    // SAFETY: ", $reason)])?
            #[doc = concat!("    let request = ", $(stringify!($unsafe), " { ",)? "to.", stringify!($start),
                "(scope, &numbers, rmpi::Tag::new(3))?", $(super::process::close!($unsafe),)? ";")]
            ///     request.wait()
            /// })?;
            /// # Ok(()) }
            /// ```
            #[wraps($immediate)]
            pub $($unsafe)? fn $start<'scope, B: BufferRef + 'scope>(
                &self,
                scope: &'scope Scope<'scope, '_>,
                buffer: B,
                tag: Tag,
            ) -> RmpiResult<Request<'scope, B>>
            where
                'c: 'scope,
            {
                let envelope = self.envelope(tag)?;
                // SAFETY: `begin` requires an operation that uses the buffer's memory only, wherever
                // the buffer moves, while MPI runs for `'scope`: a send reads what `as_raw` gives,
                // which the trait promises to stay, and a buffered one writes to the attached buffer,
                // too, which is static. MPI runs for `'c`, which is longer. What else a ready send
                // requires, the caller promises.
                unsafe {
                    scope.begin(
                        buffer,
                        |buffer| buffer.as_raw(),
                        |raw, request| call!(mpi, self, raw, envelope, request),
                    )
                }
            }

            #[doc = concat!("Begins ", $what, " from a buffer that the request keeps. C: `",
                stringify!($immediate), "`. Local.")]
            $(#[doc = concat!("\n# Safety\n", $safety)])?
            ///
            /// # Errors
            /// As [`send`](Self::send).
            ///
            /// ```no_run
            /// # fn example(to: rmpi::Process<'_>) -> rmpi::RmpiResult {
            $(#[doc = concat!("// SAFETY: ", $reason)])?
            #[doc = concat!("let request = ", $(stringify!($unsafe), " { ",)? "to.", stringify!($owned),
                "(vec![1.0, 2.0], rmpi::Tag::new(3))?", $(super::process::close!($unsafe),)? ";")]
            /// let (numbers, _status) = request.wait()?;
            /// # Ok(()) }
            /// ```
            #[wraps($immediate)]
            pub $($unsafe)? fn $owned<B: BufferRef + 'static>(
                &self,
                buffer: B,
                tag: Tag,
            ) -> RmpiResult<OwnedRequest<'c, B>> {
                let envelope = self.envelope(tag)?;
                // SAFETY: `OwnedRequest::begin` requires an operation that uses the buffer's memory
                // only, wherever the buffer moves, while MPI runs for `'c`: a send reads what `as_raw`
                // gives, which the trait promises to stay, and a buffered one writes to the attached
                // buffer, too, which is static. The communicator lives for `'c`. What else a ready send
                // requires, the caller promises.
                unsafe {
                    OwnedRequest::begin(
                        buffer,
                        |buffer| buffer.as_raw(),
                        |raw, request| call!(mpi, self, raw, envelope, request),
                    )
                }
            }

            #[doc = concat!("Prepares ", $what, ", to be started often. C: `",
                stringify!($persistent), "`. Local.")]
            $(#[doc = concat!("\n# Safety\n", $safety_of_starts)])?
            ///
            /// # Errors
            /// As [`send`](Self::send).
            ///
            /// ```no_run
            /// # fn example(to: rmpi::Process<'_>) -> rmpi::RmpiResult {
            /// let mut numbers = [1.0, 2.0];
            /// rmpi::scope(|scope| {
            $(#[doc = concat!("    // SAFETY: ", $reason)])?
            #[doc = concat!("    let mut request = ", $(stringify!($unsafe), " { ",)? "to.", stringify!($init),
                "(scope, &mut numbers[..], rmpi::Tag::new(3))?", $(super::process::close!($unsafe),)? ";")]
            ///     for _ in 0..10 {
            ///         request.start()?;
            ///         request.wait()?;
            ///         request.buffer_mut().expect("it is complete")[0] += 1.0;
            ///     }
            ///     Ok(())
            /// })
            /// # }
            /// ```
            #[wraps($persistent)]
            pub $($unsafe)? fn $init<'scope, B: BufferRef + 'scope>(
                &self,
                scope: &'scope Scope<'scope, '_>,
                buffer: B,
                tag: Tag,
            ) -> RmpiResult<PersistentRequest<'scope, B>>
            where
                'c: 'scope,
            {
                let envelope = self.envelope(tag)?;
                // SAFETY: `begin_persistent` requires of each start that it uses the buffer's memory
                // only, wherever the buffer moves, while MPI runs for `'scope`: a send reads what
                // `as_raw` gives, which the trait promises to stay, and a buffered one writes to the
                // attached buffer, too, which is static. MPI runs for `'c`, which is longer. What else
                // a ready send requires, the caller promises.
                unsafe {
                    scope.begin_persistent(
                        buffer,
                        |buffer| buffer.as_raw(),
                        |raw, request| call!(mpi, self, raw, envelope, request),
                    )
                }
            }
        )*}
    };
}

sends_later! {
    [] isend isend_owned send_init = MPI_Isend, MPI_Send_init, "sending a message";
    [] ibsend ibsend_owned bsend_init = MPI_Ibsend, MPI_Bsend_init, "a buffered send";
    [] issend issend_owned ssend_init = MPI_Issend, MPI_Ssend_init, "a synchronous send";
    [unsafe] irsend irsend_owned rsend_init = MPI_Irsend, MPI_Rsend_init, "a ready send",
        "The matching receive has begun before this call does (MPI-5.0, 3.4).",
        "At each start, the matching receive has begun before (MPI-5.0, 3.4).",
        "the receiver has said that its receive has begun.";
}

impl<'c> Source<'c> {
    /// Receives a message. C: `MPI_Recv` with `MPI_STATUS_IGNORE`. Blocks, not local.
    ///
    /// # Errors
    /// [`TRUNCATE`](ErrorClass::TRUNCATE) if the message is longer than the buffer, and others that
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
            .map(Status::from_raw)
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
        .map(Status::from_raw)
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
        Ok((flag != 0).then(|| Status::from_raw(status)))
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
        Ok((Message { raw, _source: *self }, Status::from_raw(status)))
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
        Ok((flag != 0).then(|| (Message { raw, _source: *self }, Status::from_raw(status))))
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
        .map(Status::from_raw)
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
