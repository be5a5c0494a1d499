//! What happens now and then while the program runs: the report's timeline is told when calls were, and a process that may
//! be killed leaves a report.
//!
//! All of it happens in a call of the application's, the first one that ends after it is due. There is no signal and no
//! thread for it.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mpi_tool_layer::{AnyTable, Clock};

/// When the next report is due, in ticks.
pub(crate) struct Early {
    report: AtomicU64,
    /// How long it is from one report to the next.
    interval: AtomicU64,
}

impl Early {
    /// Without reports, unless [they are wanted](Self::every).
    pub(crate) const fn new() -> Self {
        Self { report: AtomicU64::new(u64::MAX), interval: AtomicU64::new(u64::MAX) }
    }

    /// Reports are wanted every so many seconds; never, if that is 0.
    pub(crate) fn every(&self, seconds: u64) {
        if seconds > 0 {
            let interval = Clock::ticks(seconds.saturating_mul(1_000_000_000)).max(1);
            self.interval.store(interval, Relaxed);
            self.report.store(Clock::now().saturating_add(interval), Relaxed);
        }
    }

    /// A call has ended, whose time is added to the table next: the timeline wants to know of it, or a report is due.
    /// Returns until when the thread's further calls need not be looked at. They begin after this one, so that their ends
    /// are enough to tell.
    #[cold]
    #[inline(never)]
    pub(crate) fn look(&self, start: u64, end: u64, table: &AnyTable) -> u64 {
        let due = self.report.load(Relaxed);
        let next = end.saturating_add(self.interval.load(Relaxed));
        // One of several threads does it.
        if end > due && self.report.compare_exchange(due, next, Relaxed, Relaxed).is_ok() {
            table.write_early();
        }
        // If another thread is telling the timeline, this one looks again next time.
        table.tell(start, end).map_or(0, |stretch| stretch.to.min(self.report.load(Relaxed)))
    }
}
