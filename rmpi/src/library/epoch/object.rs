//! The epoch, and what it has in all of its kinds.

use core::ffi::c_int;
use core::marker::PhantomData;
use core::ops::Range;
use std::rc::Rc;

use rmpi_macros::wraps;

use super::super::error::RmpiResult;
use super::super::request::Scope;
use super::super::window::{Core, End, Ending, Exposed, segment};
use crate::MpiDatatype;

/// An epoch of access to a window, or a part of one (MPI-5.0, 12.5): what reads and writes the memory of
/// other processes is here, by [`process`](Self::process) or [`target`](Self::target).
///
/// What it reads and writes of this process's own is borrowed until it ends.
#[derive(Debug)]
pub struct Epoch<'e, 'env: 'e, T, K> {
    // Dropped in this order: requests end before the epoch.
    pub(in super::super) scope: Scope<'e, 'env>,
    pub(in super::super) ending: Ending,
    pub(in super::super) core: &'env Core,
    /// The dynamic window's number.
    pub(in super::super) number: u64,
    /// The one process whose memory it may access, in all parts of an epoch of one lock; or [`ALL`].
    pub(in super::super) locked: c_int,
    /// Which processes of the window it accesses; none where all.
    pub(in super::super) members: Option<Rc<[bool]>>,
    _kind: PhantomData<(*mut T, K)>,
}

/// No rank: an epoch that is not of one lock.
pub(super) const ALL: c_int = -1;

/// An epoch between two fences: see [`Window::fence`](super::super::Window::fence).
#[derive(Debug)]
pub struct Fence;
/// An epoch between a start and its completion: see [`Window::start`](super::super::Window::start).
#[derive(Debug)]
pub struct Started;
/// An epoch with a lock of one process's memory: see [`Window::lock`](super::super::Window::lock).
#[derive(Debug)]
pub struct Locked;
/// An epoch with a shared lock of all processes' memory: see [`Window::lock_all`](super::super::Window::lock_all).
#[derive(Debug)]
pub struct LockedAll;

/// Epochs in which all processes of the window can be accessed, or those of a group.
pub trait AccessesAll: sealed::Sealed {}
impl AccessesAll for Fence {}
impl AccessesAll for Started {}
impl AccessesAll for LockedAll {}

/// Epochs of passive targets.
pub trait AccessesPassively: sealed::Sealed {}
impl AccessesPassively for Locked {}
impl AccessesPassively for LockedAll {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::super::Fence {}
    impl Sealed for super::super::Started {}
    impl Sealed for super::super::Locked {}
    impl Sealed for super::super::LockedAll {}
}

impl<'env, T, K> Epoch<'_, 'env, T, K> {
    #[inline]
    pub(super) fn new(core: &'env Core, number: u64, locked: c_int, end: End) -> Self {
        let ending = Ending::new(core.raw, end);
        let scope = Scope::new();
        Self { scope, ending, core, number, locked, members: None, _kind: PhantomData }
    }

    /// One that accesses some processes: those that expose their memory to it.
    #[inline]
    pub(super) fn with_members(core: &'env Core, number: u64, members: Rc<[bool]>) -> Self {
        Self { members: Some(members), ..Self::new(core, number, ALL, End::Complete) }
    }

    /// Does it access the process of this rank, if there is one? Others do not expose their memory: they may
    /// have references to it.
    #[inline]
    pub(in super::super) fn accesses(&self, rank: usize) -> bool {
        self.members.as_ref().is_none_or(|members| members.get(rank) == Some(&true))
    }

    /// Is the process the one that is locked, if it is one?
    #[inline]
    pub(in super::super) fn is_locked(&self, rank: usize) -> bool {
        self.locked == ALL || usize::try_from(self.locked) == Ok(rank)
    }
}

/// Runs a function in an epoch that has begun, and ends it.
macro_rules! run {
    ($epoch:expr, $f:expr) => {{
        let epoch = $epoch;
        let result = $f(&epoch);
        epoch.scope.finish();
        epoch.ending.finish()?;
        result
    }};
}
pub(super) use run;

impl<'e, 'env, T: MpiDatatype, K> Epoch<'e, 'env, T, K> {
    /// Elements of this process's own memory, while others may write to it: to put from there, to get
    /// to there, or to copy. Calls nothing.
    ///
    /// # Errors
    /// [`RMA_RANGE`](super::super::ErrorClass::RMA_RANGE) if it does not have them.
    #[inline]
    pub fn own(&self, range: Range<usize>) -> RmpiResult<Exposed<'e, T>> {
        let (memory, length) = (self.core.memory.cast(), self.core.length());
        Exposed { memory, length, _window: PhantomData }.range(range)
    }

    /// As [`Window::segment`](super::super::Window::segment): a process's part of
    /// [shared](super::super::Shared) memory. C: `MPI_Win_shared_query`. Local.
    ///
    /// # Errors
    /// As [`Window::segment`](super::super::Window::segment), and
    /// [`RMA_FLAVOR`](super::super::ErrorClass::RMA_FLAVOR) if it is not shared.
    ///
    /// ```no_run
    /// use rmpi::Assertion;
    /// # fn example(mut window: rmpi::Window<'_, f64, rmpi::Passive, rmpi::Shared>) -> rmpi::RmpiResult {
    /// window.lock_all(Assertion::NONE, |epoch| {
    ///     epoch.segment(0)?.set(3, 1.5)?;
    ///     epoch.sync()
    /// })
    /// # }
    /// ```
    #[wraps(MPI_Win_shared_query)]
    pub fn segment(&self, rank: usize) -> RmpiResult<Exposed<'e, T>> {
        segment(self.core, rank, mpi)
    }
}
