use core::cell::Cell;
use core::ffi::c_int;
use core::marker::PhantomData;
use core::ops::Range;
use std::rc::Rc;

use tool_macros::wraps;

use super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::group::Group;
use super::one_sided::Target;
use super::request::Scope;
use super::sys::{self, MPI_Win};
use super::window::{Active, Attached, Core, Exposed, Passive, Window, foreign, segment};
use crate::MpiDatatype;

/// What a program promises where an epoch begins (MPI-5.0, 12.5.5), so that MPI can do less.
///
/// rmpi itself says `MPI_MODE_NOPRECEDE` and `MPI_MODE_NOSUCCEED` at a pair of fences, where they are
/// true.
///
/// MPI believes each of them, and does less where it is given: so all but [`NONE`](Self::NONE) are
/// unsafe to make.
///
/// ```
/// use rmpi::Assertion;
/// // SAFETY: nothing is put where this is used, and nothing was stored before.
/// let reads_only = unsafe { Assertion::nostore() | Assertion::noput() };
/// assert_ne!(reads_only, Assertion::NONE);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Assertion(u8);

impl Assertion {
    /// Nothing is promised (0).
    pub const NONE: Self = Self(0);

    /// This process has not written to its memory since the last synchronisation; for
    /// [`fence`](Window::fence) and [`post`](Window::post) (`MPI_MODE_NOSTORE`).
    ///
    /// # Safety
    /// Wherever the assertion is given, this process has not written to its memory of the window since the last
    /// synchronisation: by no store, and by no get or receive into it.
    pub const unsafe fn nostore() -> Self {
        Self(1)
    }

    /// No process writes to this one's memory in the epoch; for [`fence`](Window::fence) and
    /// [`post`](Window::post) (`MPI_MODE_NOPUT`).
    ///
    /// # Safety
    /// Wherever the assertion is given, no process puts or accumulates to this one's memory until the epoch
    /// that begins there ends.
    pub const unsafe fn noput() -> Self {
        Self(2)
    }

    /// Nothing has to be waited for: the matching posts are complete, or no lock conflicts; for
    /// [`post`](Window::post), [`start`](Window::start), [`lock`](Window::lock) and
    /// [`lock_all`](Window::lock_all) (`MPI_MODE_NOCHECK`).
    ///
    /// # Safety
    /// Wherever the assertion is given: in [`post`](Window::post), no process of the group has called `start`
    /// yet, and all will with this assertion; in [`start`](Window::start), all processes of the group have
    /// returned from `post`, with this assertion; in a lock, no other process has a lock that conflicts with
    /// it, or asks for one, until it is unlocked.
    pub const unsafe fn nocheck() -> Self {
        Self(4)
    }

    /// Does it promise all that the other does?
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// C's number, of these flags only.
    #[inline]
    fn within(self, allowed: u8) -> RmpiResult<c_int> {
        if self.0 & !allowed != 0 {
            return Err(Error::refused(ErrorClass::ASSERT, "such an assertion is for others"));
        }
        let flag = |bit, raw| if self.0 & bit == 0 { 0 } else { raw };
        Ok(flag(1, sys::MPI_MODE_NOSTORE)
            | flag(2, sys::MPI_MODE_NOPUT)
            | flag(4, sys::MPI_MODE_NOCHECK))
    }
}

impl core::ops::BitOr for Assertion {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// Who else may have a lock at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockType {
    /// Nobody (`MPI_LOCK_EXCLUSIVE`).
    Exclusive,
    /// Others with a shared lock (`MPI_LOCK_SHARED`).
    Shared,
}

impl LockType {
    /// C's number.
    pub const fn into_raw(self) -> c_int {
        match self {
            Self::Exclusive => sys::MPI_LOCK_EXCLUSIVE,
            Self::Shared => sys::MPI_LOCK_SHARED,
        }
    }
}

/// What ends an epoch, or completes a part of it.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    Fence,
    Complete,
    Wait,
    Unlock(c_int),
    UnlockAll,
    Flush(c_int),
    FlushLocal(c_int),
    FlushAll,
    FlushLocalAll,
}

