//! What ends the use of a window.

use core::cell::Cell;

use super::super::error::{RmpiResult, check};
use super::super::sys::{self, MPI_Win, c_int};

/// What ends an epoch, or completes a part of it.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum End {
    Fence,
    Complete,
    Wait,
    Unlock(c_int),
    UnlockAll,
    Flush(c_int),
    FlushLocal(c_int),
    FlushAll,
    FlushLocalAll,
}

/// Ends what it says once, at the latest when it is dropped.
// Without a lifetime, since what is borrowed for as long as it lives cannot have a drop with one.
#[derive(Debug)]
pub(in super::super) struct Ending {
    pub(in super::super) raw: MPI_Win,
    end: End,
    pub(in super::super) ended: Cell<bool>,
    /// Memory is in use until then.
    pub(in super::super) begun: Cell<bool>,
}

impl Ending {
    #[inline]
    pub(in super::super) const fn new(raw: MPI_Win, end: End) -> Self {
        let exposes = matches!(end, End::Fence | End::Wait);
        Self { raw, end, ended: Cell::new(false), begun: Cell::new(exposes) }
    }

    // Always, where it is known what ends: one call is left of it.
    #[inline(always)]
    pub(in super::super) fn finish(&self) -> RmpiResult {
        if self.ended.replace(true) {
            return Ok(());
        }
        // SAFETY: each function asks for a window, and for the epoch, or the part of one, that it ends. An
        // `Ending` is made where that has begun, is not kept longer than the window is borrowed, and ends it
        // once, which `ended` sees to.
        let result = check(unsafe {
            match self.end {
                End::Fence => sys::MPI_Win_fence(sys::MPI_MODE_NOSUCCEED, self.raw),
                End::Complete => sys::MPI_Win_complete(self.raw),
                End::Wait => sys::MPI_Win_wait(self.raw),
                End::Unlock(rank) => sys::MPI_Win_unlock(rank, self.raw),
                End::UnlockAll => sys::MPI_Win_unlock_all(self.raw),
                End::Flush(rank) => sys::MPI_Win_flush(rank, self.raw),
                End::FlushLocal(rank) => sys::MPI_Win_flush_local(rank, self.raw),
                End::FlushAll => sys::MPI_Win_flush_all(self.raw),
                End::FlushLocalAll => sys::MPI_Win_flush_local_all(self.raw),
            }
        });
        if result.is_err() && self.begun.get() {
            // MPI would go on using memory that is another's from now on.
            not_ended(self.end);
        }
        result
    }

    #[cold]
    fn left(&self) {
        let _ = self.finish();
    }
}

#[cold]
fn not_ended(end: End) -> ! {
    eprintln!("rmpi: MPI did not end the use of a window ({end:?}); aborting");
    std::process::abort()
}

impl Drop for Ending {
    #[inline]
    fn drop(&mut self) {
        if !self.ended.get() {
            self.left();
        }
    }
}
