//! Which process has which element.

/// How the elements of an array are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Each process has consecutive elements.
    Block,
    /// Element `i` is on process `i % size`.
    Cyclic,
}

/// Divides by a number that is known only as the program runs.
///
/// For numbers under 2^32 it multiplies by the reciprocal, rounded up: its error, of less than the divisor in 2^64,
/// times the number is less than one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Divisor {
    divisor: u64,
    /// 2^64 over the divisor, rounded up; 0 where a division has to do.
    reciprocal: u64,
}

impl Divisor {
    const fn new(divisor: usize) -> Self {
        let divisor = divisor as u64;
        let is_short = divisor > 1 && divisor >> 32 == 0;
        let reciprocal = if is_short { u64::MAX / divisor + 1 } else { 0 };
        Self { divisor, reciprocal }
    }

    /// Quotient and remainder.
    #[inline]
    fn divide(self, number: usize) -> (usize, usize) {
        let number = number as u64;
        let quotient = if self.reciprocal != 0 && number >> 32 == 0 {
            ((u128::from(number) * u128::from(self.reciprocal)) >> 64) as u64
        } else {
            number / self.divisor
        };
        (quotient as usize, (number - quotient * self.divisor) as usize)
    }
}

/// A layout for an array's length and a number of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distribution {
    layout: Layout,
    pub(crate) length: usize,
    processes: usize,
    /// The length of a block, or the number of processes.
    divisor: Divisor,
}

impl Distribution {
    pub(crate) fn new(layout: Layout, length: usize, processes: usize) -> Self {
        let divisor = match layout {
            Layout::Block => length.div_ceil(processes).max(1),
            Layout::Cyclic => processes,
        };
        Self { layout, length, processes, divisor: Divisor::new(divisor) }
    }

    pub(crate) const fn layout(&self) -> Layout {
        self.layout
    }

    /// From an element to the next one of the same process, elements of other processes in between counted.
    pub(crate) const fn step(&self) -> usize {
        match self.layout {
            Layout::Block => 1,
            Layout::Cyclic => self.processes,
        }
    }

    /// The process that has an element, and its place there.
    #[inline]
    pub(crate) fn find(&self, index: usize) -> Option<(usize, usize)> {
        if index >= self.length {
            return None;
        }
        let (quotient, remainder) = self.divisor.divide(index);
        Some(match self.layout {
            Layout::Block => (quotient, remainder),
            Layout::Cyclic => (remainder, quotient),
        })
    }

    /// Are all indices below the length? If not sure, it says no.
    ///
    /// A difference has its highest bit set if it is below zero. Bits of many numbers at once are cheaper than a
    /// comparison of each.
    #[inline]
    pub(crate) fn has_all(&self, indices: impl Iterator<Item = usize>) -> bool {
        let Some(last) = self.length.checked_sub(1) else { return indices.count() == 0 };
        let bits = indices.fold(last, |bits, index| bits | index | last.wrapping_sub(index));
        bits >> (usize::BITS - 1) == 0
    }

    /// The index of an element, by its process and place.
    pub(crate) const fn index(&self, process: usize, place: usize) -> usize {
        match self.layout {
            Layout::Block => process * self.divisor.divisor as usize + place,
            Layout::Cyclic => place * self.processes + process,
        }
    }

    /// How many elements a process has.
    pub(crate) fn length_of(&self, process: usize) -> usize {
        let divisor = self.divisor.divisor as usize;
        match self.layout {
            Layout::Block => self.length.saturating_sub(process * divisor).min(divisor),
            Layout::Cyclic => (self.length + self.processes - 1 - process) / self.processes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_element_has_one_place() {
        for layout in [Layout::Block, Layout::Cyclic] {
            for length in [0, 1, 2, 7, 64, 1000] {
                for processes in 1..9 {
                    let distribution = Distribution::new(layout, length, processes);
                    let mut taken = vec![0; processes];
                    for index in 0..length {
                        let (process, place) = distribution.find(index).unwrap();
                        assert!(place < distribution.length_of(process));
                        assert_eq!(distribution.index(process, place), index);
                        taken[process] += 1;
                    }
                    assert!((0..processes).all(|of| taken[of] == distribution.length_of(of)));
                    assert_eq!(distribution.find(length), None);
                }
            }
        }
    }

    #[test]
    fn indices_beyond_the_end_are_seen() {
        for length in [0, 1, 2, 1000, 1 << 40] {
            let distribution = Distribution::new(Layout::Block, length, 3);
            for index in [0, 1, 999, 1000, (1 << 40) - 1, 1 << 40, usize::MAX >> 1, usize::MAX] {
                assert_eq!(distribution.has_all([index].into_iter()), index < length);
                assert_eq!(distribution.has_all([0, index].into_iter()), index < length);
            }
            assert!(distribution.has_all([].into_iter()));
        }
    }

    #[test]
    fn quotients_are_right_at_the_edges() {
        for divisor in [1, 2, 3, 7, 1000, (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 40] {
            for number in [0, 1, divisor - 1, divisor, divisor + 1, (1 << 32) - 1, 1 << 32, 1 << 50]
            {
                let expected = (number / divisor, number % divisor);
                assert_eq!(Divisor::new(divisor).divide(number), expected);
            }
        }
    }
}
