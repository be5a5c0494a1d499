//! Where the parts of a key are in the two words by which a table finds its row.
//!
//! A key of function and site fills one word, so that comparing and hashing it is cheap; more parts fill the other one.
//! Parts of 16 bits come first, and then those of 32 bits, each in one word. Which bits a part has follows from the
//! kinds of the parts alone, so the compiler knows it.

use super::shard::Words;
use super::table::{Part, Parts};

/// For each part its word and its lowest bit there, and the mask of its bits; a mask of 0 for what is no part.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Layout([(usize, u32, u64); MOST]);

/// How many parts a key has at most.
const MOST: usize = size_of::<Parts>() / size_of::<u32>();

impl Layout {
    /// The layout of a key with these parts.
    ///
    /// # Panics
    /// If they are too many. In a table's constructor that is an error of the compiler's.
    pub(crate) const fn of(parts: &[Part]) -> Self {
        assert!(parts.len() <= MOST, "a key has at most five parts");
        let mut layout = Self([(0, 0, 0); MOST]);
        let mut next = 0;
        let mut bits = 16;
        while bits <= 32 {
            let mut part = 0;
            while part < parts.len() {
                if parts[part].kind.bits() == bits {
                    layout.0[part] = ((next / 64) as usize, next % 64, (1 << bits) - 1);
                    next += bits;
                }
                part += 1;
            }
            // The next parts begin where they do not cross the border of a word.
            next = next.next_multiple_of(32);
            bits += 16;
        }
        assert!(next <= 128, "a key has at most 128 bits");
        layout
    }

    /// The words of a key.
    #[inline(always)]
    pub(crate) const fn words(self, parts: Parts) -> Words {
        let mut words = [0; 2];
        let mut part = 0;
        while part < MOST {
            let (word, shift, mask) = self.0[part];
            words[word] |= (parts[part] as u64 & mask) << shift;
            part += 1;
        }
        words
    }

    /// The parts of words: the other way round.
    pub(crate) const fn parts(self, words: Words) -> Parts {
        let mut parts = [0; MOST];
        let mut part = 0;
        while part < MOST {
            let (word, shift, mask) = self.0[part];
            let bits = (words[word] >> shift) & mask;
            // All others, in parts of any width.
            parts[part] = if bits == mask && mask != 0 { u32::MAX } else { bits as u32 };
            part += 1;
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::super::shard::REST;
    use super::super::table::PartKind::{self, Communicator, Function, Number, Site, Size};
    use super::*;

    fn layout(kinds: &[PartKind]) -> Layout {
        Layout::of(&kinds.iter().map(|kind| Part { name: "", kind: *kind }).collect::<Vec<_>>())
    }

    #[test]
    fn parts_come_back_from_words() {
        let five = layout(&[Function, Site, Communicator, Number, Size]);
        for parts in [
            [1, 2, 3, 4, 5],
            [0xfffe, u32::MAX - 1, u32::MAX, 1 << 31, 0],
            [0, 0, 0, u32::MAX, 0xfffe],
            [u32::MAX; 5],
            [0; 5],
        ] {
            assert_eq!(five.parts(five.words(parts)), parts);
        }
        assert_eq!(five.words([u32::MAX; 5]), REST);
        // By hand: function and size in 16 bits each, then 32 bits for each of the others.
        assert_eq!(five.words([1, 2, 3, 4, 5]), [1 | 5 << 16 | 2 << 32, 3 | 4 << 32]);
    }

    #[test]
    fn two_parts_are_one_word() {
        assert_eq!(layout(&[Function, Site]).words([7, 9, 0, 0, 0]), [7 | 9 << 32, 0]);
        assert_eq!(layout(&[Site, Function]).parts([7 | 9 << 32, 0]), [9, 7, 0, 0, 0]);
    }

    #[test]
    #[should_panic(expected = "128 bits")]
    fn five_wide_parts_are_too_many() {
        layout(&[Number; 5]);
    }
}
