//! Epochs in which the targets do nothing: with locks.

use core::ffi::c_int;

use rmpi_macros::wraps;

use super::super::error::{Error, ErrorClass, RmpiResult, check};
use super::super::window::{End, Passive, Window};
use super::object::{ALL, run};
use super::{Assertion, Epoch, LockType, Locked, LockedAll};

impl<T, M> Window<'_, T, Passive, M> {
    /// Runs a function in an epoch with a lock of one process's memory. C: `MPI_Win_lock` before,
    /// which may block while others have the lock, and `MPI_Win_unlock` after, when all is complete.
    /// The other process need do nothing.
    ///
    /// # Errors
    /// What the function says; [`ASSERT`](ErrorClass::ASSERT) if the assertion is another function's;
    /// [`RANK`](ErrorClass::RANK) if there is no such process; what MPI says.
    ///
    /// ```no_run
    /// use rmpi::{Assertion, LockType};
    /// # fn example(mut window: rmpi::Window<'_, f64, rmpi::Passive>) -> rmpi::RmpiResult {
    /// window.lock(LockType::Exclusive, 0, Assertion::NONE, |epoch| epoch.target().put(&[1.0], 3))
    /// # }
    /// ```
    #[wraps(MPI_Win_lock)]
    pub fn lock<'env, F, R>(
        &'env mut self,
        lock_type: LockType,
        rank: usize,
        assertion: Assertion,
        f: F,
    ) -> RmpiResult<R>
    where
        F: for<'e> FnOnce(&'e Epoch<'e, 'env, T, Locked>) -> RmpiResult<R>,
    {
        let assert = assertion.within(4)?;
        if rank >= self.core.lengths.len() {
            return Err(Error::refused(ErrorClass::RANK, "the window has no process of that rank"));
        }
        let rank = rank as c_int;
        // SAFETY: `MPI_Win_lock` asks for a rank of the window, which was checked above, and for a window in no
        // epoch: each borrows the window mutably, as this one does. What is asserted was promised.
        check(unsafe { mpi.call(lock_type.into_raw(), rank, assert, self.core.raw) })?;
        run!(Epoch::new(&self.core, self.number(), rank, End::Unlock(rank)), f)
    }

    /// Runs a function in an epoch with a shared lock of all processes' memory. C: `MPI_Win_lock_all`
    /// before, and `MPI_Win_unlock_all` after, when all is complete. Not collective.
    ///
    /// # Errors
    /// As [`lock`](Self::lock).
    ///
    /// ```no_run
    /// use rmpi::{Assertion, MpiOp};
    /// # fn example(mut window: rmpi::Window<'_, i64, rmpi::Passive>) -> rmpi::RmpiResult {
    /// let mut before = 0;
    /// window.lock_all(Assertion::NONE, |epoch| {
    ///     epoch.process(0).fetch_and_op(&1, &mut before, 0, MpiOp::SUM)
    /// })?;
    /// println!("the {before}th");
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Win_lock_all)]
    pub fn lock_all<'env, F, R>(&'env mut self, assertion: Assertion, f: F) -> RmpiResult<R>
    where
        F: for<'e> FnOnce(&'e Epoch<'e, 'env, T, LockedAll>) -> RmpiResult<R>,
    {
        let assert = assertion.within(4)?;
        // SAFETY: `MPI_Win_lock_all` asks for a window in no epoch: each borrows the window mutably, as this
        // one does. What is asserted was promised.
        check(unsafe { mpi.call(assert, self.core.raw) })?;
        run!(Epoch::new(&self.core, self.number(), ALL, End::UnlockAll), f)
    }
}
