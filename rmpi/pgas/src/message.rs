//! What travels.

use rmpi::MpiDatatype;

/// An operand for an element.
#[derive(Clone, Copy, Default, MpiDatatype)]
pub(crate) struct Change<T> {
    pub(crate) place: u64,
    pub(crate) operand: T,
}

/// Asks for an element.
#[derive(Clone, Copy, Default, MpiDatatype)]
pub(crate) struct Wanted {
    pub(crate) ticket: u32,
    pub(crate) place: u32,
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
