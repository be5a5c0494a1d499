//! How much of each stretch of the run a table's time is: a row of bins for each rank, for a picture of rank by time.
//!
//! The bins of a process are [`WIDTH`] wide at first. When the last of the [`BINS`] is full, each two become one of twice
//! the width, so a run of any length has between half of them and all. A process adds to its bins only when a call ends in
//! another bin than the last one did; what calls took since then is read off the table, so an ordinary call costs two
//! comparisons.

use core::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

use super::Clock;

/// So many bins a process has.
const BINS: usize = 200;

/// How wide the bins are at first, in nanoseconds.
const WIDTH: u64 = 10_000_000;

/// Bins are doubled at most so often: they are 300 years wide then.
const MOST_LEVEL: u32 = 40;

/// So many rows are kept of all ranks: where there are more, neighbours become one.
const MOST_ROWS: usize = 256;

/// A share in thousandths.
pub(crate) type Share = u16;

/// How much of each stretch of the run this process spent in what a [`Table`](super::Table) measures first.
#[derive(Debug)]
pub(crate) struct Timeline {
    /// Somebody is changing it.
    busy: AtomicBool,
    /// When the first bin begins, in ticks; 0 before that.
    start: AtomicU64,
    /// How wide a bin is at first, in ticks.
    width: AtomicU64,
    /// How often the bins were doubled.
    level: AtomicU32,
    /// The bin in which the last call ended that changed anything.
    last: AtomicUsize,
    /// How much of the table's time is in bins.
    known: AtomicU64,
    bins: [AtomicU64; BINS],
}

/// The stretch of time whose calls need not be told to a table ([`AnyTable::tell`](super::AnyTable::tell)), in ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// When it begins.
    pub from: u64,
    /// When it ends.
    pub to: u64,
}

impl Timeline {
    pub(crate) const fn new() -> Self {
        Self {
            busy: AtomicBool::new(false),
            start: AtomicU64::new(0),
            width: AtomicU64::new(0),
            level: AtomicU32::new(0),
            last: AtomicUsize::new(0),
            known: AtomicU64::new(0),
            bins: [const { AtomicU64::new(0) }; BINS],
        }
    }

    /// A call took from `start` to `end`, in ticks, and is not among the `total` ticks of calls before. Returns until when,
    /// and from when on, calls need not be told one by one; nothing if another thread, or what this interrupts, is at work
    /// here: the call's time is then found in a bin in which a later call ends.
    pub(crate) fn call(&self, start: u64, end: u64, total: u64) -> Option<Stretch> {
        self.busy.compare_exchange(false, true, Acquire, Relaxed).ok()?;
        if self.start.load(Relaxed) == 0 {
            self.width.store(Clock::ticks(WIDTH).max(1), Relaxed);
            self.start.store(start.max(1), Relaxed);
        }
        let own = end.saturating_sub(start);
        let known = self.known.load(Relaxed);
        let before = total.saturating_sub(known);
        self.add(self.last.load(Relaxed), before);
        self.known.store(known.saturating_add(before).saturating_add(own), Relaxed);
        while self.index(end) >= BINS && self.level.load(Relaxed) < MOST_LEVEL {
            self.double();
        }
        let (first, last) = (self.index(start).min(BINS - 1), self.index(end).min(BINS - 1));
        for index in first..=last {
            let stretch = self.stretch(index);
            let part = end.min(stretch.to).saturating_sub(start.max(stretch.from));
            self.add(index, part);
        }
        self.last.store(last, Relaxed);
        let stretch = self.stretch(last);
        self.busy.store(false, Release);
        Some(stretch)
    }

    fn add(&self, index: usize, ticks: u64) {
        // Only one thread does so at a time.
        let sum = self.bins[index].load(Relaxed).saturating_add(ticks);
        self.bins[index].store(sum, Relaxed);
    }

    /// How wide a bin is now.
    fn width(&self) -> u64 {
        self.width.load(Relaxed).max(1) << self.level.load(Relaxed).min(MOST_LEVEL)
    }