/// Ends what it says once, at the latest when it is dropped.
// Without a lifetime, since what is borrowed for as long as it lives cannot have a drop with one.
#[derive(Debug)]
pub(super) struct Ending {
    pub(super) raw: MPI_Win,
    end: End,
    ended: Cell<bool>,
    /// Memory is in use until then.
    pub(super) begun: Cell<bool>,
}

impl Ending {
    #[inline]
    pub(super) const fn new(raw: MPI_Win, end: End) -> Self {
        let exposes = matches!(end, End::Fence | End::Wait);
        Self { raw, end, ended: Cell::new(false), begun: Cell::new(exposes) }
    }

    // Always, where it is known what ends: one call is left of it.
    #[inline(always)]
    pub(super) fn finish(&self) -> RmpiResult {
        if self.ended.replace(true) {
            return Ok(());
        }
        // SAFETY: each function asks for a window, and for the epoch, or the part of one, that it ends. An
        // `Ending` is made where that has begun, is not kept longer than the window is borrowed, and ends it
        // once, which `ended` sees to.
        let result = check(unsafe {
            match self.end {
                End::Fence => sys::MPI_Win_fence(sys::MPI_MODE_NOSUCCEED, self.raw),
                End::Complete => sys::MPI_Win_complete(self.raw),
                End::Wait => sys::MPI_Win_wait(self.raw),
                End::Unlock(rank) => sys::MPI_Win_unlock(rank, self.raw),
                End::UnlockAll => sys::MPI_Win_unlock_all(self.raw),
                End::Flush(rank) => sys::MPI_Win_flush(rank, self.raw),
                End::FlushLocal(rank) => sys::MPI_Win_flush_local(rank, self.raw),
                End::FlushAll => sys::MPI_Win_flush_all(self.raw),
                End::FlushLocalAll => sys::MPI_Win_flush_local_all(self.raw),
            }
        });
        if result.is_err() && self.begun.get() {
            // MPI would go on using memory that is another's from now on.
            not_ended(self.end);
        }
        result
    }

    #[cold]
    fn left(&self) {
        let _ = self.finish();
    }
}

#[cold]
fn not_ended(end: End) -> ! {
    eprintln!("rmpi: MPI did not end the use of a window ({end:?}); aborting");
    std::process::abort()
}

impl Drop for Ending {
    #[inline]
    fn drop(&mut self) {
        if !self.ended.get() {
            self.left();
        }
    }
}

/// An epoch of access to a window, or a part of one (MPI-5.0, 12.5): what reads and writes the memory of
/// other processes is here, by [`process`](Self::process) or [`target`](Self::target).
///
/// What it reads and writes of this process's own is borrowed until it ends.
#[derive(Debug)]
pub struct Epoch<'e, 'env: 'e, T, K> {
    // Dropped in this order: requests end before the epoch.
    pub(super) scope: Scope<'e, 'env>,
    pub(super) ending: Ending,
    pub(super) core: &'env Core,
    /// The dynamic window's number.
    number: u64,
    /// The one process whose memory it may access, in all parts of an epoch of one lock; or [`ALL`].
    locked: c_int,
    /// Which processes of the window it accesses; none where all.
    pub(super) members: Option<Rc<[bool]>>,
    _kind: PhantomData<(*mut T, K)>,
}

/// No rank: an epoch that is not of one lock.
const ALL: c_int = -1;

/// An epoch between two fences: see [`Window::fence`].
#[derive(Debug)]
pub struct Fence;
/// An epoch between a start and its completion: see [`Window::start`].
#[derive(Debug)]
pub struct Started;
/// An epoch with a lock of one process's memory: see [`Window::lock`].
#[derive(Debug)]
pub struct Locked;
/// An epoch with a shared lock of all processes' memory: see [`Window::lock_all`].
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
    impl Sealed for super::Fence {}
    impl Sealed for super::Started {}
    impl Sealed for super::Locked {}
    impl Sealed for super::LockedAll {}
}

