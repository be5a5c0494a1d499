//! Who may do what with an array, as types.

/// What an array allows. There is also [`UnsafeArray`](crate::UnsafeArray), which guards nothing.
pub trait Kind: sealed::Sealed {}

/// Arrays that change.
pub trait Writable: Kind {}

mod sealed {
    pub trait Sealed {}
}

/// Nobody changes the elements: they can be read through a shared reference.
#[derive(Clone, Copy, Debug)]
pub enum ReadOnly {}

/// Elements change one at a time: other processes change them by element operations.
#[derive(Clone, Copy, Debug)]
pub enum Atomic {}

/// The part of a process changes as a whole: other processes also change it by active messages, which have all of
/// it while they run.
#[derive(Clone, Copy, Debug)]
pub enum LocalLock {}

impl sealed::Sealed for ReadOnly {}
impl sealed::Sealed for Atomic {}
impl sealed::Sealed for LocalLock {}
impl Kind for ReadOnly {}
impl Kind for Atomic {}
impl Kind for LocalLock {}
impl Writable for Atomic {}
impl Writable for LocalLock {}