    /// The bin of a moment, which may be behind the last one.
    fn index(&self, moment: u64) -> usize {
        (moment.saturating_sub(self.start.load(Relaxed)) / self.width()) as usize
    }

    fn stretch(&self, index: usize) -> Stretch {
        let from = self.start.load(Relaxed) + index as u64 * self.width();
        Stretch { from, to: from + self.width() }
    }

    /// Makes one bin of each two.
    fn double(&self) {
        for index in 0..BINS {
            let of = |index: usize| self.bins.get(index).map_or(0, |bin| bin.load(Relaxed));
            let sum = of(2 * index).saturating_add(of(2 * index + 1));
            self.bins[index].store(sum, Relaxed);
        }
        self.last.store(self.last.load(Relaxed) / 2, Relaxed);
        self.level.fetch_add(1, Relaxed);
    }

    /// The shares up to a moment at which the table's time is `total`. Takes no lock: a reader in a signal handler may find
    /// a bin that is being changed.
    pub(crate) fn shares(&self, now: u64, total: u64) -> Shares {
        let mut shares = Shares::NONE;
        if self.start.load(Relaxed) == 0 {
            return shares;
        }
        shares.level = self.level.load(Relaxed);
        let mut ticks: [u64; BINS] = core::array::from_fn(|index| self.bins[index].load(Relaxed));
        let last = self.last.load(Relaxed).min(BINS - 1);
        ticks[last] = ticks[last].saturating_add(total.saturating_sub(self.known.load(Relaxed)));
        let mut width = self.width();
        let passed = now.saturating_sub(self.start.load(Relaxed));
        while passed / width >= BINS as u64 && shares.level < MOST_LEVEL {
            for index in 0..BINS {
                let of = |index: usize| ticks.get(index).copied().unwrap_or(0);
                ticks[index] = of(2 * index).saturating_add(of(2 * index + 1));
            }
            (width, shares.level) = (width * 2, shares.level + 1);
        }
        shares.length = ((passed / width) as usize + 1).min(BINS);
        for (index, share) in shares.bins[..shares.length].iter_mut().enumerate() {
            let covered = passed.saturating_sub(index as u64 * width).clamp(1, width);
            // Several threads in MPI are together in it for longer than the time that passes.
            *share = (ticks[index] as f64 / covered as f64 * 1000.0).round().min(1000.0) as Share;
        }
        shares
    }
}

/// The shares of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shares {
    /// A bin is [`WIDTH`] wide, doubled so often.
    level: u32,
    length: usize,
    bins: [Share; BINS],
}

impl Shares {
    /// Of a table that keeps no time.
    const NONE: Self = Self { level: 0, length: 0, bins: [0; BINS] };

    /// How wide a bin is, in nanoseconds.
    pub(crate) fn width(&self) -> u64 {
        WIDTH << self.level
    }

    /// The bins, in thousandths.
    pub(crate) fn bins(&self) -> &[Share] {
        &self.bins[..self.length]
    }
}

/// The shares of one rank, or the means of several.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShareRow {
    /// The lowest of the ranks.
    pub(crate) first: u64,
    pub(crate) ranks: u64,
    pub(crate) bins: Vec<Share>,
}

impl ShareRow {
    /// With each two bins as one.
    fn double(&mut self) {
        let mean = |pair: &[Share]| pair.iter().sum::<Share>() / pair.len() as Share;
        self.bins = self.bins.chunks(2).map(mean).collect();
    }

    /// Makes one row of this and another one: where one of them has ended, the other one's shares are all.
    fn join(&mut self, other: Self) {
        let (ranks, others) = (self.ranks as f64, other.ranks as f64);
        for (index, share) in other.bins.into_iter().enumerate() {
            match self.bins.get_mut(index) {
                Some(own) => {
                    let sum = f64::from(*own) * ranks + f64::from(share) * others;
                    *own = (sum / (ranks + others)).round() as Share;
                }
                None => self.bins.push(share),
            }
        }
        self.first = self.first.min(other.first);
        self.ranks += other.ranks;
    }
}

/// The shares of one rank or of several.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct MergedTimeline {
    level: u32,
    /// By rank.
    pub(crate) rows: Vec<ShareRow>,
}