impl<'env, T, K> Epoch<'_, 'env, T, K> {
    #[inline]
    fn new(core: &'env Core, number: u64, locked: c_int, end: End) -> Self {
        let ending = Ending::new(core.raw, end);
        let scope = Scope::new();
        Self { scope, ending, core, number, locked, members: None, _kind: PhantomData }
    }

    /// One that accesses some processes: those that expose their memory to it.
    #[inline]
    fn with_members(core: &'env Core, number: u64, members: Rc<[bool]>) -> Self {
        Self { members: Some(members), ..Self::new(core, number, ALL, End::Complete) }
    }

    /// Does it access the process of this rank, if there is one? Others do not expose their memory: they may
    /// have references to it.
    #[inline]
    pub(super) fn accesses(&self, rank: usize) -> bool {
        self.members.as_ref().is_none_or(|members| members.get(rank) == Some(&true))
    }

    /// Is the process the one that is locked, if it is one?
    #[inline]
    fn is_locked(&self, rank: usize) -> bool {
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

impl<T, M> Window<'_, T, Active, M> {
    /// Runs a function in an epoch between two fences, in which all processes access all, also in
    /// their functions. C: `MPI_Win_fence` before, with `MPI_MODE_NOPRECEDE` and what is asserted,
    /// and after, with `MPI_MODE_NOSUCCEED`. Collective; both block.
    ///
    /// # Errors
    /// What the function says; [`ASSERT`](ErrorClass::ASSERT) if another assertion than
    /// [`nostore`](Assertion::nostore) and [`noput`](Assertion::noput) is given; what MPI says.
    ///
    /// ```no_run
    /// use rmpi::Assertion;
    /// # fn example(mut window: rmpi::Window<'_, f64, rmpi::Active>) -> rmpi::RmpiResult {
    /// let mut got = [0.0; 4];
    /// // SAFETY: all processes only read.
    /// let reads_only = unsafe { Assertion::noput() };
    /// window.fence(reads_only, |epoch| epoch.process(0).get(&mut got, 0))?;
    /// println!("{got:?} {:?}", window.local());
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Win_fence)]
    pub fn fence<'env, F, R>(&'env mut self, assertion: Assertion, f: F) -> RmpiResult<R>
    where
        F: for<'e> FnOnce(&'e Epoch<'e, 'env, T, Fence>) -> RmpiResult<R>,
    {
        // Said always: the fences of a window come in pairs, on all processes.
        let assert = assertion.within(3)? | sys::MPI_MODE_NOPRECEDE;
        // SAFETY: `MPI_Win_fence` asks for a window in no epoch: each borrows the window mutably, as this one
        // does. That none precedes is true on all processes, since their fences come in pairs; what else is
        // asserted was promised.
        check(unsafe { mpi.call(assert, self.core.raw) })?;
        run!(Epoch::new(&self.core, self.number(), ALL, End::Fence), f)
    }

    /// Runs a function while the processes of a group may access this one's memory. C: `MPI_Win_post`
    /// before, which does not block, and `MPI_Win_wait` after, until they have completed what they
    /// [start](Self::start).
    ///
    /// # Errors
    /// What the function says; [`ASSERT`](ErrorClass::ASSERT) if the assertion is another function's;
    /// [`GROUP`](ErrorClass::GROUP) if a process of the group has not the window; what MPI says.
    ///
    /// ```no_run
    /// use rmpi::Assertion;
    /// # fn example(mut window: rmpi::Window<'_, f64, rmpi::Active>, neighbours: &rmpi::Group<'_>) -> rmpi::RmpiResult {
    /// window.post(neighbours, Assertion::NONE, |exposure| {
    ///     exposure.start(neighbours, Assertion::NONE, |epoch| {
    ///         epoch.process(0).put(&[1.0], 0)?;
    ///         epoch.process(2).put(&[1.0], 1)
    ///     })
    /// })
    /// # }
    /// ```
    #[wraps(MPI_Win_post)]
    pub fn post<'env, F, R>(
        &'env mut self,
        group: &Group<'_>,
        assertion: Assertion,
        f: F,
    ) -> RmpiResult<R>
    where
        F: for<'e> FnOnce(&mut Exposure<'e, 'env, T>) -> RmpiResult<R>,
    {
        let assert = assertion.within(7)?;
        self.core.members(group)?;
        // SAFETY: `MPI_Win_post` asks for a group of processes that have the window, which `members` has
        // checked, and for a window in no epoch: each borrows the window mutably, as this one does. What is
        // asserted was promised.
        check(unsafe { mpi.call(group.as_raw(), assert, self.core.raw) })?;
        let number = self.number();
        let ending = Ending::new(self.core.raw, End::Wait);
        let mut exposure = Exposure { ending, core: &self.core, number, _kind: PhantomData };
        let result = f(&mut exposure);
        exposure.ending.finish()?;
        result
    }

    /// Runs a function in an epoch of access to the memory of a group's processes, which
    /// [post](Self::post) it. C: `MPI_Win_start` before, and `MPI_Win_complete` after. Either may
    /// block until they have posted.
    ///
    /// # Errors
    /// What the function says; [`ASSERT`](ErrorClass::ASSERT) if the assertion is another function's;
    /// [`GROUP`](ErrorClass::GROUP) if a process of the group has not the window; what MPI says.
    ///
    /// ```no_run
    /// use rmpi::Assertion;
    /// # fn example(mut window: rmpi::Window<'_, f64, rmpi::Active>, others: &rmpi::Group<'_>) -> rmpi::RmpiResult {
    /// window.start(others, Assertion::NONE, |epoch| epoch.process(0).put(&[1.0], 0))
    /// # }
    /// ```
    #[wraps(MPI_Win_start)]
    pub fn start<'env, F, R>(
        &'env mut self,
        group: &Group<'_>,
        assertion: Assertion,
        f: F,
    ) -> RmpiResult<R>
    where
        F: for<'e> FnOnce(&'e Epoch<'e, 'env, T, Started>) -> RmpiResult<R>,
    {
        let assert = assertion.within(4)?;
        let members = self.core.members(group)?;
        // SAFETY: `MPI_Win_start` asks for a group of processes that have the window, which `members` has
        // checked, and for a window in no epoch: each borrows the window mutably, as this one does. What is
        // asserted was promised.
        check(unsafe { mpi.call(group.as_raw(), assert, self.core.raw) })?;
        run!(Epoch::with_members(&self.core, self.number(), members), f)
    }
}

