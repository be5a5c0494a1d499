//! The values that the methods of a high-level layer get: the application's arguments, grouped, each
//! of a type that says what it is.
//!
//! Values are made of any bits that an application passes, and go on as the same bits. What is looked
//! at without asking MPI is there at once; what MPI must be asked for wants the proof that MPI has
//! [accepted](Accepted) the call.
//!
//! A value belongs to one parameter of one call. The lifetime `'c` is the call's, which no other call
//! has; the *role*, a type of [`arg`](super::arg), is the parameter. So safe code can hand MPI a count,
//! a length, a rank or a handle only where the application has handed it to MPI. To make another value is
//! `unsafe`, except of tags, colors and keys, which no memory depends on.

use core::ffi::c_int;
use core::marker::PhantomData;

use mpi_sys::pmpi;
use mpi_sys::*;

use crate::asking::UsedDatatype;
use crate::call::{Accepted, Brand};

/// The role of a handle whose function has one parameter for handles of its type: the type says it all,
/// and need not name the parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Only {}

/// An integer in a type that has all of its values: as `From`, which knows nothing of `isize`, the
/// standard ABI's `MPI_Aint`.
pub(super) trait Widen<W> {
    fn widen(self) -> W;
}

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

/// A narrow count as a wide one.
#[inline(always)]
pub(super) fn widen<W>(narrow: impl Widen<W>) -> W {
    narrow.widen()
}

/// Does a narrowed count stand for the same number?
#[inline(always)]
pub(super) fn fits<W: Copy + PartialEq>(wide: W, narrow: impl Widen<W>) -> bool {
    wide == narrow.widen()
}

/// A rank, or what stands for one: what a call says of its peers. To MPI goes a [`RankOf`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rank(c_int);

/// What a rank argument says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RankKind {
    /// A process, by its rank in the communicator, window or group of the call.
    Rank(u32),
    /// `MPI_ANY_SOURCE`.
    AnySource,
    /// `MPI_PROC_NULL`: nobody.
    ProcNull,
    /// `MPI_ROOT`: this process is the root of a collective operation between groups.
    Root,
    /// No rank: the application's mistake.
    Invalid(c_int),
}

impl Rank {
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

    /// What it says.
    pub const fn kind(self) -> RankKind {
        match self.0 {
            MPI_ANY_SOURCE => RankKind::AnySource,
            MPI_PROC_NULL => RankKind::ProcNull,
            MPI_ROOT => RankKind::Root,
            rank if rank >= 0 => RankKind::Rank(rank as u32),
            invalid => RankKind::Invalid(invalid),
        }
    }
}

/// The argument of a parameter that is a rank; the application's.
///
/// [`Source`](super::Source), [`Destination`](super::Destination) and [`Root`](super::Root) are the
/// most frequent ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankOf<'c, R> {
    rank: Rank,
    brand: Brand<'c>,
    role: PhantomData<R>,
}

impl<R> RankOf<'_, R> {
    #[inline(always)]
    pub(super) const fn from_c(raw: c_int) -> Self {
        Self { rank: Rank(raw), brand: PhantomData, role: PhantomData }
    }

    #[inline(always)]
    pub(super) const fn into_c(self) -> c_int {
        self.rank.0
    }

    /// The rank, to look at.
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
        self.rank.0
    }

    /// Another rank than the application's.
    ///
    /// # Safety
    /// The call is right with this rank, here and in the processes that it concerns. At a root, for
    /// example, MPI writes through pointers that mean nothing elsewhere; and what is sent to another
    /// process must fit what that process receives.
    #[inline(always)]
    pub const unsafe fn new(rank: Rank) -> Self {
        Self::from_c(rank.0)
    }
}

/// A tag, or any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tag(c_int);

/// What a tag argument says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TagKind {
    /// This one.
    Tag(u32),
    /// `MPI_ANY_TAG`.
    Any,
    /// No tag: the application's mistake.
    Invalid(c_int),
}

impl Tag {
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

    /// What it says.
    pub const fn kind(self) -> TagKind {
        match self.0 {
            MPI_ANY_TAG => TagKind::Any,
            tag if tag >= 0 => TagKind::Tag(tag as u32),
            invalid => TagKind::Invalid(invalid),
        }
    }
}

