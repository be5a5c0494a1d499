//! What travels.

use rmpi::MpiDatatype;

/// An operand for an element.
#[derive(Clone, Copy, Default, MpiDatatype)]
pub(crate) struct Change<T> {
    pub(crate) place: u64,
    pub(crate) operand: T,
}

/// Asks for an element.
///
/// One number, since the compiler makes a message of three in memory, piece by piece, and copies it from there as a
/// whole, for which the processor waits until all pieces have arrived.
#[derive(Clone, Copy, Default, MpiDatatype)]
pub(crate) struct Wanted(u64);

impl Wanted {
    pub(crate) const fn new(ticket: u32, place: u32) -> Self {
        Self((ticket as u64) << 32 | place as u64)
    }

    pub(crate) const fn ticket(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub(crate) const fn place(self) -> u32 {
        self.0 as u32
    }
}

/// A new value for an element, if it has an expected one.
#[derive(Clone, Copy, Default, MpiDatatype)]
pub(crate) struct CompareExchange<T> {
    pub(crate) place: u64,
    pub(crate) expected: T,
    pub(crate) new: T,
}

/// A new value for an element, if it has the value that the sender expects in all elements.
#[derive(Clone, Copy, Default, MpiDatatype)]
pub(crate) struct Attempt<T> {
    pub(crate) wanted: Wanted,
    pub(crate) new: T,
}

/// What an element was, for an attempt that failed.
#[derive(Clone, Copy, Default, MpiDatatype)]
pub(crate) struct Found<T> {
    pub(crate) ticket: u64,
    pub(crate) value: T,
}