/// This process's memory is exposed to others: see [`Window::post`].
#[derive(Debug)]
pub struct Exposure<'e, 'env: 'e, T> {
    ending: Ending,
    pub(super) core: &'env Core,
    number: u64,
    // Invariant, so that two cannot change places.
    _kind: PhantomData<(*mut T, &'e mut &'e ())>,
}

impl<'env, T> Exposure<'_, 'env, T> {
    /// As [`Window::start`], while this process's memory is exposed.
    ///
    /// # Errors
    /// As [`Window::start`].
    ///
    /// ```no_run
    /// use rmpi::Assertion;
    /// # fn example(exposure: &mut rmpi::Exposure<'_, '_, f64>, others: &rmpi::Group<'_>) -> rmpi::RmpiResult {
    /// exposure.start(others, Assertion::NONE, |epoch| epoch.process(0).put(&[1.0], 0))
    /// # }
    /// ```
    #[wraps(MPI_Win_start)]
    pub fn start<'here, F, R>(
        &'here mut self,
        group: &Group<'_>,
        assertion: Assertion,
        f: F,
    ) -> RmpiResult<R>
    where
        F: for<'e> FnOnce(&'e Epoch<'e, 'here, T, Started>) -> RmpiResult<R>,
    {
        let assert = assertion.within(4)?;
        let members = self.core.members(group)?;
        // SAFETY: `MPI_Win_start` asks for a group of processes that have the window, which `members` has
        // checked, and for a window in no epoch of access: each borrows the exposure mutably, as this one does.
        // What is asserted was promised.
        check(unsafe { mpi.call(group.as_raw(), assert, self.core.raw) })?;
        run!(Epoch::with_members(self.core, self.number, members), f)
    }

    /// Have all completed what they started? If so, nothing is left to wait for. C: `MPI_Win_test`.
    /// Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(exposure: &mut rmpi::Exposure<'_, '_, f64>) -> rmpi::RmpiResult {
    /// while !exposure.test()? {
    ///     println!("still working");
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Win_test)]
    pub fn test(&mut self) -> RmpiResult<bool> {
        if self.ending.ended.get() {
            return Ok(true);
        }
        // SAFETY: `MPI_Win_test` asks for a window that is exposed, which this one is until `ended` says
        // otherwise. It writes an int to what `output` lends.
        let flag = output(0, |flag| unsafe { mpi.call(self.core.raw, flag) })?;
        self.ending.ended.set(flag != 0);
        Ok(flag != 0)
    }
}

