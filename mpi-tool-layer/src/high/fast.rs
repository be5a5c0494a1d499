//! The fast path of a tool: calls that it passes on in a few instructions, before the layer's other code.
//!
//! What a layer does with messages that carry data needs many registers, and the compiler saves them at the beginning of
//! the function, also for calls that need none of it. So a function of a preloaded tool may have a *fast path*: code of its
//! own, which handles a call or jumps to the rest with all arguments where they are.
//!
//! A layer does not know of this. A tool names its fast path where it is installed, and the bodies of exported functions
//! (`host/entry/fast.rs`) decide there, for each function, which of the two a call takes.

use core::ffi::c_int;
use core::mem::MaybeUninit;

use mpi_facts::{Completion, FunctionClass, NONE, Pattern, Shape, Timing};
use mpi_sys::{MPI_Request, MPI_Status};

use crate::call::{Call, CallResult, KnownCall, Word};
use crate::{FunctionId, functions};

/// What a tool does for speed: how it passes on some calls in a preloaded tool, as few instructions as can be, in place of
/// the layer's methods.
///
/// A tool names a type with this trait where it is installed: `install_qmpi_layer!(Layer, name = "my-tool",
/// fast_path = Fast)`. Without one, and in a level of a stack, all calls go through the layer. The layer must do the same
/// with them, more slowly: a fast path may [fall back](FastCall::fall_back) at any call.
///
/// ```
/// use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
///
/// use mpi_tool_layer::{
///     Call, CallResult, FastCall, FastPath, FunctionId, MESSAGES, MpiInterceptionLayer,
/// };
///
/// /// Says what messages there are, while it is told to.
/// struct Loud(AtomicBool);
///
/// impl MpiInterceptionLayer for Loud {
///     fn around<'c>(
///         &self, call: impl Call<'c>, next_f: impl FnOnce() -> CallResult<'c>,
///     ) -> CallResult<'c> {
///         if self.0.load(Relaxed) {
///             eprintln!("{} with tag {:?}", call.function(), call.tag());
///         }
///         next_f()
///     }
/// }
///
/// struct Silent;
///
/// impl FastPath<Loud> for Silent {
///     const FUNCTIONS: &'static [bool; FunctionId::COUNT] = &MESSAGES;
///
///     fn around<'c>(layer: &Loud, _: impl Call<'c>, next: impl FastCall<'c>) -> CallResult<'c> {
///         if layer.0.load(Relaxed) { next.fall_back() } else { next.pass_on() }
///     }
/// }
/// ```
pub trait FastPath<L: ?Sized>: 'static {
    /// The functions with a fast path, by their numbers. Only functions that return an error code, and none that starts
    /// or ends MPI: others do not compile.
    const FUNCTIONS: &'static [bool; FunctionId::COUNT];

    /// Do calls have their [status](crate::Call::status) here, also where the application ignores it? Then
    /// [`pass_on`](FastCall::pass_on) lends MPI one, for a few instructions in each function that receives.
    const LENDS_STATUS: bool = false;

    /// Does this call take the fast path? To be told by the arguments: each call of the [functions](Self::FUNCTIONS) asks,
    /// before any register is saved. Tools with `optional_call_sites` do not ask.
    #[inline(always)]
    fn takes<'c>(layer: &L, call: impl Call<'c>) -> bool {
        let _ = (layer, call);
        true
    }

    /// Passes on a call, or leaves it to the layer. To be marked `#[inline(always)]`.
    ///
    /// The call's [status](crate::Call::status) is what the application has passed, unless MPI is
    /// [lent](Self::LENDS_STATUS) another.
    fn around<'c>(layer: &L, call: impl Call<'c>, next: impl FastCall<'c>) -> CallResult<'c>;
}

/// The fast path of tools that have none.
#[doc(hidden)]
#[derive(Debug)]
pub struct NoFastPath;

impl<L: ?Sized> FastPath<L> for NoFastPath {
    const FUNCTIONS: &'static [bool; FunctionId::COUNT] = &[false; FunctionId::COUNT];

    #[inline(always)]
    fn around<'c>(_: &L, _: impl Call<'c>, next: impl FastCall<'c>) -> CallResult<'c> {
        next.fall_back()
    }
}

/// What becomes of a call on its [fast path](FastPath::around): one of two things, once. Only the framework makes one.
///
/// Its methods are always inlined. A closure cannot be, and one that is compiled as a function of its own has all arguments
/// stored and loaded again.
#[allow(private_bounds, reason = "the framework's own")]
pub trait FastCall<'c>: OfTheFramework + Sized {
    /// Has the tool noted down where the call comes from? Known when the layer is compiled. Not of calls that
    /// [come without](crate::Caller::skip_caller_capture) that.
    fn has_caller(&self) -> bool;

    /// Did the exported function find that one thread calls MPI, and that it is in no other call
    /// ([`NotesMessages`](crate::NotesMessages))? Known when the layer is compiled.
    fn is_alone(&self) -> bool;

    /// Passes the call on, with the application's arguments.
    fn pass_on(self) -> CallResult<'c>;

    /// Leaves the call to the layer. What is done before this and after it should be little: at best it is a
    /// jump.
    fn fall_back(self) -> CallResult<'c>;
}

