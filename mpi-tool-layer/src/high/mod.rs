//! The high-level layer: values that say what they are, one method for each MPI function.
//!
//! The trait [`MpiInterceptionLayer`], its methods and the types of their next functions ([`next`])
//! expand from the list of functions, by `tool-macros/src/high.rs`. The types of arguments are
//! here: single values (`arguments.rs`), ranks, tags and handles (`call/values.rs`), buffers (`buffers.rs`), what MPI writes
//! (`results.rs`), and what a layer that watches completion has beside them (`watch.rs`).
//!
//! The same expansion makes each high-level layer a raw one: a raw method lifts C's arguments into
//! values (`from_c`), calls the high-level method, and gives it a closure that takes values apart
//! (`into_c`) and calls the next C function. Values go through unchanged, bit by bit, also where
//! the application's arguments are wrong. If a layer changed a wide count so that an `int` does not
//! hold it, the large-count twin is called instead.
//!
//! Parameters become types by these rules (`tool-macros/src/arguments.rs`):
//!
//! * an address with count and datatype is one buffer, and so are arrays of counts with their
//!   displacements and datatypes;
//! * a number of requests and their array are one value;
//! * ranks, tags and handles have types of their own, and so have results that MPI writes and that
//!   a layer may want to read;
//! * all else is a [`Value`], which can be looked at and passed on;
//! * where a function has several parameters of one type, the type names the parameter ([`arg`]).
//!
//! `misuse.rs` shows what does not compile; `tests/` tries all pairs of parameters of all
//! functions.

mod arguments;
mod buffers;
mod fast;
#[cfg(doctest)]
pub mod misuse;
mod results;
#[cfg(test)]
mod tests;
mod watch;

use core::ffi::{c_char, c_int, c_void};
use core::mem::ManuallyDrop;

use mpi_sys::prototypes::*;

pub use arguments::*;
pub use buffers::*;
pub use fast::{FastCall, FastPath, How, MESSAGES, NoFastPath};
pub(crate) use fast::{FastRequests, FastStatuses, MOST as MOST_FAST, OfTheFramework};
pub use results::*;
pub use watch::OwnStatus;
pub(crate) use watch::{OwnStatuses, Snapshot};

pub use crate::call::values::*;
use crate::call::{AnyCall, Call, CallResult, KnownCall, Once, Returns};
use crate::compiled::Seen;
use crate::{Compiled, FunctionId, RawMpiInterceptionLayer, UnsafeBox};
use arguments::{fits, widen};
use buffers::Array;

/// From whom a call receives, or may: the parameter `source` of `MPI_Recv` and of its kin. May be
/// `MPI_ANY_SOURCE` or `MPI_PROC_NULL` ([`RankOf::kind`]).
pub type Source<'c> = RankOf<'c, arg::source>;
/// To whom a call sends: the parameter `dest` of `MPI_Send` and of its kin. May be `MPI_PROC_NULL`.
pub type Destination<'c> = RankOf<'c, arg::dest>;
/// The root of a collective operation: the parameter `root` of `MPI_Bcast` and of its kin. In an
/// inter-communicator it is `MPI_ROOT` at the root, and `MPI_PROC_NULL` at the others of the root's
/// group.
pub type Root<'c> = RankOf<'c, arg::root>;

/// A layer's `around` for all functions that share it.
#[inline(never)]
fn around_any<'c, L: MpiInterceptionLayer + ?Sized>(
    layer: &L,
    call: AnyCall<'c>,
    next: Once<'_, CallResult<'c>>,
) -> CallResult<'c> {
    layer.around(call, || next.call())
}

