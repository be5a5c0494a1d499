//! Reports before the end, so that a program that is killed leaves one.
//!
//! A process writes its report in a call of the application's: the first one that ends after it is due. There is no
//! signal and no thread for it.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mpi_tool_layer::{AnyTable, Clock};

/// When the next report is due, and how long it is from one to the next, in ticks.
pub(crate) struct Early {
    due: AtomicU64,
    interval: AtomicU64,
}

impl Early {
    /// None, unless [they are wanted](Self::every).
    pub(crate) const fn never() -> Self {
        Self { due: AtomicU64::new(u64::MAX), interval: AtomicU64::new(u64::MAX) }
    }

    /// Reports are wanted every so many seconds; never, if that is 0.
    pub(crate) fn every(&self, seconds: u64) {
        if seconds > 0 {
            let interval = Clock::ticks(seconds.saturating_mul(1_000_000_000)).max(1);
            self.interval.store(interval, Relaxed);
            self.due.store(Clock::now().saturating_add(interval), Relaxed);
        }
    }

    /// A call has ended: writes a report if one is due.
    #[inline(always)]
    pub(crate) fn look(&self, now: u64, table: &AnyTable) {
        let due = self.due.load(Relaxed);
        if now > due {
            self.write(now, due, table);
        }
    }

    #[cold]
    #[inline(never)]
    fn write(&self, now: u64, due: u64, table: &AnyTable) {
        let next = now.saturating_add(self.interval.load(Relaxed));
        // One of several threads does it.
        if self.due.compare_exchange(due, next, Relaxed, Relaxed).is_ok() {
            table.write_early();
        }
    }
}
