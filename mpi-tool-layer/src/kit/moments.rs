//! What a table keeps of a measure: enough for its total, mean, extremes and variation.

use core::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// So many words a measure has in a row.
pub(crate) const WORDS: usize = 5;

/// A measure of a row: how often it was measured, and what it was.
///
/// ```
/// use mpi_tool_layer::Moments;
///
/// let moments: Moments = [3, 5, 10].into_iter().collect();
/// assert_eq!((moments.count, moments.sum, moments.least, moments.most), (3, 18, 3, 10));
/// assert_eq!(moments.mean(), 6.0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// How many values there were.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The least of them; `u64::MAX` where there is none.
    pub least: u64,
    /// The greatest of them; 0 where there is none.
    pub most: u64,
    /// The sum of their squares.
    pub squares: f64,
}

impl Moments {
    /// Of no values.
    pub const NONE: Self = Self { count: 0, sum: 0, least: u64::MAX, most: 0, squares: 0.0 };

    /// Those of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            count: self.count.wrapping_add(other.count),
            sum: self.sum.wrapping_add(other.sum),
            least: self.least.min(other.least),
            most: self.most.max(other.most),
            squares: self.squares + other.squares,
        }
    }

    /// The mean value; 0 where there is none.
    pub fn mean(self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// The standard deviation divided by the mean: 0 where all values are equal, or there are none.
    pub fn variation(self) -> f64 {
        let mean = self.mean();
        if mean == 0.0 {
            return 0.0;
        }
        let variance = self.squares / self.count as f64 - mean * mean;
        variance.max(0.0).sqrt() / mean
    }

    /// The same in another unit, one of which has so many of this one's.
    #[must_use]
    pub(crate) fn scaled(self, factor: f64) -> Self {
        if factor == 1.0 || self.count == 0 {
            return self;
        }
        let scaled = |value: u64| (value as f64 * factor).round() as u64;
        Self {
            count: self.count,
            sum: scaled(self.sum),
            least: scaled(self.least),
            most: scaled(self.most),
            squares: self.squares * factor * factor,
        }
    }
}

impl FromIterator<u64> for Moments {
    fn from_iter<T: IntoIterator<Item = u64>>(values: T) -> Self {
        values.into_iter().fold(Self::NONE, |sum, value| {
            let squares = value as f64 * value as f64;
            sum.and(Self { count: 1, sum: value, least: value, most: value, squares })
        })
    }
}

/// Moments in memory that one thread writes and all may read. All words are 0 at first; the least
/// value means something only where there is one.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Cell([AtomicU64; WORDS]);