impl MergedTimeline {
    /// Of one rank.
    pub(crate) fn of(shares: &Shares, rank: u64) -> Self {
        let row = ShareRow { first: rank, ranks: 1, bins: shares.bins().to_vec() };
        let rows = if row.bins.is_empty() { Vec::new() } else { vec![row] };
        Self { level: shares.level, rows }
    }

    /// How wide a bin is, in nanoseconds.
    pub(crate) fn width(&self) -> u64 {
        WIDTH << self.level
    }

    /// Adds other ranks: bins become as wide as the widest ones, and rows of neighbours one row, while there are too many.
    pub(crate) fn add(&mut self, mut other: Self) {
        if other.rows.is_empty() {
            return;
        }
        if self.rows.is_empty() {
            self.level = other.level;
        }
        let level = self.level.max(other.level);
        for timeline in [&mut *self, &mut other] {
            while timeline.level < level {
                timeline.rows.iter_mut().for_each(ShareRow::double);
                timeline.level += 1;
            }
        }
        self.rows.append(&mut other.rows);
        self.rows.sort_by_key(|row| row.first);
        while self.rows.len() > MOST_ROWS {
            let mut rows = core::mem::take(&mut self.rows).into_iter();
            while let Some(mut row) = rows.next() {
                if let Some(next) = rows.next() {
                    row.join(next);
                }
                self.rows.push(row);
            }
        }
    }

    /// All numbers, in an order that [`from_numbers`](Self::from_numbers) knows: a message to another rank.
    pub(crate) fn to_numbers(&self) -> Vec<u64> {
        let mut numbers = vec![self.level.into()];
        for ShareRow { first, ranks, bins } in &self.rows {
            numbers.extend([*first, *ranks, bins.len() as u64]);
            numbers.extend(bins.iter().map(|share| u64::from(*share)));
        }
        numbers
    }

