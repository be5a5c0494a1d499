//! Arguments as words: every argument of every MPI function fits in 64 bits. A call's arguments are
//! an array of them, so that questions need not know the function's types.

/// An argument of an MPI function, such as a handle: fits in 64 bits. Handles are `int`s in one ABI
/// and addresses in the two others; both are words, and so can be keys of a
/// [`HandleMap`](crate::HandleMap).
///
/// What `from_word` makes of a word that `to_word` has made for the same type is the same value.
pub trait Word: Copy {
    /// As a word: integers are extended by their sign, addresses are as they are.
    fn to_word(self) -> u64;
    /// Back: the lowest bits, as many as the type has. An address has the provenance of those that
    /// were made words before.
    fn from_word(word: u64) -> Self;
}

impl Word for i32 {
    #[inline(always)]
    fn to_word(self) -> u64 {
        i64::from(self) as u64
    }
    #[inline(always)]
    fn from_word(word: u64) -> Self {
        word as i32
    }
}

impl Word for u32 {
    #[inline(always)]
    fn to_word(self) -> u64 {
        self.into()
    }
    #[inline(always)]
    fn from_word(word: u64) -> Self {
        word as u32
    }
}

impl Word for i64 {
    #[inline(always)]
    fn to_word(self) -> u64 {
        self as u64
    }
    #[inline(always)]
    fn from_word(word: u64) -> Self {
        word as i64
    }
}

/// `MPI_Aint` in the standard's ABI.
impl Word for isize {
    #[inline(always)]
    fn to_word(self) -> u64 {
        self as u64
    }
    #[inline(always)]
    fn from_word(word: u64) -> Self {
        word as isize
    }
}

impl<T> Word for *const T {
    #[inline(always)]
    fn to_word(self) -> u64 {
        self.expose_provenance() as u64
    }
    #[inline(always)]
    fn from_word(word: u64) -> Self {
        core::ptr::with_exposed_provenance(word as usize)
    }
}

impl<T> Word for *mut T {
    #[inline(always)]
    fn to_word(self) -> u64 {
        self.expose_provenance() as u64
    }
    #[inline(always)]
    fn from_word(word: u64) -> Self {
        core::ptr::with_exposed_provenance_mut(word as usize)
    }
}

/// The word of an argument; 0 for a function, which no question is about.
macro_rules! word {
    (Function $argument:expr) => {
        0
    };
    (EventCbFunction $argument:expr) => {
        0
    };
    (EventDropCbFunction $argument:expr) => {
        0
    };
    (EventFreeCbFunction $argument:expr) => {
        0
    };
    ($kind:ident $argument:expr) => {
        $crate::call::Word::to_word($argument)
    };
}
pub(crate) use word;
