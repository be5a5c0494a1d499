//! How often a layer's code is compiled.
//!
//! The compiler would make a copy of a layer's `around` for each of 700 functions, and for each role of the tool: as
//! it is preloaded, and as a level of a stack. Copies are what makes an empty tool two instructions, and what makes a
//! large tool take minutes. A layer chooses, function by function only as far as [`Compiled`] goes.

use crate::high::HAS_METHOD;
use crate::host::lifecycle::is_watched;
use crate::{FunctionClass, FunctionId, RawMpiInterceptionLayer};

/// For which functions the compiler makes a copy of a layer's `around`.
///
/// In a copy, all that is known of a function is decided when the tool is compiled, and passing the call on costs
/// nothing. But MPI has 700 functions, and each copy takes time to compile. Functions that a layer overrides by their
/// own methods have code of their own in any case.
///
/// The six functions by which a tool sees MPI come and go, such as `MPI_Init`, are never shared.
///
/// ```
/// use std::time::Instant;
///
/// use mpi_tool_layer::{Compiled, FunctionId, RawMpiInterceptionLayer, UnsafeBox};
///
/// /// Says which calls take long.
/// struct Slow;
///
/// // SAFETY: every call goes on to MPI as it came, and its result goes back.
/// unsafe impl RawMpiInterceptionLayer for Slow {
///     // Reading the clock costs more than to share the code.
///     const COMPILED: Compiled = Compiled::Once;
///
///     fn around<F, R>(&self, function: FunctionId, call: UnsafeBox<'_, F>) -> R
///     where
///         F: FnOnce() -> R,
///     {
///         let start = Instant::now();
///         // SAFETY: the application's own call.
///         let result = unsafe { call.unwrap()() };
///         if start.elapsed().as_secs() > 0 {
///             eprintln!("{function} took {:?}", start.elapsed());
///         }
///         result
///     }
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compiled {
    /// For each function: right for an `around` of a few instructions, such as a counter's. A layer that
    /// overrides no `around` costs nothing in functions that it leaves alone.
    ForEachFunction,
    /// For functions that programs call in loops: communication, and waiting for it. The others share one copy, as
    /// do the functions with large counts. Right where `around` does much, and must be quick all the same.
    ForCommunication,
    /// For the same functions, once for both roles: a preloaded tool goes through the copy that a level of a stack has, which
    /// costs some five instructions a call. Right where the calls that must be quickest have a [fast
    /// path](crate::FastPath).
    HotFunctionsShared,
    /// For none: all share one copy, which costs some thirty instructions a call. Such a tool compiles in seconds. What
    /// a layer's `next_f` holds is leaked if the layer does not call it: the framework's own holds nothing.
    Once,
}

impl Compiled {
    /// Has the function, which the layer sees, no copy of its own?
    const fn shares_seen(self, function: FunctionId) -> bool {
        match self {
            Self::ForEachFunction => false,
            Self::ForCommunication | Self::HotFunctionsShared => {
                !is_called_in_loops(function) || function.is_large_count()
            }
            Self::Once => true,
        }
    }

    /// Has the function no copy of its own? What the layer does not see goes on at once.
    pub(crate) const fn shares(self, function: FunctionId, seen: Seen) -> bool {
        seen.has(function) && self.shares_seen(function)
    }

    /// Does a preloaded tool go through the entry of a level? What shares its code has one copy for both roles in any case.
    pub(crate) const fn shares_roles(self, function: FunctionId, seen: Seen) -> bool {
        let in_one_role = matches!(self, Self::HotFunctionsShared);
        seen.has(function) && (in_one_role || self.shares_seen(function))
    }

    /// Do functions with large counts have no copies, whatever those have that they are the twins of?
    pub(crate) const fn shares_large_counts(self) -> bool {
        !matches!(self, Self::ForEachFunction)
    }

    /// Of two layers that are chained, the one with fewer copies.
    pub(crate) const fn and(self, other: Self) -> Self {
        if self as u8 > other as u8 { self } else { other }
    }
}

/// Which functions a layer sees.
#[derive(Clone, Copy)]
pub(crate) struct Seen {
    /// Of those that have a method in high-level layers.
    pub(crate) around: &'static [bool; FunctionId::COUNT],
    /// The others.
    pub(crate) untyped: bool,
}

impl Seen {
    /// What a layer says.
    pub(crate) const fn by<L: RawMpiInterceptionLayer + ?Sized>() -> Self {
        Self { around: L::AROUND, untyped: L::SEES_RAW }
    }

    /// Is a call of the function the layer's matter? The tool itself watches some functions.
    const fn has(self, function: FunctionId) -> bool {
        let index = function as usize;
        !is_watched(function) && if HAS_METHOD[index] { self.around[index] } else { self.untyped }
    }
}

/// Do programs call the function where it must be quick?
const fn is_called_in_loops(function: FunctionId) -> bool {
    use FunctionClass::{Collective, Completion, OneSided, Partitioned, PointToPoint};
    // Operations with neighbours are not among them: each sends and receives several messages.
    matches!(function.class(), PointToPoint | Completion | Collective | OneSided | Partitioned)
        && !matches!(function.name().as_bytes(), [.., b'_', b'i', b'n', b'i', b't'])
}
