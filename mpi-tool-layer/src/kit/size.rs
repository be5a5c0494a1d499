//! Sizes of messages, in classes that are powers of two: a part of a key.

use core::fmt;

/// How large the data of a call are, roughly: none, up to 1 byte, up to 2, up to 4, and so on.
///
/// It is one number, so that it can be a part of a [key](crate::RowKey). Making one costs a few instructions.
///
/// ```
/// use mpi_tool_layer::SizeClass;
///
/// assert_eq!(SizeClass::of(1000), SizeClass::of(1024));
/// assert_ne!(SizeClass::of(1024), SizeClass::of(1025));
/// assert_eq!(SizeClass::of(1000).most(), 1024);
/// assert_eq!(SizeClass::of(0).most(), 0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SizeClass(u32);

impl SizeClass {
    /// Of a call whose size was not asked for.
    pub const NONE: Self = Self(0);
    /// All classes that have no row of their own.
    pub const OTHERS: Self = Self(u32::MAX);

    /// The class of so many bytes.
    #[inline(always)]
    pub const fn of(bytes: u64) -> Self {
        match bytes.checked_sub(1) {
            None => Self(1),
            // As many bits as the largest number of the class needs, counted from 0.
            Some(less) => Self(2 + u64::BITS - less.leading_zeros()),
        }
    }

    /// The number, for a key: 0 of [`NONE`](Self::NONE).
    #[inline(always)]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The class of a [number](Self::number).
    pub const fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// The most bytes that the class has: 0, or a power of two. The last class ends with the largest number.
    pub const fn most(self) -> u64 {
        match self.0 {
            0 | 1 => 0,
            class if class < 2 + u64::BITS => 1 << (class - 2),
            _ => u64::MAX,
        }
    }
}

/// `, up to 1024 B`, as reports have it behind other parts of a key; nothing of [`NONE`](SizeClass::NONE).
impl fmt::Display for SizeClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NONE => Ok(()),
            Self::OTHERS => f.write_str(", other sizes"),
            class => write!(f, ", up to {} B", class.most()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each number is in the class whose bound is the next power of two.
    #[test]
    fn bounds_are_powers_of_two() {
        assert_eq!(SizeClass::of(0).most(), 0);
        for bytes in (1..5000).chain([1 << 62, (1 << 63) - 1, 1 << 63]) {
            let class = SizeClass::of(bytes);
            assert_eq!(class.most(), u64::next_power_of_two(bytes), "{bytes}");
            assert!(class > SizeClass::of(bytes / 2), "{bytes}");
        }
        assert_eq!(SizeClass::of(u64::MAX).most(), u64::MAX);
        assert!(SizeClass::of(u64::MAX).number() < 0xffff);
    }
}