impl<T, M> Window<'_, T, Passive, M> {
    /// Runs a function in an epoch with a lock of one process's memory. C: `MPI_Win_lock` before,
    /// which may block while others have the lock, and `MPI_Win_unlock` after, when all is complete.
    /// The other process need do nothing.
    ///
    /// # Errors
    /// What the function says; [`ASSERT`](ErrorClass::ASSERT) if the assertion is another function's;
    /// [`RANK`](ErrorClass::RANK) if there is no such process; what MPI says.
    ///
    /// ```no_run
    /// use rmpi::{Assertion, LockType};
    /// # fn example(mut window: rmpi::Window<'_, f64, rmpi::Passive>) -> rmpi::RmpiResult {
    /// window.lock(LockType::Exclusive, 0, Assertion::NONE, |epoch| epoch.target().put(&[1.0], 3))
    /// # }
    /// ```
    #[wraps(MPI_Win_lock)]
    pub fn lock<'env, F, R>(
        &'env mut self,
        lock_type: LockType,
        rank: usize,
        assertion: Assertion,
        f: F,
    ) -> RmpiResult<R>
    where
        F: for<'e> FnOnce(&'e Epoch<'e, 'env, T, Locked>) -> RmpiResult<R>,
    {
        let assert = assertion.within(4)?;
        if rank >= self.core.lengths.len() {
            return Err(Error::refused(ErrorClass::RANK, "the window has no process of that rank"));
        }
        let rank = rank as c_int;
        // SAFETY: `MPI_Win_lock` asks for a rank of the window, which was checked above, and for a window in no
        // epoch: each borrows the window mutably, as this one does. What is asserted was promised.
        check(unsafe { mpi.call(lock_type.into_raw(), rank, assert, self.core.raw) })?;
        run!(Epoch::new(&self.core, self.number(), rank, End::Unlock(rank)), f)
    }

    /// Runs a function in an epoch with a shared lock of all processes' memory. C: `MPI_Win_lock_all`
    /// before, and `MPI_Win_unlock_all` after, when all is complete. Not collective.
    ///
    /// # Errors
    /// As [`lock`](Self::lock).
    ///
    /// ```no_run
    /// use rmpi::{Assertion, MpiOp};
    /// # fn example(mut window: rmpi::Window<'_, i64, rmpi::Passive>) -> rmpi::RmpiResult {
    /// let mut before = 0;
    /// window.lock_all(Assertion::NONE, |epoch| {
    ///     epoch.process(0).fetch_and_op(&1, &mut before, 0, MpiOp::SUM)
    /// })?;
    /// println!("the {before}th");
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Win_lock_all)]
    pub fn lock_all<'env, F, R>(&'env mut self, assertion: Assertion, f: F) -> RmpiResult<R>
    where
        F: for<'e> FnOnce(&'e Epoch<'e, 'env, T, LockedAll>) -> RmpiResult<R>,
    {
        let assert = assertion.within(4)?;
        // SAFETY: `MPI_Win_lock_all` asks for a window in no epoch: each borrows the window mutably, as this
        // one does. What is asserted was promised.
        check(unsafe { mpi.call(assert, self.core.raw) })?;
        run!(Epoch::new(&self.core, self.number(), ALL, End::UnlockAll), f)
    }
}

impl<'e, 'env, T: MpiDatatype, K: AccessesAll> Epoch<'e, 'env, T, K> {
    /// The memory of the process of this rank. Calls nothing: if there is none, or it is not in the group that
    /// the epoch was [started](Window::start) with, the operations are errors of class
    /// [`RANK`](ErrorClass::RANK).
    #[inline]
    pub fn process(&'e self, rank: usize) -> Target<'e, 'env, T, K> {
        Target::new(self, rank)
    }

    /// `MPI_PROC_NULL`: nothing happens there.
    pub fn process_null(&'e self) -> Target<'e, 'env, T, K> {
        Target::null(self)
    }
}

impl<'e, 'env, T: MpiDatatype> Epoch<'e, 'env, T, Locked> {
    /// The memory that is locked. Calls nothing.
    #[inline]
    pub fn target(&'e self) -> Target<'e, 'env, T, Locked> {
        let rank = self.locked as usize;
        Target::new(self, rank)
    }
}

