//! What the user has set.

use mpi_tool_layer::SizeClass;

/// What is told apart, as one number: how many places a call site has, whether communicators, sizes and peers are told
/// apart, and waiting from the rest of the time, whether phases have names, and whether anything is measured at all.
#[derive(Clone, Copy)]
pub(crate) struct Keys(pub(crate) u32);

impl Keys {
    pub(crate) const COMMUNICATOR: u32 = 1 << 8;
    /// It is not.
    pub(crate) const NO_COMMUNICATOR: u32 = 1 << 13;
    pub(crate) const PEER: u32 = 1 << 9;
    /// The ranks wait for each other before a collective operation moves data.
    pub(crate) const WAIT: u32 = 1 << 10;
    /// The application has switched measuring off.
    pub(crate) const OFF: u32 = 1 << 11;
    /// The clock is another one than the cycle counter, or nobody has looked yet.
    pub(crate) const OTHER_CLOCK: u32 = 1 << 12;
    /// The application gives its phases names.
    pub(crate) const PHASE_NAMES: u32 = 1 << 14;
    /// Where it is in a key, too.
    pub(crate) const SIZE: u32 = 1 << 16;

    /// What quick calls do not look at.
    pub(crate) const UNUSUAL: u32 = Self::PEER
        | Self::WAIT
        | Self::OFF
        | Self::OTHER_CLOCK
        | Self::SIZE
        | Self::NO_COMMUNICATOR;

    #[inline(always)]
    pub(crate) const fn depth(self) -> usize {
        (self.0 & 0xff) as usize
    }

    #[inline(always)]
    pub(crate) const fn has(self, key: u32) -> bool {
        self.0 & key != 0
    }

    /// The size of a call that moves no data.
    #[inline(always)]
    pub(crate) const fn no_size(self) -> SizeClass {
        const { assert!(SizeClass::NONE.number() == 0 && SizeClass::of(0).number() == 1) };
        SizeClass::from_number((self.0 & Self::SIZE) / Self::SIZE)
    }
}
