//! Questions about texts, in constants. There each call of a function takes longer than ten other steps, so there are few in
//! the loops.

/// Does a text start with another from a position on?
pub(crate) const fn at(text: &[u8], part: &[u8], start: usize) -> bool {
    let length = part.len();
    if start + length > text.len() {
        return false;
    }
    let mut i = 0;
    while i < length {
        if text[start + i] != part[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// Does a text contain another, which is not empty?
pub(crate) const fn contains(text: &str, part: &str) -> bool {
    let (text, part) = (text.as_bytes(), part.as_bytes());
    let (length, first) = (text.len(), part[0]);
    let mut start = 0;
    while start < length {
        if text[start] == first && at(text, part, start) {
            return true;
        }
        start += 1;
    }
    false
}

/// `==` of texts, in constants.
pub(crate) const fn equals(text: &str, other: &str) -> bool {
    text.len() == other.len() && at(text.as_bytes(), other.as_bytes(), 0)
}

/// Does a text end with another?
pub(crate) const fn ends_with(text: &str, end: &str) -> bool {
    text.len() >= end.len() && at(text.as_bytes(), end.as_bytes(), text.len() - end.len())
}
