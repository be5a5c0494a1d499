//! What a program says where an epoch begins.

use core::ffi::c_int;

use super::super::error::{Error, ErrorClass, RmpiResult};
use super::super::sys;

/// What a program promises where an epoch begins (MPI-5.0, 12.5.5), so that MPI can do less.
///
/// rmpi itself says `MPI_MODE_NOPRECEDE` and `MPI_MODE_NOSUCCEED` at a pair of fences, where they are
/// true.
///
/// MPI believes each of them, and does less where it is given: so all but [`NONE`](Self::NONE) are
/// unsafe to make.
///
/// ```
/// use rmpi::Assertion;
/// // SAFETY: nothing is put where this is used, and nothing was stored before.
/// let reads_only = unsafe { Assertion::nostore() | Assertion::noput() };
/// assert_ne!(reads_only, Assertion::NONE);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Assertion(u8);

impl Assertion {
    /// Nothing is promised (0).
    pub const NONE: Self = Self(0);

    /// This process has not written to its memory since the last synchronisation; for
    /// [`fence`](super::super::Window::fence) and [`post`](super::super::Window::post) (`MPI_MODE_NOSTORE`).
    ///
    /// # Safety
    /// Wherever the assertion is given, this process has not written to its memory of the window since the last
    /// synchronisation: by no store, and by no get or receive into it.
    pub const unsafe fn nostore() -> Self {
        Self(1)
    }

    /// No process writes to this one's memory in the epoch; for [`fence`](super::super::Window::fence) and
    /// [`post`](super::super::Window::post) (`MPI_MODE_NOPUT`).
    ///
    /// # Safety
    /// Wherever the assertion is given, no process puts or accumulates to this one's memory until the epoch
    /// that begins there ends.
    pub const unsafe fn noput() -> Self {
        Self(2)
    }

    /// Nothing has to be waited for: the matching posts are complete, or no lock conflicts; for
    /// [`post`](super::super::Window::post), [`start`](super::super::Window::start),
    /// [`lock`](super::super::Window::lock) and [`lock_all`](super::super::Window::lock_all)
    /// (`MPI_MODE_NOCHECK`).
    ///
    /// # Safety
    /// Wherever the assertion is given: in [`post`](super::super::Window::post), no process of the group has
    /// called `start` yet, and all will with this assertion; in [`start`](super::super::Window::start), all
    /// processes of the group have returned from `post`, with this assertion; in a lock, no other process has a
    /// lock that conflicts with it, or asks for one, until it is unlocked.
    pub const unsafe fn nocheck() -> Self {
        Self(4)
    }

    /// Does it promise all that the other does?
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// C's number, of these flags only.
    #[inline]
    pub(super) fn within(self, allowed: u8) -> RmpiResult<c_int> {
        if self.0 & !allowed != 0 {
            return Err(Error::refused(ErrorClass::ASSERT, "such an assertion is for others"));
        }
        let flag = |bit, raw| if self.0 & bit == 0 { 0 } else { raw };
        Ok(flag(1, sys::MPI_MODE_NOSTORE)
            | flag(2, sys::MPI_MODE_NOPUT)
            | flag(4, sys::MPI_MODE_NOCHECK))
    }
}

impl core::ops::BitOr for Assertion {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Who else may have a lock at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockType {
    /// Nobody (`MPI_LOCK_EXCLUSIVE`).
    Exclusive,
    /// Others with a shared lock (`MPI_LOCK_SHARED`).
    Shared,
}

impl LockType {
    /// C's number.
    pub const fn into_raw(self) -> c_int {
        match self {
            Self::Exclusive => sys::MPI_LOCK_EXCLUSIVE,
            Self::Shared => sys::MPI_LOCK_SHARED,
        }
    }
}
