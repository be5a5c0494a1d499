//! The values that the methods of a high-level layer get: the application's arguments, grouped, each
//! of a type that says what it is. Ranks, tags and handles, which any call has, are in `call/values.rs`.
//!
//! Values are made of any bits that an application passes, and go on as the same bits. What is looked
//! at without asking MPI is there at once; what MPI must be asked for wants the proof that MPI has
//! [accepted](crate::Accepted) the call.
//!
//! A value belongs to one parameter of one call. The lifetime `'c` is the call's, which no other call
//! has; the *role*, a type of [`arg`](super::arg), is the parameter. So safe code can hand MPI a count,
//! a length, a rank or a handle only where the application has handed it to MPI. To make another value is
//! `unsafe`, except of tags, colors and keys, which no memory depends on.

use core::ffi::c_int;
use core::marker::PhantomData;

use crate::call::{Brand, Rank, RankKind};

/// An integer in a type that has all of its values: as `From`, which knows nothing of `isize`, the
/// standard ABI's `MPI_Aint`. The list pairs the types of a function with those of its large-count
/// twin.
pub(super) trait Widen<W> {
    /// The same number.
    fn widen(self) -> W;
}

/// The pairs of types that the list has, each of which must not lose anything.
macro_rules! widen {
    ($($narrow:ty => $wide:ty;)*) => {$(
        impl Widen<$wide> for $narrow {
            #[inline(always)]
            fn widen(self) -> $wide {
                const { assert!(size_of::<$narrow>() <= size_of::<$wide>()) };
                self as $wide
            }
        }
    )*};
}
widen! {
    i32 => i64;
    i32 => isize;
    i64 => i64;
    isize => i64;
}

/// A narrow count as a wide one: on the way from C to a method, if the application has called the
/// function without `_c`.
#[inline(always)]
pub(super) fn widen<W>(narrow: impl Widen<W>) -> W {
    narrow.widen()
}

/// Does a narrowed count stand for the same number? If not, a call goes on by the large-count twin.
#[inline(always)]
pub(super) fn fits<W: Copy + PartialEq>(wide: W, narrow: impl Widen<W>) -> bool {
    wide == narrow.widen()
}

/// The argument of a parameter that is a rank; the application's. `R` says which parameter
/// ([`arg`](super::arg)), `'c` of which call.
///
/// [`Source`](super::Source), [`Destination`](super::Destination) and [`Root`](super::Root) are the
/// most frequent ones; `RankOf<'c, arg::local_leader>` is another. It may be any number: nothing
/// has been checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankOf<'c, R> {
    rank: Rank,
    brand: Brand<'c>,
    role: PhantomData<R>,
}

impl<R> RankOf<'_, R> {
    /// C's argument, as the value of this parameter.
    #[inline(always)]
    pub(super) const fn from_c(raw: c_int) -> Self {
        Self { rank: Rank::new(raw), brand: PhantomData, role: PhantomData }
    }

    /// The value, as C's argument.
    #[inline(always)]
    pub(super) const fn into_c(self) -> c_int {
        self.rank.raw()
    }

    /// The rank, to look at and to keep.
    #[inline(always)]
    pub const fn rank(self) -> Rank {
        self.rank
    }

    /// What it says.
    #[inline(always)]
    pub const fn kind(self) -> RankKind {
        self.rank.kind()
    }

    /// C's value.
    #[inline(always)]
    pub const fn raw(self) -> c_int {
        self.rank.raw()
    }

    /// Another rank than the application's, for this parameter.
    ///
    /// # Safety
    /// The call is right with this rank, here and in the processes that it concerns. At a root, for
    /// example, MPI writes through pointers that mean nothing elsewhere; and what is sent to
    /// another process must fit what that process receives.
    #[inline(always)]
    pub const unsafe fn new(rank: Rank) -> Self {
        Self::from_c(rank.raw())
    }
}

/// Numbers that mean no memory and no process: safe code may make others. What MPI does with a
/// wrong one is an error, and never more than that.
macro_rules! numbers {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub struct $name(c_int);

        impl $name {
            /// Of C's value.
            #[inline(always)]
            pub const fn new(raw: c_int) -> Self {
                Self(raw)
            }

            /// C's value.
            #[inline(always)]
            pub const fn raw(self) -> c_int {
                self.0
            }

            #[inline(always)]
            pub(super) const fn from_c(raw: c_int) -> Self {
                Self(raw)
            }

            #[inline(always)]
            pub(super) const fn into_c(self) -> c_int {
                self.0
            }
        }
    )*};
}

numbers! {
    /// The processes with one color get a communicator together (`MPI_Comm_split`). `MPI_UNDEFINED`
    /// is a color, too: the process gets none.
    Color;
    /// In the order of their keys, the processes of a new communicator get their ranks. Among equal
    /// keys, the old ranks decide.
    Key;
}

/// The argument of a parameter that has no type of its own: can be looked at and passed on. `T` is
/// C's type, `R` the parameter ([`arg`](super::arg)). So `nnodes` of `MPI_Dims_create` is a
/// `Value<'c, c_int, arg::nnodes>`, and its array a `Value<'c, *mut c_int, arg::dims>`; where a
/// function has a large-count twin, `T` is the twin's type.
///
/// Addresses are among them: of strings, arrays, callbacks and of results that are written later.
/// To follow one is the layer's own `unsafe`, by what the standard says of the parameter and by
/// what MPI has made of the call. Numbers are the application's, right or wrong.
#[derive(Debug, Clone, Copy)]
pub struct Value<'c, T, R> {
    value: T,
    brand: Brand<'c>,
    role: PhantomData<R>,
}

impl<T: Copy, R> Value<'_, T, R> {
    /// C's argument, as the value of this parameter.
    #[inline(always)]
    pub(super) const fn from_c(value: T) -> Self {
        Self { value, brand: PhantomData, role: PhantomData }
    }

    /// The value, as C's argument.
    #[inline(always)]
    pub(super) const fn into_c(self) -> T {
        self.value
    }

    /// C's value: what the application has passed.
    #[inline(always)]
    pub const fn get(self) -> T {
        self.value
    }

    /// Another value than the application's, for this parameter.
    ///
    /// # Safety
    /// The call is right with this value: a length, for example, is not more than the memory has
    /// that another argument points to, and an address leads to what MPI reads or writes there, for
    /// as long as it does.
    #[inline(always)]
    pub const unsafe fn new(value: T) -> Self {
        Self::from_c(value)
    }
}
