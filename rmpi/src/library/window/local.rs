//! This process's own memory, while nobody else accesses it.

use core::slice;

use rmpi_macros::wraps;

use super::super::error::{RmpiResult, check};
use super::super::sys;
use super::agreed::Core;
use super::ending::{End, Ending};
use super::{Active, Passive, Window};
use crate::MpiDatatype;

impl<T: MpiDatatype> Window<'_, T, Active> {
    /// This process's memory, which nobody else accesses outside of epochs.
    pub fn local(&self) -> &[T] {
        // SAFETY: `from_raw_parts` asks for so many initialised elements to which nobody writes while the slice
        // lives. The memory has so many, or dangles if they have no bytes. The other processes access it only
        // in an epoch of theirs that MPI lets begin with one of this process's, which borrows the window
        // mutably.
        unsafe { slice::from_raw_parts(self.core.memory.cast(), self.core.length()) }
    }

    /// This process's memory, which nobody else accesses outside of epochs.
    pub fn local_mut(&mut self) -> &mut [T] {
        // SAFETY: `from_raw_parts_mut` asks for so many initialised elements that nobody else uses while the
        // slice lives. As in `local`, only an epoch lets others use them, and `self` is borrowed mutably.
        unsafe { slice::from_raw_parts_mut(self.core.memory.cast(), self.core.length()) }
    }
}

impl<T: MpiDatatype> Window<'_, T, Passive> {
    /// Runs a function on this process's memory while no other accesses it: in an exclusive lock. C:
    /// `MPI_Win_lock` with `MPI_LOCK_EXCLUSIVE` and this process's rank, and `MPI_Win_unlock`. Blocks while
    /// others have the lock.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(mut window: rmpi::Window<'_, f64, rmpi::Passive>) -> rmpi::RmpiResult {
    /// let sum: f64 = window.lock_local(|memory| memory.iter().sum())?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Win_lock)]
    pub fn lock_local<R>(&mut self, f: impl FnOnce(&mut [T]) -> R) -> RmpiResult<R> {
        let memory = (self.core.memory.cast(), self.core.length());
        // SAFETY: `locked` asks for the window's memory, so many initialised elements that others access with a
        // lock: `core` has its address and length, and windows with `Passive` epochs have no others.
        unsafe { locked(&mut self.core, memory, mpi, f) }
    }
}

/// Runs a function on memory of this process, in an exclusive lock.
///
/// # Safety
/// The memory is this process's in the window, so many initialised elements of which any bits are values, or it
/// dangles if they have no bytes. There are no references to it, and other processes access it only in epochs
/// with a lock. The window is in no epoch.
pub(super) unsafe fn locked<T, R>(
    core: &mut Core,
    (memory, length): (*mut T, usize),
    mpi: impl crate::call::MPI_Win_lock,
    f: impl FnOnce(&mut [T]) -> R,
) -> RmpiResult<R> {
    let rank = core.rank as i32;
    // SAFETY: `MPI_Win_lock` asks for a window in no epoch, which the caller promises, and a rank of it, which
    // this process's is.
    check(unsafe { mpi.call(sys::MPI_LOCK_EXCLUSIVE, rank, 0, core.raw) })?;
    // Its drop unlocks, also when the function panics.
    let end = Ending::new(core.raw, End::Unlock(rank));
    // SAFETY: `from_raw_parts_mut` asks for so many elements that nobody else uses while the slice lives: the
    // caller promises them. Other processes need a lock, which they do not get until `end` has unlocked; here,
    // `core` is borrowed.
    let result = f(unsafe { slice::from_raw_parts_mut(memory, length) });
    end.finish()?;
    Ok(result)
}