impl<'e, 'env, T: MpiDatatype, K> Epoch<'e, 'env, T, K> {
    /// Elements of this process's own memory, while others may write to it: to put from there, to get
    /// to there, or to copy. Calls nothing.
    ///
    /// # Errors
    /// [`RMA_RANGE`](ErrorClass::RMA_RANGE) if it does not have them.
    #[inline]
    pub fn own(&self, range: Range<usize>) -> RmpiResult<Exposed<'e, T>> {
        let (memory, length) = (self.core.memory.cast(), self.core.length());
        Exposed { memory, length, _window: PhantomData }.range(range)
    }

    /// As [`Window::segment`]: a process's part of [shared](super::Shared) memory.
    /// C: `MPI_Win_shared_query`. Local.
    ///
    /// # Errors
    /// As [`Window::segment`], and [`RMA_FLAVOR`](ErrorClass::RMA_FLAVOR) if it is not shared.
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

impl<'e, 'env, K> Epoch<'e, 'env, (), K> {
    /// Memory of the process of this rank that is [attached](Window::attach). Calls nothing.
    ///
    /// # Errors
    /// [`WIN`](ErrorClass::WIN) if it is attached to another window, [`RANK`](ErrorClass::RANK) if
    /// there is no such process, or it is not locked.
    pub fn attached<T: MpiDatatype>(
        &'e self,
        attached: &'e Attached<T>,
        rank: usize,
    ) -> RmpiResult<Target<'e, 'env, T, K>> {
        if attached.window != self.number {
            return Err(foreign());
        }
        if !self.is_locked(rank) {
            return Err(Error::refused(
                ErrorClass::RANK,
                "the lock is of another process's memory",
            ));
        }
        let place = attached.places.get(rank).filter(|_| self.accesses(rank));
        place
            .map(|(address, length)| Target::attached(self, rank, *address, *length))
            .ok_or(Error::refused(ErrorClass::RANK, "the window has no process of that rank"))
    }
}

/// Functions that complete what an epoch began.
macro_rules! flushes {
    ($($(#[$doc:meta])* $name:ident $batch:ident = $function:ident, $end:ident, $local:literal;)*) => {$(
        $(#[$doc])*
        #[doc = concat!(" C: `", stringify!($function), "`. ", $local)]
        ///
        /// The buffers stay borrowed:
        #[doc = concat!("[`", stringify!($batch), "`](Self::", stringify!($batch), ") gives them back.")]
        ///
        /// # Errors
        /// What MPI says.
        ///
        /// ```no_run
        /// # fn example(epoch: &rmpi::Epoch<'_, '_, f64, rmpi::LockedAll>) -> rmpi::RmpiResult {
        #[doc = concat!("epoch.", stringify!($name), "()?;")]
        /// # Ok(()) }
        /// ```
        #[wraps($function)]
        pub fn $name(&self) -> RmpiResult {
            // SAFETY: the function asks for a window in an epoch of passive targets, which this is by its `K`, and
            // which does not end while it is borrowed.
            check(unsafe { mpi.call(self.core.raw) })
        }

        #[doc = concat!("Runs a function in a part of the epoch, after which [`", stringify!($name), "`](Self::", stringify!($name), ")")]
        /// completes all that was begun; the buffers are free again.
        #[doc = concat!(" C: `", stringify!($function), "`, after. ", $local)]
        ///
        /// # Errors
        /// What the function says, and MPI.
        ///
        /// ```no_run
        /// # fn example(epoch: &rmpi::Epoch<'_, '_, f64, rmpi::LockedAll>) -> rmpi::RmpiResult {
        /// let mut got = [0.0; 4];
        #[doc = concat!("epoch.", stringify!($batch), "(|part| part.process(0).get(&mut got, 0))?;")]
        /// println!("{got:?}");
        /// # Ok(()) }
        /// ```
        #[inline]
        pub fn $batch<'part, F, R>(&'part self, f: F) -> RmpiResult<R>
        where
            F: for<'p> FnOnce(&'p Epoch<'p, 'part, T, K>) -> RmpiResult<R>,
        {
            run!(Epoch::new(self.core, self.number, self.locked, End::$end), f)
        }
    )*};
}