/// What a layer does with a call whose method it does not override: [`around`](MpiInterceptionLayer::around), compiled
/// for the function or shared with others.
///
/// # Safety
/// `words` are the arguments of the call of the function with this number that `next` passes on, `before` its requests,
/// if there are any. Only `next` writes to `returned`: what the next function has returned.
#[inline(always)]
unsafe fn not_overridden<'c, const FUNCTION: usize, L, F>(
    layer: &L,
    wide: bool,
    words: &[u64],
    before: &[MPI_Request],
    returned: Option<&Returns>,
    next: F,
) -> CallResult<'c>
where
    L: MpiInterceptionLayer + ?Sized,
    F: FnOnce() -> CallResult<'c>,
{
    if const { !L::AROUND[FUNCTION] } {
        return next();
    }
    // `wide` is a constant in the methods of the two functions, into which this is inlined.
    let shares = const {
        L::COMPILED.shares(KnownCall::<FUNCTION>::ID, Seen { around: L::AROUND, untyped: true })
    };
    if shares || wide && const { L::COMPILED.shares_large_counts() } {
        // SAFETY: the slices and the place must be there until `around_any` has returned: the caller lends them for longer.
        let call =
            unsafe { AnyCall::branded(KnownCall::<FUNCTION>::ID, wide, words, before, returned) };
        let mut next = ManuallyDrop::new(next);
        // SAFETY: the variable must be used for nothing else afterwards, which it is not.
        let next = unsafe { Once::new(&mut next) };
        return around_any(layer, call, next);
    }
    // SAFETY: the slices and the place must be there until `around` has returned: the caller lends them for longer.
    let call = unsafe { KnownCall::<FUNCTION>::branded(wide, words, before, returned) };
    layer.around(call, next)
}

