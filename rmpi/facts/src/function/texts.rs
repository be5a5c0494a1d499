//! Texts that occur often, each kept once and known by a number: 3,000 parameters have some 300 names and 60 types.

use crate::text::equals;

/// More texts than the list has.
const ROOM: usize = 1024;

/// A table of texts, which the compiler fills.
pub(super) struct Texts {
    /// The first one is empty.
    texts: [&'static str; ROOM],
    count: usize,
    /// For each hash, which text that is; 0 for none. Of two with the same hash, the second is at the next free place.
    places: [u16; PLACES],
}

const PLACES: usize = 4 * ROOM;

impl Texts {
    pub(super) const fn new() -> Self {
        Self { texts: [""; ROOM], count: 1, places: [0; PLACES] }
    }

    /// The number of a text, which is added if it is not there.
    pub(super) const fn number(&mut self, text: &'static str) -> u16 {
        if text.is_empty() {
            return 0;
        }
        let mut place = hash(text) % PLACES;
        while self.places[place] != 0 {
            if equals(self.texts[self.places[place] as usize], text) {
                return self.places[place];
            }
            place = (place + 1) % PLACES;
        }
        let number = self.count as u16;
        self.texts[self.count] = text;
        self.places[place] = number;
        self.count += 1;
        number
    }

    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// All of them, by their numbers.
    pub(super) const fn all<const COUNT: usize>(&self) -> [&'static str; COUNT] {
        let mut all = [""; COUNT];
        let mut number = 0;
        while number < COUNT {
            all[number] = self.texts[number];
            number += 1;
        }
        all
    }
}

/// FNV-1a. In constants each call of a function takes longer than ten other steps, so there are none in the loop.
const fn hash(text: &str) -> usize {
    let (bytes, length) = (text.as_bytes(), text.len());
    let mut hash: u64 = 0x811c_9dc5;
    let mut index = 0;
    while index < length {
        hash = ((hash ^ bytes[index] as u64) * 0x0100_0193) & 0xffff_ffff;
        index += 1;
    }
    hash as usize
}
