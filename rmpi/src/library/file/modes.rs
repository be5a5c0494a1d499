//! How a file is opened, where its pointers are moved from, and what is seen of it.

use super::super::derived::Datatype;
use super::super::sys::{self, c_int};

/// How a file is opened (MPI-5.0, 14.2.1): exactly one of [`RDONLY`](Self::RDONLY),
/// [`WRONLY`](Self::WRONLY) and [`RDWR`](Self::RDWR), and others with it.
///
/// ```
/// use rmpi::AccessMode;
/// let mode = AccessMode::CREATE | AccessMode::RDWR;
/// assert!(mode.contains(AccessMode::CREATE) && !mode.contains(AccessMode::EXCL));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct AccessMode(pub(super) c_int);

macro_rules! modes {
    ($($(#[$doc:meta])* $name:ident = $constant:ident,)*) => {
        impl AccessMode {$(
            $(#[$doc])*
            #[doc = concat!(" (`", stringify!($constant), "`)")]
            pub const $name: Self = Self(sys::$constant);
        )*}
    };
}

modes! {
    /// Only reads.
    RDONLY = MPI_MODE_RDONLY,
    /// Only writes.
    WRONLY = MPI_MODE_WRONLY,
    /// Reads and writes.
    RDWR = MPI_MODE_RDWR,
    /// Creates the file if there is none.
    CREATE = MPI_MODE_CREATE,
    /// With [`CREATE`](Self::CREATE), an error if there is one.
    EXCL = MPI_MODE_EXCL,
    /// Deletes the file when it is closed.
    DELETE_ON_CLOSE = MPI_MODE_DELETE_ON_CLOSE,
    /// Nobody else opens the file.
    UNIQUE_OPEN = MPI_MODE_UNIQUE_OPEN,
    /// Only sequential access, by the shared file pointer.
    SEQUENTIAL = MPI_MODE_SEQUENTIAL,
    /// All file pointers begin at the end.
    APPEND = MPI_MODE_APPEND,
}

impl AccessMode {
    /// The mode of C's number.
    pub const fn from_raw(raw: c_int) -> Self {
        Self(raw)
    }

    /// C's number.
    pub const fn into_raw(self) -> c_int {
        self.0
    }

    /// Does it have all flags of the other?
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl core::ops::BitOr for AccessMode {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// What the offset of a [`seek`](super::File::seek) starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Whence {
    /// The start of the view (`MPI_SEEK_SET`).
    Set,
    /// Where the pointer is (`MPI_SEEK_CUR`).
    Current,
    /// The end of the file (`MPI_SEEK_END`).
    End,
}

impl Whence {
    /// C's number.
    pub const fn into_raw(self) -> c_int {
        match self {
            Self::Set => sys::MPI_SEEK_SET,
            Self::Current => sys::MPI_SEEK_CUR,
            Self::End => sys::MPI_SEEK_END,
        }
    }
}

/// What a process sees of a file (MPI-5.0, 14.3): see [`File::get_view`](super::File::get_view).
#[derive(Debug)]
pub struct View<'ctx> {
    /// Bytes before the first element.
    pub displacement: u64,
    /// What offsets count.
    pub etype: Datatype<'ctx>,
    /// Which elements are there, again and again.
    pub filetype: Datatype<'ctx>,
    /// How they look in the file: `native`, `internal`, `external32` or another.
    pub datarep: String,
}
