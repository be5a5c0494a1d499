//! Operations are completed before the epoch ends.

use core::ffi::c_int;

use rmpi_macros::wraps;

use super::super::error::{Error, ErrorClass, RmpiResult, check};
use super::super::window::End;
use super::object::run;
use super::{AccessesPassively, Epoch, Locked};

/// Functions that complete what an epoch began.
macro_rules! flushes {
    ($($(#[$doc:meta])* $name:ident $batch:ident = $function:ident, $end:ident, $local:literal;)*) => {$(
        $(#[$doc])*
        #[doc = concat!(" C: `", stringify!($function), "`. ", $local)]
        ///
        /// The buffers stay borrowed:
        #[doc = concat!("[`", stringify!($batch), "`](Self::", stringify!($batch), ") gives them back.")]
        ///
        /// # Errors
        /// What MPI says.
        ///
        /// ```no_run
        /// # fn example(epoch: &rmpi::Epoch<'_, '_, f64, rmpi::LockedAll>) -> rmpi::RmpiResult {
        #[doc = concat!("epoch.", stringify!($name), "()?;")]
        /// # Ok(()) }
        /// ```
        #[wraps($function)]
        pub fn $name(&self) -> RmpiResult {
            // SAFETY: the function asks for a window in an epoch of passive targets, which this is by its `K`, and
            // which does not end while it is borrowed.
            check(unsafe { mpi.call(self.core.raw) })
        }

        #[doc = concat!("Runs a function in a part of the epoch, after which [`", stringify!($name), "`](Self::", stringify!($name), ")")]
        /// completes all that was begun; the buffers are free again.
        #[doc = concat!(" C: `", stringify!($function), "`, after. ", $local)]
        ///
        /// # Errors
        /// What the function says, and MPI.
        ///
        /// ```no_run
        /// # fn example(epoch: &rmpi::Epoch<'_, '_, f64, rmpi::LockedAll>) -> rmpi::RmpiResult {
        /// let mut got = [0.0; 4];
        #[doc = concat!("epoch.", stringify!($batch), "(|part| part.process(0).get(&mut got, 0))?;")]
        /// println!("{got:?}");
        /// # Ok(()) }
        /// ```
        #[inline]
        pub fn $batch<'part, F, R>(&'part self, f: F) -> RmpiResult<R>
        where
            F: for<'p> FnOnce(&'p Epoch<'p, 'part, T, K>) -> RmpiResult<R>,
        {
            run!(Epoch::new(self.core, self.number, self.locked, End::$end), f)
        }
    )*};
}

impl<T, K: AccessesPassively> Epoch<'_, '_, T, K> {
    flushes! {
        /// Completes all operations of this epoch, here and there.
        flush_all flushed_all = MPI_Win_flush_all, FlushAll, "Blocks.";
        /// Completes all operations of this epoch here: what was read is there, what was written can be
        /// changed.
        flush_local_all flushed_local_all = MPI_Win_flush_local_all, FlushLocalAll, "Blocks.";
    }

    /// Makes what the processes of a node write to shared memory, and what MPI does, visible to one
    /// another. C: `MPI_Win_sync`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(epoch: &rmpi::Epoch<'_, '_, f64, rmpi::LockedAll>) -> rmpi::RmpiResult {
    /// epoch.sync()
    /// # }
    /// ```
    #[wraps(MPI_Win_sync)]
    pub fn sync(&self) -> RmpiResult {
        // SAFETY: `MPI_Win_sync` asks for a window in an epoch of passive targets, which this is by its `K`, and
        // which does not end while it is borrowed.
        check(unsafe { mpi.call(self.core.raw) })
    }
}

/// As above, for one process.
macro_rules! flushes_one {
    ($($(#[$doc:meta])* $name:ident $batch:ident = $function:ident, $end:ident;)*) => {$(
        $(#[$doc])*
        #[doc = concat!(" C: `", stringify!($function), "`. Blocks.")]
        ///
        /// The buffers stay borrowed:
        #[doc = concat!("[`", stringify!($batch), "`](Self::", stringify!($batch), ") gives them back.")]
        ///
        /// # Errors
        /// What MPI says.
        ///
        /// ```no_run
        /// # fn example(epoch: &rmpi::Epoch<'_, '_, f64, rmpi::LockedAll>) -> rmpi::RmpiResult {
        #[doc = concat!("epoch.", stringify!($name), "(1)?;")]
        /// # Ok(()) }
        /// ```
        #[wraps($function)]
        pub fn $name(&self, rank: usize) -> RmpiResult {
            let rank = self.rank(rank)?;
            // SAFETY: the function asks for a window in an epoch of passive targets, which this is by its `K`, and
            // for a rank that is locked, which `rank` has made sure of.
            check(unsafe { mpi.call(rank, self.core.raw) })
        }

        #[doc = concat!("Runs a function in a part of the epoch, after which [`", stringify!($name), "`](Self::", stringify!($name), ")")]
        /// completes all that was begun, which is with this process; the buffers are free again.
        #[doc = concat!(" C: `", stringify!($function), "`, after. Blocks.")]
        ///
        /// # Errors
        /// What the function says, and MPI.
        ///
        /// ```no_run
        /// # fn example(epoch: &rmpi::Epoch<'_, '_, f64, rmpi::LockedAll>) -> rmpi::RmpiResult {
        /// let mut got = [0.0; 4];
        #[doc = concat!("epoch.", stringify!($batch), "(1, |part| part.target().get(&mut got, 0))?;")]
        /// println!("{got:?}");
        /// # Ok(()) }
        /// ```
        #[inline]
        pub fn $batch<'part, F, R>(&'part self, rank: usize, f: F) -> RmpiResult<R>
        where
            F: for<'p> FnOnce(&'p Epoch<'p, 'part, T, Locked>) -> RmpiResult<R>,
        {
            let rank = self.rank(rank)?;
            run!(Epoch::new(self.core, self.number, rank, End::$end(rank)), f)
        }
    )*};
}

impl<T, K: AccessesPassively> Epoch<'_, '_, T, K> {
    flushes_one! {
        /// Completes the operations of this epoch with one process, here and there.
        flush flushed = MPI_Win_flush, Flush;
        /// Completes the operations of this epoch with one process here: what was read is there, what
        /// was written can be changed.
        flush_local flushed_local = MPI_Win_flush_local, FlushLocal;
    }

    /// A rank that is locked.
    #[inline]
    fn rank(&self, rank: usize) -> RmpiResult<c_int> {
        if rank >= self.core.lengths.len() || !self.is_locked(rank) {
            return Err(Error::refused(ErrorClass::RANK, "no process of that rank is locked"));
        }
        Ok(rank as c_int)
    }
}