tool_macros::high_layer! {
    /// An interception layer over types that say what they are.
    ///
    /// There is a method for each MPI function but those that stay raw: the tool information
    /// interface, the conversion of handles, what returns no error code (`MPI_Wtime`) and
    /// `MPI_Pcontrol`. A function and its large-count twin (`MPI_Send`, `MPI_Send_c`) are one method,
    /// with a wide count. A method that is not overridden goes through [`around`](Self::around), and
    /// if that is not overridden either, costs nothing.
    ///
    /// Every high-level layer is a [raw one](RawMpiInterceptionLayer). To have both in one tool, see
    /// [`LayerChain`](crate::LayerChain).
    ///
    /// A layer is safe code: it can pass on the application's arguments, which it can look at but
    /// not invent, and it returns success only as it got it from the next function. An argument's type
    /// says which parameter it is for ([`arg`]), so that it goes to MPI only where the application has put
    /// it: what compiles passes no length where a count belongs.
    ///
    /// ```
    /// use mpi_tool_layer::{
    ///     CallResult, Communicator, MpiInterceptionLayer, Source, StatusMut, Tag,
    ///     TypeDynamicBufferMut, next,
    /// };
    ///
    /// /// Says what it receives.
    /// struct Curious;
    ///
    /// impl MpiInterceptionLayer for Curious {
    ///     fn recv<'c>(
    ///         &self, next_f: impl next::MPI_Recv<'c>, buf: TypeDynamicBufferMut<'c>,
    ///         source: Source<'c>, tag: Tag, comm: Communicator<'c>, status: StatusMut<'_>,
    ///     ) -> CallResult<'c> {
    ///         let accepted = next_f(buf, source, tag, comm, status)?;
    ///         if let Some(numbers) = buf.to_vec::<i32>(accepted) {
    ///             eprintln!("received {numbers:?}");
    ///         }
    ///         Ok(accepted)
    ///     }
    /// }
    /// ```
    ///
    /// A call cannot be passed on twice, nor success be made up or taken from another call:
    ///
    /// ```compile_fail,E0382
    /// # use mpi_tool_layer::{CallResult, Communicator, MpiInterceptionLayer, next};
    /// struct Twice;
    /// impl MpiInterceptionLayer for Twice {
    ///     fn barrier<'c>(
    ///         &self, next_f: impl next::MPI_Barrier<'c>, comm: Communicator<'c>,
    ///     ) -> CallResult<'c> {
    ///         next_f(comm)?;
    ///         next_f(comm)
    ///     }
    /// }
    /// ```
    ///
    /// ```compile_fail,E0423
    /// # use mpi_tool_layer::{Accepted, CallResult, Communicator, MpiInterceptionLayer, next};
    /// struct Liar;
    /// impl MpiInterceptionLayer for Liar {
    ///     fn barrier<'c>(
    ///         &self, next_f: impl next::MPI_Barrier<'c>, comm: Communicator<'c>,
    ///     ) -> CallResult<'c> {
    ///         Ok(Accepted(std::marker::PhantomData))
    ///     }
    /// }
    /// ```
    pub trait MpiInterceptionLayer: Sync {
        /// Does the layer want to know of every completion, also where the application ignores
        /// statuses? Then calls have [their requests](Call::requests) and [statuses](Call::status).
        ///
        /// It costs a copy of the requests in each call that completes or starts some, without an
        /// allocation for up to 16 of them, and where the application passes `MPI_STATUS_IGNORE` or
        /// `MPI_STATUSES_IGNORE` a status of the framework's that MPI fills instead. It works in
        /// `around` only: a method of the layer's own gets what the application has passed
        /// ([`OwnStatus`]).
        const WATCHES_COMPLETION: bool = false;

        /// For which functions [`around`](Self::around) is compiled.
        const COMPILED: Compiled = Compiled::ForEachFunction;

        /// Every call whose own method is not overridden, for layers that treat all functions
        /// alike.
        ///
        /// `call` says what it is and has, `next_f` passes it on, with the application's arguments.
        /// What is asked of the call before `next_f` has returned is about arguments that MPI has
        /// not checked; whatever wants an [`Accepted`](crate::Accepted) comes after it. Not passing
        /// the call on is possible only by returning an error.
        ///
        /// To be marked `#[inline(always)]` where it is short. How often it is compiled, the layer
        /// [says](Self::COMPILED).
        #[inline(always)]
        fn around<'c>(
            &self,
            call: impl Call<'c>,
            next_f: impl FnOnce() -> CallResult<'c>,
        ) -> CallResult<'c> {
            let _ = call;
            next_f()
        }

        /// The functions, by their numbers, whose calls go through [`around`](Self::around) unless their own method is
        /// overridden. The others' go on at once, as if there were no tool: to be said where a layer looks at some
        /// functions only.
        ///
        /// ```
        /// use mpi_tool_layer::{Call, CallResult, FunctionClass, FunctionId, MpiInterceptionLayer, functions};
        ///
        /// /// Says which files are used.
        /// struct Files;
        ///
        /// impl MpiInterceptionLayer for Files {
        ///     const AROUND: &'static [bool; FunctionId::COUNT] =
        ///         &functions!(|function| matches!(function.class(), FunctionClass::Io));
        ///
        ///     fn around<'c>(
        ///         &self, call: impl Call<'c>, next_f: impl FnOnce() -> CallResult<'c>,
        ///     ) -> CallResult<'c> {
        ///         eprintln!("{}", call.function());
        ///         next_f()
        ///     }
        /// }
        /// ```
        const AROUND: &'static [bool; FunctionId::COUNT] = &[true; FunctionId::COUNT];

        /// The application calls `MPI_Pcontrol` with this level, which is passed on afterwards. What a level means is
        /// the tool's own matter; the standard suggests that 0 switches profiling off, and 1 on. Further arguments of
        /// the application's are not told, as nobody knows whether there are any; of an application that is known to give a
        /// text, [`Caller::text_beside_level`](crate::Caller::text_beside_level) has it.
        #[inline(always)]
        fn profiling_level(&self, level: c_int) {
            let _ = level;
        }

        /// Does the layer see functions without typed arguments, too
        /// ([`around_untyped`](Self::around_untyped))?
        const SEES_UNTYPED: bool = false;

        /// Every call of the functions that have no method here (`MPI_Wtime`, `MPI_Comm_c2f`, `MPI_T_*`), for
        /// layers that count or time all functions. Their results are opaque: `next_f` makes one, and it goes
        /// back. Layers that override this say that they [see such functions](Self::SEES_UNTYPED).
        #[inline(always)]
        fn around_untyped<R>(&self, function: FunctionId, next_f: impl FnOnce() -> R) -> R {
            let _ = function;
            next_f()
        }
    }
}
