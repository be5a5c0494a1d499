//! Non-blocking and persistent sends.

use rmpi_macros::wraps;

use super::super::buffer::BufferRef;
use super::super::error::RmpiResult;
use super::super::request::{OwnedRequest, PersistentRequest, Request, Scope};
use super::Process;
use super::object::call;
use crate::MessageTag;

/// The brace that ends an unsafe block, where there is one.
macro_rules! close {
    (unsafe) => {
        " }"
    };
}

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
