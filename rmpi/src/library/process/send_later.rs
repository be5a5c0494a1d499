//! Non-blocking and persistent sends.

use rmpi_macros::wraps;

use super::super::buffer::{BufferMut, BufferRef};
use super::super::error::{RmpiResult, output};
use super::super::request::{
    OwnedPersistentRequest, OwnedRequest, PersistentRequest, Request, Scope,
};
use super::super::sys;
use super::object::call;
use super::{Process, Source};
use crate::{MessageTag, TagSelector};

/// The brace that ends an unsafe block, where there is one.
macro_rules! close {
    (unsafe) => {
        " }"
    };
}

/// Non-blocking and persistent sends: on the stack of a scope, or with a buffer that moves in.
macro_rules! sends_later {
    ($([$($unsafe:tt)?] $start:ident $owned:ident $init:ident $init_owned:ident = $immediate:ident, $persistent:ident, $what:literal
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
                "(scope, &numbers, rmpi::Tag::new(3))?", $(close!($unsafe),)? ";")]
            ///     request.wait()
            /// })?;
            /// # Ok(()) }
            /// ```
            #[wraps($immediate)]
            pub $($unsafe)? fn $start<'scope, B: BufferRef + 'scope>(
                &self,
                scope: &'scope Scope<'scope, '_>,
                buffer: B,
                tag: impl MessageTag,
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
                "(vec![1.0, 2.0], rmpi::Tag::new(3))?", $(close!($unsafe),)? ";")]
            /// let (numbers, _status) = request.wait()?;
            /// # Ok(()) }
            /// ```
            #[wraps($immediate)]
            pub $($unsafe)? fn $owned<B: BufferRef + 'static>(
                &self,
                buffer: B,
                tag: impl MessageTag,
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
                "(scope, &mut numbers[..], rmpi::Tag::new(3))?", $(close!($unsafe),)? ";")]
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
                tag: impl MessageTag,
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

            #[doc = concat!("Prepares ", $what, " from a buffer that the request keeps, to be started often. C: `",
                stringify!($persistent), "`. Local.")]
            $(#[doc = concat!("\n# Safety\n", $safety_of_starts)])?
            ///
            /// # Errors
            /// As [`send`](Self::send).
            ///
            /// ```no_run
            /// # fn example(to: rmpi::Process<'_>) -> rmpi::RmpiResult {
            $(#[doc = concat!("// SAFETY: ", $reason)])?
            #[doc = concat!("let mut request = ", $(stringify!($unsafe), " { ",)? "to.", stringify!($init_owned),
                "(vec![1.0, 2.0], rmpi::Tag::new(3))?", $(close!($unsafe),)? ";")]
            /// for _ in 0..10 {
            ///     request.start()?;
            ///     request.wait()?;
            ///     request.buffer_mut()?[0] += 1.0;
            /// }
            /// # Ok(()) }
            /// ```
            #[wraps($persistent)]
            pub $($unsafe)? fn $init_owned<B: BufferRef + 'static>(
                &self,
                buffer: B,
                tag: impl MessageTag,
            ) -> RmpiResult<OwnedPersistentRequest<'c, B>> {
                let envelope = self.envelope(tag)?;
                // SAFETY: `OwnedPersistentRequest::begin` requires of each start that it uses the
                // buffer's memory only, wherever the buffer moves, while MPI runs for `'c`: a send
                // reads what `as_raw` gives, which the trait promises to stay, and a buffered one
                // writes to the attached buffer, too, which is static. The communicator lives for
                // `'c`. What else a ready send requires, the caller promises.
                unsafe {
                    OwnedPersistentRequest::begin(
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
    [] isend isend_owned send_init send_init_owned = MPI_Isend, MPI_Send_init, "sending a message";
    [] ibsend ibsend_owned bsend_init bsend_init_owned = MPI_Ibsend, MPI_Bsend_init, "a buffered send";
    [] issend issend_owned ssend_init ssend_init_owned = MPI_Issend, MPI_Ssend_init, "a synchronous send";
    [unsafe] irsend irsend_owned rsend_init rsend_init_owned = MPI_Irsend, MPI_Rsend_init, "a ready send",
        "The matching receive has begun before this call does (MPI-5.0, 3.4).",
        "At each start, the matching receive has begun before (MPI-5.0, 3.4).",
        "the receiver has said that its receive has begun.";
}

impl<'c> Process<'c> {
    /// Begins to send a message to this process and to receive one. C: `MPI_Isendrecv`. Local.
    ///
    /// The status is that of the receive. Of a message of any source, MPICH does not say in it who has sent.
    ///
    /// # Errors
    /// As [`sendrecv`](Self::sendrecv);
    /// [`UNSUPPORTED_OPERATION`](crate::ErrorClass::UNSUPPORTED_OPERATION) if MPI is older than 4.0.
    ///
    /// ```no_run
    /// # fn example(left: rmpi::Process<'_>, right: rmpi::Process<'_>) -> rmpi::RmpiResult {
    /// let (mine, mut theirs) = ([1.0; 10], [0.0; 10]);
    /// let tag = rmpi::Tag::new(0);
    /// rmpi::scope(|scope| {
    ///     let request = right.isendrecv(scope, &mine, tag, &left, &mut theirs, tag)?;
    ///     // Compute something else here.
    ///     let (_mine, theirs) = request.wait()?;
    ///     println!("{theirs:?}");
    ///     Ok(())
    /// })
    /// # }
    /// ```
    #[wraps(MPI_Isendrecv)]
    pub fn isendrecv<'scope, S: BufferRef + 'scope, R: BufferMut + 'scope>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        send: S,
        send_tag: impl MessageTag,
        source: &Source<'_>,
        receive: R,
        receive_tag: impl TagSelector,
    ) -> RmpiResult<Request<'scope, (S, R)>>
    where
        'c: 'scope,
    {
        self.same_communicator(source)?;
        let (to, from) = (self.envelope(send_tag)?, source.envelope(receive_tag)?);
        // SAFETY: `begin_lasting` requires an operation that uses the buffers' memory only, wherever they move,
        // while MPI runs for `'scope`: MPI_Isendrecv reads what `as_raw` gives and writes to what `as_raw_mut` gives,
        // which the traits promise to stay, and the second to be nobody else's, so that they do not overlap. MPI
        // runs for `'c`, which is longer; both processes are of one communicator.
        unsafe {
            scope.begin_lasting((send, receive), |(send, receive)| {
                let (send, receive) = (send.as_raw()?, receive.as_raw_mut()?);
                output(sys::MPI_REQUEST_NULL, |request| {
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
                        request,
                    )
                })
            })
        }
    }

    /// Begins to send a buffer to this process and to receive a message into it. C: `MPI_Isendrecv_replace`. Local.
    ///
    /// # Errors
    /// As [`isendrecv`](Self::isendrecv).
    ///
    /// ```no_run
    /// # fn example(left: rmpi::Process<'_>, right: rmpi::Process<'_>) -> rmpi::RmpiResult {
    /// let mut block = [1.0; 10];
    /// let tag = rmpi::Tag::new(0);
    /// rmpi::scope(|scope| {
    ///     right.isendrecv_replace(scope, &mut block, tag, &left, tag)?.wait().map(drop)
    /// })
    /// # }
    /// ```
    #[wraps(MPI_Isendrecv_replace)]
    pub fn isendrecv_replace<'scope, B: BufferMut + 'scope>(
        &self,
        scope: &'scope Scope<'scope, '_>,
        buffer: B,
        send_tag: impl MessageTag,
        source: &Source<'_>,
        receive_tag: impl TagSelector,
    ) -> RmpiResult<Request<'scope, B>>
    where
        'c: 'scope,
    {
        self.same_communicator(source)?;
        let (to, from) = (self.envelope(send_tag)?, source.envelope(receive_tag)?);
        // SAFETY: `begin_lasting` requires an operation that uses the buffer's memory only, wherever it moves, while
        // MPI runs for `'scope`: MPI_Isendrecv_replace reads and writes what `as_raw_mut` gives, which the trait
        // promises to stay and to be nobody else's. MPI runs for `'c`, which is longer; both processes are of one
        // communicator.
        unsafe {
            scope.begin_lasting(buffer, |buffer| {
                let raw = buffer.as_raw_mut()?;
                output(sys::MPI_REQUEST_NULL, |request| {
                    mpi.call(
                        raw.pointer,
                        raw.count,
                        raw.datatype,
                        to.rank,
                        to.tag,
                        from.rank,
                        from.tag,
                        self.comm(),
                        request,
                    )
                })
            })
        }
    }
}
