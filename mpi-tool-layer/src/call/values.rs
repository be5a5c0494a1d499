//! What a call names: ranks, tags and handles, as the application has passed them.
//!
//! They are made of any bits, and go on as the same bits. What MPI must be asked for wants the proof that MPI has
//! [accepted](Accepted) the call. A handle belongs to one parameter of one call, as all values of the high-level layer do
//! (`high/arguments.rs`).

use core::ffi::c_int;
use core::marker::PhantomData;

use mpi_sys::pmpi;
use mpi_sys::*;

use super::asking::UsedDatatype;
use super::kinds::Brand;
use super::returned::{Accepted, ErrorCode};
use crate::FunctionId;

/// The role of a handle whose function has one parameter for handles of its type: the type says it
/// all, and need not name the parameter. It is the default of [`Communicator`] and its kin, so that
/// `Communicator<'c>` is the type to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Only {}

/// A rank, or what stands for one: what a call says of its peers. It is a number to look at, to
/// compare and to keep. To MPI goes a [`RankOf`](crate::RankOf), which belongs to a parameter of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rank(c_int);

/// What a rank argument says: the special values of the ABI, told apart from ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RankKind {
    /// A process, by its rank in the communicator, window or group of the call. Whether there are
    /// so many is not checked.
    Rank(u32),
    /// `MPI_ANY_SOURCE`: whoever has sent a message that fits. The status says who it was.
    AnySource,
    /// `MPI_PROC_NULL`: nobody. Communication with it succeeds and moves nothing.
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

    /// What it says. Costs a few comparisons and no question to MPI.
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

/// A tag, or any: the parameter `tag` of messages, and their like. A layer may make another one,
/// since no memory depends on it: `next_f(buf, source, Tag::new(5), comm, status)`. The receiver,
/// or the sender, must do the same then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tag(c_int);

/// What a tag argument says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TagKind {
    /// This one. The largest that MPI allows is the attribute `MPI_TAG_UB` of `MPI_COMM_WORLD`;
    /// nothing is checked here.
    Tag(u32),
    /// `MPI_ANY_TAG`: a receive or a probe takes any.
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
    pub(crate) const fn from_c(raw: c_int) -> Self {
        Self(raw)
    }

    #[inline(always)]
    pub(crate) const fn into_c(self) -> c_int {
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

/// Handles of the application's. One is a number or an address, by the ABI, and is passed on as it
/// is. It may be null, freed or none at all, until MPI has accepted the call; and it may be so
/// afterwards, where MPI did not look at it.
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
            /// C's argument, as the value of this parameter.
            #[inline(always)]
            pub(crate) const fn from_c(raw: $raw) -> Self {
                Self { raw, brand: PhantomData, role: PhantomData }
            }

            /// The value, as C's argument.
            #[inline(always)]
            pub(crate) const fn into_c(self) -> $raw {
                self.raw
            }

            /// C's handle: whatever the application has passed. A key of a
            /// [`HandleMap`](crate::HandleMap), for example. What MPI is asked about it is unsafe,
            /// and right only where the call has used it.
            #[inline(always)]
            pub const fn raw(self) -> $raw {
                self.raw
            }

            /// Another handle than the application's, for this parameter: a communicator that the
            /// layer has duplicated, for example.
            ///
            /// # Safety
            /// As MPI asks of the function that it is passed to: the handle is valid as long as the
            /// call, or the operation that it starts, needs it, and the call's other arguments are
            /// right with it. A datatype, for example, fits the buffer's memory, and a communicator
            /// has the root and the group that the arguments mean.
            #[inline(always)]
            pub const unsafe fn from_raw(raw: $raw) -> Self {
                Self::from_c(raw)
            }

            /// Is it the null handle (`MPI_COMM_NULL` and its like)? A comparison, and no question
            /// to MPI.
            #[inline(always)]
            pub fn is_null(self) -> bool {
                self.raw == $null
            }
        }
    )*};
}