/// Nobody else makes such a type: a fast path believes what it says.
pub(crate) trait OfTheFramework {}

/// How a call has come to its fast path.
#[doc(hidden)]
#[derive(Debug, Clone, Copy)]
pub struct How;

impl How {
    /// Without a note of its caller.
    pub const BARE: u8 = 0;
    /// With one.
    pub const WITH_CALLER: u8 = 1;
    /// As the only thread's, and in no other call: the exported function has found [`OPEN`](crate::NotesMessages::OPEN).
    pub const ALONE: u8 = 2;
}

/// The functions that send or receive messages and are over when they return, such as `MPI_Send`, `MPI_Recv` and
/// `MPI_Sendrecv`, for [`FastPath::FUNCTIONS`]. Their large-count twins are not among them.
pub const MESSAGES: [bool; FunctionId::COUNT] = functions!(|function| {
    let shape = Shape::of(function);
    matches!(shape.class, FunctionClass::PointToPoint)
        && matches!(shape.pattern, Pattern::Send | Pattern::Receive | Pattern::SendReceive)
        && matches!(shape.timing, Timing::Blocking)
        && matches!(shape.completion, Completion::None)
        && (shape.destination != NONE || shape.source != NONE)
        && !function.is_large_count()
});

/// The requests of a call on its fast path, as they were before it: none but of functions that complete requests.
pub(crate) struct FastRequests {
    first: [MaybeUninit<MPI_Request>; MOST],
    length: usize,
}

/// Calls with more requests do not take the fast path.
pub(crate) const MOST: usize = 16;

impl FastRequests {
    /// A copy of them; `None` of too many, and of what is no array.
    ///
    /// # Safety
    /// `words` are the arguments of a call of the function, which is about to go to MPI.
    #[inline(always)]
    pub(crate) unsafe fn of<const FUNCTION: usize>(words: &[u64]) -> Option<Self> {
        let shape = const { Shape::of(KnownCall::<FUNCTION>::ID) };
        let mut copy = Self { first: [const { MaybeUninit::uninit() }; MOST], length: 0 };
        if matches!(shape.completion, Completion::None) {
            return Some(copy);
        }
        let requests: *const MPI_Request = Word::from_word(words[usize::from(shape.requests)]);
        copy.length = if shape.request_count == NONE {
            1
        } else {
            usize::try_from(c_int::from_word(words[usize::from(shape.request_count)])).ok()?
        };
        if requests.is_null() || copy.length > MOST {
            return None;
        }
        for (index, place) in copy.first[..copy.length].iter_mut().enumerate() {
            // SAFETY: so many requests must be there. The application passes the address of one, or of an array and its
            // length, as the standard asks, and with any other address MPI itself would read there in this call.
            place.write(unsafe { *requests.add(index) });
        }
        Some(copy)
    }

    /// The copy.
    #[inline(always)]
    pub(crate) fn as_slice(&self) -> &[MPI_Request] {
        // SAFETY: the first `length` elements must be initialised, which `of` has done.
        unsafe { core::slice::from_raw_parts(self.first.as_ptr().cast(), self.length) }
    }
}

/// Statuses for a call on its fast path whose own the application ignores: none, one, or one for each request.
pub(crate) struct FastStatuses<const MOST: usize>([MaybeUninit<MPI_Status>; MOST]);

impl<const MOST: usize> FastStatuses<MOST> {
    /// Not set yet.
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; MOST])
    }

    /// The application's, or so many of these if it ignores its own: of zeros, since MPI does not set all of them.
    #[inline(always)]
    pub(crate) fn unless_kept(
        &mut self,
        statuses: *mut MPI_Status,
        ignored: *mut MPI_Status,
        count: usize,
    ) -> *mut MPI_Status {
        match self.0.get_mut(..count) {
            Some(own) if statuses == ignored && MOST > 0 => {
                own.fill_with(MaybeUninit::zeroed);
                self.0.as_mut_ptr().cast()
            }
            _ => statuses,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the standard's chapter on messages.
    #[test]
    fn messages_are_those_of_the_standard() {
        let messages: Vec<_> =
            FunctionId::all().filter(|function| MESSAGES[*function as usize]).collect();
        use FunctionId::*;
        let all = [
            MPI_Bsend,
            MPI_Recv,
            MPI_Rsend,
            MPI_Send,
            MPI_Sendrecv,
            MPI_Sendrecv_replace,
            MPI_Ssend,
        ];
        assert!(all.iter().all(|function| messages.contains(function)), "{messages:?}");
        assert_eq!(messages.len(), all.len(), "{messages:?}");
    }
}