    /// The timeline of numbers; `None` if they are of none.
    pub(crate) fn from_numbers(numbers: &[u64]) -> Option<Self> {
        let (level, mut numbers) = numbers.split_first()?;
        let level = u32::try_from(*level).ok().filter(|level| *level <= MOST_LEVEL)?;
        let mut rows = Vec::new();
        while let [first, ranks, length, rest @ ..] = numbers {
            let length = usize::try_from(*length).ok().filter(|length| *length <= BINS)?;
            let (bins, rest) = rest.split_at_checked(length)?;
            let bins = bins
                .iter()
                .map(|share| Share::try_from(*share).ok().filter(|share| *share <= 1000));
            rows.push(ShareRow {
                first: *first,
                ranks: *ranks,
                bins: bins.collect::<Option<_>>()?,
            });
            numbers = rest;
        }
        numbers.is_empty().then_some(Self { level, rows })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A timeline whose bins are so many ticks wide at first, and that begins at tick 1000.
    fn timeline(width: u64) -> Timeline {
        let timeline = Timeline::new();
        timeline.width.store(width, Relaxed);
        timeline.start.store(1000, Relaxed);
        timeline
    }

    /// By hand, bins of 10: short calls of 2 + 3 in the first bin, one of 25 from 1008 to 1033, which is 2, 10, 10 and 3
    /// of four bins, and nothing in the fifth one, of which half has passed.
    #[test]
    fn calls_are_in_the_bins_in_which_they_were() {
        let timeline = timeline(10);
        let stretch = timeline.call(1008, 1033, 5);
        assert_eq!(stretch, Some(Stretch { from: 1030, to: 1040 }));
        let shares = timeline.shares(1045, 30);
        assert_eq!(shares.bins(), [700, 1000, 1000, 300, 0]);
        // Four more ticks, which nobody told of since they were in the fourth bin.
        assert_eq!(timeline.shares(1045, 34).bins(), [700, 1000, 1000, 700, 0]);
        assert_eq!(timeline.call(1041, 1043, 34), Some(Stretch { from: 1040, to: 1050 }));
        assert_eq!(timeline.shares(1045, 36).bins(), [700, 1000, 1000, 700, 400]);
    }

    /// A run of 1,000 bins: half of each stretch of ten ticks is in calls, so half of each bin is, however wide.
    #[test]
    fn bins_double_and_lose_nothing() {
        let timeline = timeline(10);
        let mut total = 0;
        for step in 0..1000 {
            let start = 1000 + 10 * step;
            timeline.call(start, start + 5, total).unwrap();
            total += 5;
        }
        let shares = timeline.shares(1000 + 10_000, total);
        // 1,000 bins of 10 are 125 of 80, and the moment is the beginning of one more.
        assert_eq!((shares.level, shares.length), (3, 126));
        assert!(shares.bins()[..125].iter().all(|share| *share == 500), "{shares:?}");
        assert_eq!(timeline.bins.iter().map(|bin| bin.load(Relaxed)).sum::<u64>(), 5000);
    }

    /// A program that computes for long after its last call, or that waits in one call all the time.
    #[test]
    fn long_stretches_without_news() {
        let quiet = timeline(10);
        quiet.call(1000, 1010, 0).unwrap();
        let shares = quiet.shares(1000 + 4000, 10);
        // 400 bins of 10 are 200 of 20 and the beginning of one more, so 100 of 40.
        assert_eq!((shares.level, shares.length), (2, 101));
        assert_eq!((shares.bins()[0], shares.bins()[1..].iter().max()), (250, Some(&0)));
        let waiting = timeline(10);
        waiting.call(1000, 1000 + 3990, 0).unwrap();
        let shares = waiting.shares(1000 + 3990, 3990);
        assert!(shares.bins().iter().all(|share| *share == 1000), "{shares:?}");
    }

    /// What another thread is told of at the same moment is not lost, and nobody waits.
    #[test]
    fn only_one_at_a_time() {
        let timeline = timeline(10);
        timeline.busy.store(true, Relaxed);
        assert_eq!(timeline.call(1000, 1004, 0), None);
        timeline.busy.store(false, Relaxed);
        timeline.call(1006, 1008, 4).unwrap();
        assert_eq!(timeline.shares(1010, 6).bins()[0], 600);
    }

    fn row(first: u64, ranks: u64, bins: &[Share]) -> ShareRow {
        ShareRow { first, ranks, bins: bins.to_vec() }
    }

    /// By hand: a rank with wide bins and one with narrow ones, whose pairs have the means 150 and 400.
    #[test]
    fn the_widest_bins_are_taken() {
        let mut all = MergedTimeline { level: 0, rows: vec![row(1, 1, &[100, 200, 400])] };
        all.add(MergedTimeline { level: 1, rows: vec![row(0, 1, &[700])] });
        assert_eq!(all.width(), 2 * WIDTH);
        assert_eq!(all.rows, [row(0, 1, &[700]), row(1, 1, &[150, 400])]);
    }

    /// 2^12 ranks in a tree, of which each has its rank's remainder by 16 in its only bin.
    #[test]
    fn many_ranks_are_rows_of_neighbours() {
        let one = |rank: u64| MergedTimeline {
            level: 0,
            rows: vec![row(rank, 1, &[(rank % 16) as Share])],
        };
        let mut all: Vec<_> = (0..1 << 12).map(one).collect();
        while all.len() > 1 {
            let pairs = all.chunks(2).map(|pair| {
                let mut sum = pair[0].clone();
                sum.add(pair[1].clone());
                sum
            });
            all = pairs.collect();
        }
        let all = &all[0];
        assert_eq!(all.rows.len(), MOST_ROWS);
        // Sixteen neighbours each, whose mean is 7.5, rounded at each step of four.
        for (index, row) in all.rows.iter().enumerate() {
            assert_eq!((row.first, row.ranks), (16 * index as u64, 16));
            assert!((7..=9).contains(&row.bins[0]), "{row:?}");
        }
        let numbers = all.to_numbers();
        assert_eq!(MergedTimeline::from_numbers(&numbers).as_ref(), Some(all));
        assert_eq!(MergedTimeline::from_numbers(&numbers[..numbers.len() - 1]), None);
    }
}