handles! {
    /// A communicator, as the application has passed it: `MPI_Comm`. What a layer wants to know of
    /// it, it asks after the call: in an accepted call that communicates, it is valid in every
    /// process.
    Communicator: MPI_Comm, pmpi::MPI_COMM_NULL;
    /// A datatype, as the application has passed it: `MPI_Datatype`. Those that belong to a buffer
    /// are in the buffer. [`Datatypes`](crate::Datatypes) says what they are made of.
    Datatype: MPI_Datatype, pmpi::MPI_DATATYPE_NULL;
    /// A group, as the application has passed it: `MPI_Group`.
    Group: MPI_Group, pmpi::MPI_GROUP_NULL;
    /// A reduction operation, as the application has passed it: `MPI_Op`. It may be one of the
    /// application's own, which MPI calls back.
    Operation: MPI_Op, pmpi::MPI_OP_NULL;
    /// A window, as the application has passed it: `MPI_Win`.
    Window: MPI_Win, pmpi::MPI_WIN_NULL;
    /// A file, as the application has passed it: `MPI_File`. Null is allowed where a function is
    /// about all files (`MPI_File_set_errhandler`).
    File: MPI_File, pmpi::MPI_FILE_NULL;
    /// A session, as the application has passed it: `MPI_Session`.
    Session: MPI_Session, pmpi::MPI_SESSION_NULL;
    /// An info object, as the application has passed it: `MPI_Info`. It is null where there is
    /// nothing to say.
    Info: MPI_Info, pmpi::MPI_INFO_NULL;
    /// An error handler, as the application has passed it: `MPI_Errhandler`.
    Errhandler: MPI_Errhandler, pmpi::MPI_ERRHANDLER_NULL;
    /// A request that the function only looks at: `MPI_Request`, of `MPI_Request_get_status` for
    /// example. Those that a function may change are [`InOut`](crate::InOut) or
    /// [`RequestsMut`](crate::RequestsMut).
    Request: MPI_Request, pmpi::MPI_REQUEST_NULL;
}

impl<R> Datatype<'_, R> {
    /// How many bytes of data an element has (`MPI_Type_size`); 0 of `MPI_DATATYPE_NULL`. A
    /// question to MPI each time.
    ///
    /// # Safety
    /// MPI has used the datatype in the call that the `Accepted` is of. That a call was accepted
    /// does not say so: MPI need not look at a datatype where the count is 0, where the other
    /// process is `MPI_PROC_NULL`, or where the argument is significant in other processes only.
    /// Asked about a wrong handle, MPI calls the application's error handler.
    /// [`Transfer::bytes`](crate::Transfer::bytes) knows all that and is safe.
    pub unsafe fn size(self, _: Accepted<'_>) -> u64 {
        // SAFETY: the handle must be of a datatype that MPI has used in a call that is not over. It
        // has used it, as the caller promises, and the call is not over as long as there is its
        // `Accepted`.
        unsafe { UsedDatatype::assume(self.raw) }.map_or(0, UsedDatatype::size)
    }
}

macro_rules! raises {
    ($($name:ident: $raise:ident;)*) => {$(
        impl<R> $name<'_, R> {
            /// Raises an error, as MPI would in this call: the application's error handler is called with it, which may end the
            /// program. For a layer that lets a call fail, and returns the error instead of passing the call on.
            pub fn raise(self, error: ErrorCode) -> ErrorCode {
                if pmpi::available(FunctionId::$raise as usize) {
                    // SAFETY: the handle must be valid. The application passes it to MPI in this call, as the standard asks,
                    // and MPI would ask this object for its error handler, too.
                    unsafe { pmpi::$raise(self.raw, error.get()) };
                }
                error
            }
        }
    )*};
}
raises! {
    Communicator: MPI_Comm_call_errhandler;
    Window: MPI_Win_call_errhandler;
    File: MPI_File_call_errhandler;
}