impl<T, K: AccessesPassively> Epoch<'_, '_, T, K> {
    flushes! {
        /// Completes all operations of this epoch, here and there.
        flush_all flushed_all = MPI_Win_flush_all, FlushAll, "Blocks.";
        /// Completes all operations of this epoch here: what was read is there, what was written can be
        /// changed.
        flush_local_all flushed_local_all = MPI_Win_flush_local_all, FlushLocalAll, "Blocks.";
    }

    /// Makes what the processes of a node write to shared memory, and what MPI does, visible to one
    /// another. C: `MPI_Win_sync`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(epoch: &rmpi::Epoch<'_, '_, f64, rmpi::LockedAll>) -> rmpi::RmpiResult {
    /// epoch.sync()
    /// # }
    /// ```
    #[wraps(MPI_Win_sync)]
    pub fn sync(&self) -> RmpiResult {
        // SAFETY: `MPI_Win_sync` asks for a window in an epoch of passive targets, which this is by its `K`, and
        // which does not end while it is borrowed.
        check(unsafe { mpi.call(self.core.raw) })
    }
}

/// As above, for one process.
macro_rules! flushes_one {
    ($($(#[$doc:meta])* $name:ident $batch:ident = $function:ident, $end:ident;)*) => {$(
        $(#[$doc])*
        #[doc = concat!(" C: `", stringify!($function), "`. Blocks.")]
        ///
        /// The buffers stay borrowed:
        #[doc = concat!("[`", stringify!($batch), "`](Self::", stringify!($batch), ") gives them back.")]
        ///
        /// # Errors
        /// What MPI says.
        ///
        /// ```no_run
        /// # fn example(epoch: &rmpi::Epoch<'_, '_, f64, rmpi::LockedAll>) -> rmpi::RmpiResult {
        #[doc = concat!("epoch.", stringify!($name), "(1)?;")]
        /// # Ok(()) }
        /// ```
        #[wraps($function)]
        pub fn $name(&self, rank: usize) -> RmpiResult {
            let rank = self.rank(rank)?;
            // SAFETY: the function asks for a window in an epoch of passive targets, which this is by its `K`, and
            // for a rank that is locked, which `rank` has made sure of.
            check(unsafe { mpi.call(rank, self.core.raw) })
        }

        #[doc = concat!("Runs a function in a part of the epoch, after which [`", stringify!($name), "`](Self::", stringify!($name), ")")]
        /// completes all that was begun, which is with this process; the buffers are free again.
        #[doc = concat!(" C: `", stringify!($function), "`, after. Blocks.")]
        ///
        /// # Errors
        /// What the function says, and MPI.
        ///
        /// ```no_run
        /// # fn example(epoch: &rmpi::Epoch<'_, '_, f64, rmpi::LockedAll>) -> rmpi::RmpiResult {
        /// let mut got = [0.0; 4];
        #[doc = concat!("epoch.", stringify!($batch), "(1, |part| part.target().get(&mut got, 0))?;")]
        /// println!("{got:?}");
        /// # Ok(()) }
        /// ```
        #[inline]
        pub fn $batch<'part, F, R>(&'part self, rank: usize, f: F) -> RmpiResult<R>
        where
            F: for<'p> FnOnce(&'p Epoch<'p, 'part, T, Locked>) -> RmpiResult<R>,
        {
            let rank = self.rank(rank)?;
            run!(Epoch::new(self.core, self.number, rank, End::$end(rank)), f)
        }
    )*};
}

impl<T, K: AccessesPassively> Epoch<'_, '_, T, K> {
    flushes_one! {
        /// Completes the operations of this epoch with one process, here and there.
        flush flushed = MPI_Win_flush, Flush;
        /// Completes the operations of this epoch with one process here: what was read is there, what
        /// was written can be changed.
        flush_local flushed_local = MPI_Win_flush_local, FlushLocal;
    }

    /// A rank that is locked.
    #[inline]
    fn rank(&self, rank: usize) -> RmpiResult<c_int> {
        if rank >= self.core.lengths.len() || !self.is_locked(rank) {
            return Err(Error::refused(ErrorClass::RANK, "no process of that rank is locked"));
        }
        Ok(rank as c_int)
    }
}