impl Cell {
    /// Adds a value: a size, or a time, which is below 2^63. What is not is the difference of two times of which the
    /// later one is less, as clocks of two processors may be apart: it counts as 0.
    ///
    /// # Safety
    /// Nobody else adds meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn add(&self, mut value: u64) {
        // SAFETY: nobody else may add, as the caller promises.
        if unsafe { self.is_extreme(value) } {
            value = self.widen(value);
        }
        self.add_within(value);
    }

    /// Is a value less or more than all before?
    ///
    /// # Safety
    /// Nobody else adds meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn is_extreme(&self, value: u64) -> bool {
        let Self([_, _, least, most, _]) = self;
        // Not read atomically, which would take more instructions.
        // SAFETY: nobody else may write these words: only `add` and `add_all` do, which nobody calls, as the caller promises.
        unsafe { value < *least.as_ptr() || value > *most.as_ptr() }
    }

    /// Adds a value that is neither less nor more than all before. Only one thread at a time counts right.
    #[inline(always)]
    pub(crate) fn add_within(&self, value: u64) {
        let Self([count, sum, _, _, squares]) = self;
        // Whoever sees the count sees the extremes.
        count.store(count.load(Relaxed).wrapping_add(1), Release);
        sum.store(sum.load(Relaxed).wrapping_add(value), Relaxed);
        // The conversion of a signed number is one instruction.
        let value = value.cast_signed() as f64;
        let sum = f64::from_bits(squares.load(Relaxed)) + value * value;
        squares.store(sum.to_bits(), Relaxed);
    }

    /// Makes room for a value that is less or more than all before. The first one does, unless it is 0, which the
    /// extremes are then as it is.
    #[cold]
    #[inline(never)]
    fn widen(&self, value: u64) -> u64 {
        let Self([count, _, least, most, _]) = self;
        let value = if value >> 63 == 0 { value } else { 0 };
        if value < least.load(Relaxed) || count.load(Relaxed) == 0 {
            least.store(value, Relaxed);
        }
        if value > most.load(Relaxed) {
            most.store(value, Relaxed);
        }
        value
    }

    /// Adds many values.
    ///
    /// # Safety
    /// Nobody else [adds](Self::add) a value meanwhile.
    pub(crate) unsafe fn add_all(&self, more: Moments) {
        let all = self.read().and(more);
        let Self([count, sum, least, most, squares]) = self;
        least.store(if all.count == 0 { 0 } else { all.least }, Relaxed);
        most.store(all.most, Relaxed);
        sum.store(all.sum, Relaxed);
        squares.store(all.squares.to_bits(), Relaxed);
        count.store(all.count, Release);
    }

    /// What has been added, as far as this thread sees it.
    pub(crate) fn read(&self) -> Moments {
        let Self([count, words @ ..]) = self;
        let count = count.load(Acquire);
        let [sum, least, most, squares] = words.each_ref().map(|word| word.load(Relaxed));
        let least = if count == 0 { u64::MAX } else { least };
        Moments { count, sum, least, most, squares: f64::from_bits(squares) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(cell: &Cell, value: u64) {
        // SAFETY: a test's cell is the test's alone.
        unsafe { cell.add(value) }
    }

    /// By hand: of 2, 4, 4, 4, 5, 5, 7 and 9 the mean is 5, and the standard deviation 2.
    #[test]
    fn moments_of_a_known_sample() {
        let cell = Cell([const { AtomicU64::new(0) }; WORDS]);
        assert_eq!(cell.read(), Moments::NONE);
        for value in [2, 4, 4, 4, 5] {
            add(&cell, value);
        }
        // SAFETY: a test's cell is the test's alone.
        unsafe { cell.add_all([5, 7, 9].into_iter().collect()) };
        let moments = cell.read();
        let Moments { count, sum, least, most, .. } = moments;
        assert_eq!((count, sum, least, most), (8, 40, 2, 9));
        assert_eq!((moments.mean(), moments.variation()), (5.0, 0.4));
        let halved = moments.scaled(0.5);
        assert_eq!((halved.sum, halved.least, halved.most, halved.variation()), (20, 1, 5, 0.4));
        assert_eq!(Moments::NONE.scaled(0.5), Moments::NONE);
        assert_eq!((Moments::NONE.mean(), Moments::NONE.variation()), (0.0, 0.0));
    }

    #[test]
    fn a_zero_is_a_value() {
        let cell = Cell([const { AtomicU64::new(0) }; WORDS]);
        add(&cell, 0);
        let Moments { count, least, most, .. } = cell.read();
        assert_eq!((count, least, most), (1, 0, 0));
        add(&cell, 3);
        let Moments { count, least, most, .. } = cell.read();
        assert_eq!((count, least, most), (2, 0, 3));
    }

    #[test]
    fn a_time_that_runs_backwards_is_0() {
        let cell = Cell([const { AtomicU64::new(0) }; WORDS]);
        add(&cell, 5);
        add(&cell, 3_u64.wrapping_sub(4));
        let Moments { count, sum, least, most, squares } = cell.read();
        assert_eq!((count, sum, least, most, squares), (2, 5, 0, 5, 25.0));
    }

    #[test]
    fn nothing_added_is_nothing() {
        let cell = Cell([const { AtomicU64::new(0) }; WORDS]);
        // SAFETY: a test's cell is the test's alone.
        unsafe { cell.add_all(Moments::NONE) };
        assert_eq!(cell.read(), Moments::NONE);
        add(&cell, 7);
        let Moments { count, least, most, .. } = cell.read();
        assert_eq!((count, least, most), (1, 7, 7));
    }
}