/// Numbers that mean no memory and no process: safe code may make others.
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
    /// The processes with one color get a communicator together (`MPI_Comm_split`).
    Color;
    /// In the order of their keys, the processes of a new communicator get their ranks.
    Key;
}

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident: $raw:ty, $null:path;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $name<'c, R = Only> {
            raw: $raw,
            brand: Brand<'c>,
            role: PhantomData<R>,
        }

        impl<R> $name<'_, R> {
            #[inline(always)]
            pub(crate) const fn from_c(raw: $raw) -> Self {
                Self { raw, brand: PhantomData, role: PhantomData }
            }

            #[inline(always)]
            pub(crate) const fn into_c(self) -> $raw {
                self.raw
            }

            /// C's handle: whatever the application has passed.
            #[inline(always)]
            pub const fn raw(self) -> $raw {
                self.raw
            }

            /// Another handle than the application's.
            ///
            /// # Safety
            /// As MPI asks of the function that it is passed to.
            #[inline(always)]
            pub const unsafe fn from_raw(raw: $raw) -> Self {
                Self::from_c(raw)
            }

            /// Is it the null handle?
            #[inline(always)]
            pub fn is_null(self) -> bool {
                self.raw == $null
            }
        }
    )*};
}

handles! {
    /// A communicator, as the application has passed it.
    Communicator: MPI_Comm, pmpi::MPI_COMM_NULL;
    /// A datatype, as the application has passed it.
    Datatype: MPI_Datatype, pmpi::MPI_DATATYPE_NULL;
    /// A group, as the application has passed it.
    Group: MPI_Group, pmpi::MPI_GROUP_NULL;
    /// A reduction operation, as the application has passed it.
    Operation: MPI_Op, pmpi::MPI_OP_NULL;
    /// A window, as the application has passed it.
    Window: MPI_Win, pmpi::MPI_WIN_NULL;
    /// A file, as the application has passed it.
    File: MPI_File, pmpi::MPI_FILE_NULL;
    /// A session, as the application has passed it.
    Session: MPI_Session, pmpi::MPI_SESSION_NULL;
    /// An info object, as the application has passed it.
    Info: MPI_Info, pmpi::MPI_INFO_NULL;
    /// An error handler, as the application has passed it.
    Errhandler: MPI_Errhandler, pmpi::MPI_ERRHANDLER_NULL;
    /// A request that the function only looks at.
    Request: MPI_Request, pmpi::MPI_REQUEST_NULL;
}

impl<R> Datatype<'_, R> {
    /// How many bytes of data an element has (`MPI_Type_size`); 0 of `MPI_DATATYPE_NULL`.
    ///
    /// # Safety
    /// MPI has used the datatype in the call. That a call was accepted does not say so: MPI need not
    /// look at a datatype where the count is 0, where the other process is `MPI_PROC_NULL`, or
    /// where the argument is significant in other processes only. Asked about a wrong handle, MPI calls the
    /// application's error handler. [`Transfer::bytes`](crate::Transfer::bytes) knows all that
    /// and is safe.
    pub unsafe fn size(self, _: Accepted<'_>) -> u64 {
        // SAFETY: the caller's promise; the call is not over as long as there is its `Accepted`.
        unsafe { UsedDatatype::assume(self.raw) }.map_or(0, UsedDatatype::size)
    }
}

/// The argument of a parameter that has no type of its own: can be looked at and passed on.
#[derive(Debug, Clone, Copy)]
pub struct Value<'c, T, R> {
    value: T,
    brand: Brand<'c>,
    role: PhantomData<R>,
}

impl<T: Copy, R> Value<'_, T, R> {
    #[inline(always)]
    pub(super) const fn from_c(value: T) -> Self {
        Self { value, brand: PhantomData, role: PhantomData }
    }

    #[inline(always)]
    pub(super) const fn into_c(self) -> T {
        self.value
    }

    /// C's value.
    #[inline(always)]
    pub const fn get(self) -> T {
        self.value
    }

    /// Another value than the application's.
    ///
    /// # Safety
    /// The call is right with this value: a length, for example, is not more than the memory has that
    /// another argument points to.
    #[inline(always)]
    pub const unsafe fn new(value: T) -> Self {
        Self::from_c(value)
    }
}
