//! Segments: the time between two events of a thread, which is the application's own, by the rows of both.
//!
//! A table counts in the row of each event how long before it the thread's event before was over, for a few rows of that one;
//! further ones share a small table of the thread's. What has no room there belongs to no segment: a report says how much of
//! the useful time that is.
//!
//! Of all ranks, a segment has their sum, and what the rank with most useful time has. That is enough to say exactly what
//! load imbalance costs, and takes as much memory for a million ranks as for two: whenever two parts of the world are merged,
//! the rank with most useful time of both is the one of one part. When all are merged, the ranks are asked for their own times
//! of the few segments that cost most.

use core::sync::atomic::{
    AtomicU64, AtomicUsize,
    Ordering::{Relaxed, Release},
};
use std::collections::{BTreeMap, BTreeSet};

use super::merged::Spread;
use super::table::Parts;

/// So many rows of the event before have a place at each row.
pub(crate) const CELLS: usize = 4;

/// So many further segments have a place in each thread.
pub(crate) const PAIRS: usize = 4096;

/// So many segments a merged table has; of more, those that took least belong to no segment.
pub(crate) const MOST_SEGMENTS: usize = 1 << 14;

/// So many segments of a merged table have the times of all ranks.
const MOST_BY_RANK: usize = 8;

/// A place at a row, for one row whose events come before this one's: that row's address, or 0 as long as the place is free; and
/// the sum of the times from the end of such an event to the beginning of this row's next one.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Before {
    pub(crate) row: AtomicUsize,
    ticks: AtomicU64,
}

impl Before {
    /// Adds time. Only one thread at a time adds right.
    #[inline(always)]
    pub(crate) fn add(&self, ticks: u64) {
        self.ticks.store(self.ticks.load(Relaxed).wrapping_add(ticks), Relaxed);
    }

    /// What is there.
    pub(crate) fn get(&self) -> (usize, u64) {
        (self.row.load(Relaxed), self.ticks.load(Relaxed))
    }

    /// The same; the time is forgotten.
    pub(crate) fn take(&self) -> (usize, u64) {
        (self.row.load(Relaxed), self.ticks.swap(0, Relaxed))
    }
}

/// A segment that has no place at its row: the addresses of both rows, and the time.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Pair {
    before: AtomicUsize,
    after: AtomicUsize,
    ticks: AtomicU64,
}

impl Pair {
    /// Adds time, if this is the segment's place or nobody's; else the answer is no. Only one thread at a time adds right.
    pub(crate) fn add(&self, before: usize, after: usize, ticks: u64) -> bool {
        let here = (self.before.load(Relaxed), self.after.load(Relaxed));
        if here != (0, 0) && here != (before, after) {
            return false;
        }
        self.ticks.store(self.ticks.load(Relaxed).wrapping_add(ticks), Relaxed);
        self.before.store(before, Relaxed);
        // Who sees the row after it sees the row before it.
        self.after.store(after, Release);
        true
    }

    /// Forgets it.
    pub(crate) fn clear(&self) {
        if self.after.load(Relaxed) != 0 {
            self.after.store(0, Relaxed);
            self.before.store(0, Relaxed);
            self.ticks.store(0, Relaxed);
        }
    }

    /// What is there, if anything is.
    pub(crate) fn get(&self) -> Option<(usize, usize, u64)> {
        let after = self.after.load(core::sync::atomic::Ordering::Acquire);
        let before = self.before.load(Relaxed);
        (after != 0 && before != 0).then(|| (before, after, self.ticks.load(Relaxed)))
    }
}

/// A segment of one rank or of several, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Segment {
    /// Of the ranks that have it.
    pub(crate) times: Spread,
    /// Of the rank with most useful time.
    pub(crate) busiest: u64,
}

/// The segments by their keys: function and site of the event before, the same of the one after, and the phase.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Segments {
    pub(crate) all: BTreeMap<Parts, Segment>,
    /// The times of all ranks, by their numbers, of those that were [asked](Self::worst) for.
    pub(crate) by_rank: BTreeMap<Parts, Vec<u64>>,
}

/// The parts of a segment's key that are sites.
pub(crate) const SITES: [usize; 2] = [1, 3];

impl Segments {
    /// Adds time of one rank.
    pub(crate) fn add_time(&mut self, key: Parts, nanoseconds: u64, rank: u64) {
        let new = || Segment { times: Spread::of(0, rank), busiest: 0 };
        let segment = self.all.entry(key).or_insert_with(new);
        segment.busiest = segment.busiest.saturating_add(nanoseconds);
        segment.times = Spread::of(segment.busiest, rank);
    }

    /// Adds a segment of ranks that have none of this key yet, or have it under another number of a site.
    pub(crate) fn insert(&mut self, key: Parts, more: Segment) {
        self.all
            .entry(key)
            .and_modify(|here| {
                here.times = here.times.and(more.times);
                here.busiest = here.busiest.saturating_add(more.busiest);
            })
            .or_insert(more);
    }

