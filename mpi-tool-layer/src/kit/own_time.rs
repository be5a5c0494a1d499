//! From when to when the time outside of events is the application's own: since `MPI_Init` has returned, and until
//! `MPI_Finalize` is called.

use core::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// The moments, and what was in events before.
#[derive(Debug)]
pub(crate) struct OwnTime {
    /// In ticks; 0 as long as it has not come.
    moment: AtomicU64,
    /// The time in events up to then, in ticks.
    inside: AtomicU64,
    /// When it ended, in ticks; 0 as long as it goes on.
    end: AtomicU64,
    /// It has begun.
    has_begun: AtomicBool,
    /// How many more beginnings than ends there were: the world's, and those of sessions.
    open: AtomicU32,
}

impl OwnTime {
    pub(crate) const fn new() -> Self {
        Self {
            moment: AtomicU64::new(0),
            inside: AtomicU64::new(0),
            end: AtomicU64::new(0),
            has_begun: AtomicBool::new(false),
            open: AtomicU32::new(0),
        }
    }

    /// It begins now, unless it has begun before: then it goes on, if it had ended. `inside` says what was in events up to now.
    pub(crate) fn begin(&self, moment: u64, inside: impl FnOnce() -> u64) -> bool {
        self.open.fetch_add(1, Relaxed);
        self.end.store(0, Relaxed);
        if self.moment.compare_exchange(0, moment.max(1), Relaxed, Relaxed).is_err() {
            return false;
        }
        self.inside.store(inside(), Relaxed);
        self.has_begun.store(true, Release);
        true
    }

    /// What began with one of the beginnings ends now, and with the last of them all of it.
    pub(crate) fn finish(&self, moment: u64) {
        let less = |open: u32| open.checked_sub(1);
        if self.open.fetch_update(Relaxed, Relaxed, less).unwrap_or(1) == 1 {
            self.end.store(moment, Relaxed);
        }
    }

    /// How long it is by now, in ticks; and what was in events before it began. Nothing if it has not begun.
    pub(crate) fn since(&self, now: u64) -> Option<(u64, u64)> {
        let (moment, inside) = self.began()?;
        let end = match self.end.load(Relaxed) {
            0 => now,
            end => end,
        };
        Some((end.saturating_sub(moment), inside))
    }

    /// When it began, and what was in events before, in ticks.
    fn began(&self) -> Option<(u64, u64)> {
        self.has_begun.load(Acquire).then(|| (self.moment.load(Relaxed), self.inside.load(Relaxed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_begins_once_and_may_go_on() {
        let own = OwnTime::new();
        assert_eq!(own.since(5), None);
        assert!(own.begin(7, || 3));
        assert!(!own.begin(9, || 4));
        assert_eq!(own.since(17), Some((10, 3)));
        own.finish(11);
        assert_eq!(own.since(17), Some((10, 3)));
        own.finish(12);
        assert_eq!(own.since(17), Some((5, 3)));
        assert!(!own.begin(13, || 4));
        assert_eq!(own.since(17), Some((10, 3)));
    }
}
