//! The high-level layer: values that say what they are, one method for each MPI function.

mod arguments;
mod buffers;
#[cfg(doctest)]
pub mod misuse;
mod results;
#[cfg(test)]
mod tests;
mod watch;

use core::ffi::{c_char, c_int, c_void};

use mpi_sys::prototypes::*;

pub use arguments::*;
pub use buffers::*;
pub use results::*;
pub use watch::OwnStatus;
pub(crate) use watch::Snapshot;

use crate::call::{AnyCall, Call, CallResult, KnownCall, once};
use crate::{FunctionId, RawMpiInterceptionLayer, UnsafeBox};
use arguments::{fits, widen};
use buffers::Array;

/// From whom a call receives, or may.
pub type Source<'c> = RankOf<'c, arg::source>;
/// To whom a call sends.
pub type Destination<'c> = RankOf<'c, arg::dest>;
/// The root of a collective operation.
pub type Root<'c> = RankOf<'c, arg::root>;

/// A layer's `around` for all functions that share it.
#[inline(never)]
fn around_any<'c, L: MpiInterceptionLayer + ?Sized>(
    layer: &L,
    call: AnyCall<'c>,
    next: &mut dyn FnMut() -> CallResult<'c>,
) -> CallResult<'c> {
    layer.around(call, next)
}

mpi_sys::mpi_functions! {
    [tool_macros::high_layer]
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
        const WATCHES_COMPLETION: bool = false;

        /// Do the functions that programs do not call in loops share one body of [`around`](Self::around)?
        /// Otherwise each function has its own, in which all that is known of the function is decided when
        /// the tool is compiled: the quickest code, and right for a short `around`. One that does much
        /// becomes so many copies that compiling takes minutes. Communication, and waiting for it, is
        /// never shared.
        const SHARES_AROUND: bool = false;

        /// Every call whose own method is not overridden, for layers that treat all functions alike.
        #[inline(always)]
        fn around<'c>(
            &self,
            call: impl Call<'c>,
            next_f: impl FnOnce() -> CallResult<'c>,
        ) -> CallResult<'c> {
            let _ = call;
            next_f()
        }
    }
}
