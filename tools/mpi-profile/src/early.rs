//! What happens now and then while the program runs: the report's timeline is told when calls were, and a process that may
//! be killed leaves a report.
//!
//! All of it happens in a call of the application's, the first one that ends after it is due. There is no signal and no
//! thread for it.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use mpi_tool_layer::{AnyTable, Clock};

/// When the next thing is due, in ticks.
pub(crate) struct Early {
    /// A call that begins before or ends after is looked at more closely: the timeline wants to know of it, or a report
    /// is due.
    from: AtomicU64,
    to: AtomicU64,
    /// When the next report is due, and how long it is from one to the next.
    report: AtomicU64,
    interval: AtomicU64,
}

impl Early {
    /// Without reports, unless [they are wanted](Self::every). The first call is looked at.
    pub(crate) const fn new() -> Self {
        Self {
            from: AtomicU64::new(0),
            to: AtomicU64::new(0),
            report: AtomicU64::new(u64::MAX),
            interval: AtomicU64::new(u64::MAX),
        }
    }

    /// Reports are wanted every so many seconds; never, if that is 0.
    pub(crate) fn every(&self, seconds: u64) {
        if seconds > 0 {
            let interval = Clock::ticks(seconds.saturating_mul(1_000_000_000)).max(1);
            self.interval.store(interval, Relaxed);
            self.report.store(Clock::now().saturating_add(interval), Relaxed);
        }
    }

    /// A call has ended, whose time is added to the table next.
    #[inline(always)]
    pub(crate) fn look(&self, start: u64, end: u64, table: &AnyTable) {
        if end > self.to.load(Relaxed) || start < self.from.load(Relaxed) {
            self.look_closely(start, end, table);
        }
    }

    #[cold]
    #[inline(never)]
    fn look_closely(&self, start: u64, end: u64, table: &AnyTable) {
        let due = self.report.load(Relaxed);
        let next = end.saturating_add(self.interval.load(Relaxed));
        // One of several threads does it.
        if end > due && self.report.compare_exchange(due, next, Relaxed, Relaxed).is_ok() {
            table.write_early();
        }
        if let Some(stretch) = table.tell(start, end) {
            self.from.store(stretch.from, Relaxed);
            self.to.store(stretch.to.min(self.report.load(Relaxed)), Relaxed);
        }
    }
}