    /// Adds those of other ranks. `keeps_busiest` says that the rank with most useful time of all is one of these here, and
    /// none of the others.
    pub(crate) fn add(&mut self, others: Self, keeps_busiest: bool) {
        if !keeps_busiest {
            self.all.values_mut().for_each(|here| here.busiest = 0);
        }
        for (key, other) in others.all {
            let busiest = if keeps_busiest { 0 } else { other.busiest };
            self.insert(key, Segment { busiest, ..other });
        }
        self.drop_least();
    }

    /// Drops those that took least, if there are too many.
    pub(crate) fn drop_least(&mut self) {
        let Some(more) = self.all.len().checked_sub(MOST_SEGMENTS).filter(|more| *more > 0) else {
            return;
        };
        let mut sums: Vec<_> = self.all.iter().map(|(key, of)| (of.times.sum, *key)).collect();
        sums.sort_unstable();
        for (_, key) in &sums[..more] {
            self.all.remove(key);
        }
    }

    /// Those in which the rank with most useful time takes longest beyond the mean of so many ranks: of these the merged table has
    /// the time of each rank.
    pub(crate) fn worst(&self, ranks: u64) -> BTreeSet<Parts> {
        let beyond = |of: &Segment| of.busiest as f64 - of.times.sum as f64 / ranks as f64;
        let mut worst: Vec<_> = self.all.iter().map(|(key, of)| (beyond(of), *key)).collect();
        worst.retain(|(beyond, _)| *beyond > 0.0);
        worst.sort_by(|(one, one_key), (other, other_key)| {
            other.total_cmp(one).then_with(|| one_key.cmp(other_key))
        });
        worst.into_iter().take(MOST_BY_RANK).map(|(_, key)| key).collect()
    }

    /// Are there any?
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// What of the useful time belongs to no segment: of all ranks, and of the one with most. Less than nothing where several
    /// threads of a rank have segments at the same time.
    pub(crate) fn elsewhere(&self, useful: Spread) -> (i128, i128) {
        let sum = |of: fn(&Segment) -> u64| {
            self.all.values().map(|one| i128::from(of(one))).sum::<i128>()
        };
        (
            i128::from(useful.sum) - sum(|one| one.times.sum),
            i128::from(useful.most.value) - sum(|one| one.busiest),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_rank(rank: u64, times: &[(u32, u64)]) -> Segments {
        let mut segments = Segments::default();
        for (site, time) in times {
            segments.add_time([1, *site, 2, 9, 0], *time, rank);
        }
        segments
    }

    /// By hand: ranks 0, 1 and 2 have useful times of 10, 31 and 16, in the mean 19. Rank 1, which has most, took 20 at site 1
    /// (7, 20 and 9: 12 in the mean) and 8 at site 2 (0, 8 and 4: 4 in the mean), and 3 elsewhere (3, 3 and 3): what it took
    /// beyond the means, 8, 4 and 0, is what it has beyond the mean of all. In whatever order the ranks are merged.
    #[test]
    fn what_the_busiest_rank_took_beyond_the_means_is_the_cost() {
        let rank = |rank| match rank {
            0 => (Spread::of(10, 0), of_rank(0, &[(1, 7)])),
            1 => (Spread::of(31, 1), of_rank(1, &[(1, 20), (2, 8)])),
            _ => (Spread::of(16, 2), of_rank(2, &[(1, 5), (2, 4), (1, 4)])),
        };
        for order in [[0, 1, 2], [1, 2, 0], [2, 1, 0], [2, 0, 1]] {
            let merged =
                order.map(rank).into_iter().reduce(|(useful, mut segments), (more, others)| {
                    let both = useful.and(more);
                    segments.add(others, both.most.rank == useful.most.rank);
                    (both, segments)
                });
            let (useful, segments) = merged.unwrap();
            let told: Vec<_> = segments
                .all
                .values()
                .map(|one| (one.busiest, one.times.sum, one.times.ranks, one.times.most.rank))
                .collect();
            assert_eq!(told, [(20, 36, 3, 1), (8, 12, 2, 1)], "{order:?}");
            assert_eq!(segments.elsewhere(useful), (9, 3), "{order:?}");
            let beyond = |busiest: u64, sum: u64| busiest * 3 - sum;
            let cost = beyond(20, 36) + beyond(8, 12) + beyond(3, 9);
            assert_eq!(cost, useful.most.value * 3 - useful.sum, "{order:?}");
        }
    }

    #[test]
    fn those_that_took_most_are_kept() {
        let mut segments = of_rank(0, &[]);
        for site in 0..MOST_SEGMENTS as u32 {
            segments.add_time([1, site, 2, 9, 0], 100 + u64::from(site), 0);
        }
        let total = segments.all.values().map(|one| one.times.sum).sum::<u64>();
        let more = of_rank(1, &[(MOST_SEGMENTS as u32, 5), (MOST_SEGMENTS as u32 + 1, 1_000_000)]);
        segments.add(more, true);
        assert_eq!(segments.all.len(), MOST_SEGMENTS);
        let (least, most) = ([1, 0, 2, 9, 0], [1, MOST_SEGMENTS as u32 + 1, 2, 9, 0]);
        assert!(!segments.all.contains_key(&least) && segments.all.contains_key(&most));
        let useful = Spread::of(total, 0).and(Spread::of(1_000_005, 1));
        // The one of 100 ns and that of 5 ns are gone.
        assert_eq!(segments.elsewhere(useful).0, 105);
    }
}
