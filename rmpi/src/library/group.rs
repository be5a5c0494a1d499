use core::cell::Cell;
use core::ffi::CStr;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU64, Ordering};
use std::rc::Rc;

use smallvec::SmallVec;
use tool_macros::wraps;

use super::communicator::{Communicator, made, made_returning, none_made};
use super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::info::{self, Info};
use super::process::tag_of;
use super::request::{Request, Scope};
use super::sys::{self, MPI_Comm, MPI_Group, c_int};
use crate::{Comparison, Tag};

/// An ordered set of processes (MPI-5.0, 7.3), freed when it is dropped. Everything here but what
/// makes communicators is local.
///
/// ```no_run
/// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
/// let even: Vec<usize> = (0..world.size()?).step_by(2).collect();
/// let group = world.group()?.incl(&even)?;
/// if let Some(even) = world.create(&group)? {
///     println!("{} of {}", even.rank()?, even.size()?);
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct Group<'ctx> {
    /// A group, and valid as long as this value: who makes one promises it, and only `drop` and `free` end it.
    raw: MPI_Group,
    /// -1 until somebody asks.
    size: Cell<c_int>,
    /// Which group it is; 0 until somebody asks. Handles come again, and these numbers do not.
    number: Cell<u64>,
    _context: PhantomData<&'ctx ()>,
    _thread: PhantomData<*const ()>,
}

/// Some ranks of a group: `first`, `first + stride` and so on, not beyond `last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct RankRange {
    /// The first rank.
    pub first: usize,
    /// No rank is beyond this one.
    pub last: usize,
    /// From a rank to the next; downwards if negative; never 0.
    pub stride: isize,
}

fn predefined(raw: MPI_Group) -> bool {
    raw == sys::MPI_GROUP_EMPTY || raw == sys::MPI_GROUP_NULL
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        if !predefined(self.raw) {
            // SAFETY: MPI_Group_free requires a group, freed once: it is not predefined, and `free` and
            // `into_raw` do not come here. `free` tells errors.
            unsafe { sys::MPI_Group_free(&mut self.raw) };
        }
    }
}

/// Numbers as C has them, mostly ranks.
pub(super) type Ints = SmallVec<[c_int; 16]>;

/// As C has them; what is too large is refused.
pub(super) fn ints(numbers: &[usize], class: ErrorClass, reason: &'static str) -> RmpiResult<Ints> {
    numbers
        .iter()
        .map(|number| c_int::try_from(*number).map_err(|_| Error::refused(class, reason)))
        .collect()
}

pub(super) fn length<T>(array: &[T]) -> RmpiResult<c_int> {
    c_int::try_from(array.len())
        .map_err(|_| Error::refused(ErrorClass::ARG, "more than 2147483647 values"))
}

const NO_SUCH_RANK: &str = "there is no process of that rank";

macro_rules! two_groups {
    ($($(#[$doc:meta])* $name:ident = $function:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// What MPI says.
        ///
        /// ```no_run
        /// # fn example(one: &rmpi::Group<'_>, other: &rmpi::Group<'_>) -> rmpi::RmpiResult {
        #[doc = concat!("let group = one.", stringify!($name), "(other)?;")]
        /// # Ok(()) }
        /// ```
        #[wraps($function)]
        pub fn $name(&self, other: &Group<'ctx>) -> RmpiResult<Group<'ctx>> {
            let null = sys::MPI_GROUP_NULL;
            // SAFETY: the function requires two groups, which `self` and `other` hold, and writes one
            // handle to `new`.
            let raw = output(null, |new| unsafe { mpi.call(self.raw, other.raw, new) })?;
            // SAFETY: `from_raw` requires a group that nobody else frees, and that MPI runs for `'ctx`:
            // MPI has just made it, for this caller alone, of groups of that lifetime.
            Ok(unsafe { Group::from_raw(raw) })
        }
    )*};
}

macro_rules! some_ranks {
    ($($(#[$doc:meta])* $name:ident = $function:ident, $range_name:ident = $range_function:ident;)*) => {$(
        $(#[$doc])*
        #[doc = concat!("C: `", stringify!($function), "`.")]
        ///
        /// # Errors
        /// [`RANK`](ErrorClass::RANK) if there is no such rank or one twice.
        ///
        /// ```no_run
        /// # fn example(group: &rmpi::Group<'_>) -> rmpi::RmpiResult {
        #[doc = concat!("let group = group.", stringify!($name), "(&[0, 2])?;")]
        /// # Ok(()) }
        /// ```
        #[wraps($function)]
        pub fn $name(&self, ranks: &[usize]) -> RmpiResult<Group<'ctx>> {
            self.distinct(ranks.iter().copied())?;
            let ranks = ints(ranks, ErrorClass::RANK, NO_SUCH_RANK)?;
            // SAFETY: the function reads as many ranks as the count says, which are different ones of
            // the group, as `distinct` has found: so many fit an int. `self` holds the group. It writes
            // one handle to `new`.
            let raw = output(sys::MPI_GROUP_NULL, |new| unsafe {
                mpi.call(self.raw, ranks.len() as c_int, ranks.as_ptr(), new)
            })?;
            // SAFETY: `from_raw` requires a group that nobody else frees, and that MPI runs for `'ctx`:
            // MPI has just made it, for this caller alone, of a group of that lifetime.
            Ok(unsafe { Group::from_raw(raw) })
        }

        $(#[$doc])*
        #[doc = concat!("C: `", stringify!($range_function), "`.")]
        ///
        /// # Errors
        /// [`RANK`](ErrorClass::RANK) if there is no such rank or one twice;
        /// [`ARG`](ErrorClass::ARG) if a stride leads nowhere.
        ///
        /// ```no_run
        /// # fn example(group: &rmpi::Group<'_>) -> rmpi::RmpiResult {
        /// let odd = rmpi::RankRange { first: 1, last: group.size()? - 1, stride: 2 };
        #[doc = concat!("let group = group.", stringify!($range_name), "(&[odd])?;")]
        /// # Ok(()) }
        /// ```
        #[wraps($range_function)]
        pub fn $range_name(&self, ranges: &[RankRange]) -> RmpiResult<Group<'ctx>> {
            let mut ranges = self.ranges(ranges)?;
            // SAFETY: the function reads as many triples as the count says, of different ranks of the
            // group, as `ranges` has found: so many fit an int. `self` holds the group. It writes one
            // handle to `new`.
            let raw = output(sys::MPI_GROUP_NULL, |new| unsafe {
                mpi.call(self.raw, ranges.len() as c_int, ranges.as_mut_ptr(), new)
            })?;
            // SAFETY: `from_raw` requires a group that nobody else frees, and that MPI runs for `'ctx`:
            // MPI has just made it, for this caller alone, of a group of that lifetime.
            Ok(unsafe { Group::from_raw(raw) })
        }
    )*};
}

impl<'ctx> Group<'ctx> {
    /// The group of a handle, which is freed with it, unless it is predefined.
    ///
    /// # Safety
    /// It is a group that nobody else frees, and MPI runs for `'ctx` and may be called by this thread.
    pub const unsafe fn from_raw(raw: MPI_Group) -> Self {
        let (size, number) = (Cell::new(-1), Cell::new(0));
        Self { raw, size, number, _context: PhantomData, _thread: PhantomData }
    }

    /// C's handle, which nobody frees any more.
    pub fn into_raw(self) -> MPI_Group {
        ManuallyDrop::new(self).raw
    }

    /// C's handle, which the group keeps.
    pub const fn as_raw(&self) -> MPI_Group {
        self.raw
    }

    /// `MPI_GROUP_EMPTY`: no processes.
    ///
    /// ```no_run
    /// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
    /// assert_eq!(rmpi::Group::empty(context).size()?, 0);
    /// # Ok(()) }
    /// ```
    pub fn empty<R: super::Runtime>(runtime: &'ctx R) -> Self {
        let _ = runtime;
        // SAFETY: `from_raw` requires a group that nobody else frees, and that MPI runs for `'ctx`: the
        // drop knows that this one is predefined, and frees nothing; `runtime` shows that MPI runs.
        unsafe { Self::from_raw(sys::MPI_GROUP_EMPTY) }
    }

    /// How many processes it has. C: `MPI_Group_size`.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// assert_eq!(world.group()?.size()?, world.size()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Group_size)]
    pub fn size(&self) -> RmpiResult<usize> {
        // SAFETY: MPI_Group_size requires a group, which `self` holds, and writes one int to `size`.
        let size = output(0, |size| unsafe { mpi.call(self.raw, size) })?;
        self.size.set(size);
        Ok(size.unsigned_abs() as usize)
    }

    /// The size, which MPI is asked for once.
    fn known_size(&self) -> RmpiResult<usize> {
        usize::try_from(self.size.get()).or_else(|_| self.size())
    }

    /// A number that no other group of this process has or had.
    pub(super) fn number(&self) -> u64 {
        static LAST: AtomicU64 = AtomicU64::new(0);
        if self.number.get() == 0 {
            self.number.set(LAST.fetch_add(1, Ordering::Relaxed) + 1);
        }
        self.number.get()
    }

    /// Which ranks of the other group its processes have; none if one of them is not in there.
    pub(super) fn members_in(&self, other: &Group<'_>) -> RmpiResult<Option<Rc<[bool]>>> {
        let ranks: SmallVec<[usize; 16]> = (0..self.known_size()?).collect();
        let mut members = vec![false; other.known_size()?];
        for rank in self.translate_ranks(&ranks, other)? {
            match rank.and_then(|rank| members.get_mut(rank)) {
                Some(member) => *member = true,
                None => return Ok(None),
            }
        }
        Ok(Some(members.into()))
    }

    /// This process's rank in the group, if it is in it. C: `MPI_Group_rank`.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(group: &rmpi::Group<'_>) -> rmpi::RmpiResult {
    /// if let Some(rank) = group.rank()? {
    ///     println!("I am number {rank}");
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Group_rank)]
    pub fn rank(&self) -> RmpiResult<Option<usize>> {
        // SAFETY: MPI_Group_rank requires a group, which `self` holds, and writes one int to `rank`.
        let rank = output(0, |rank| unsafe { mpi.call(self.raw, rank) })?;
        // MPI_UNDEFINED is negative.
        Ok(rank.try_into().ok())
    }

    /// The ranks in another group of the processes with these ranks in this one; `None` for those
    /// that are not in it. C: `MPI_Group_translate_ranks`.
    ///
    /// # Errors
    /// [`RANK`](ErrorClass::RANK) if there is no such rank.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Group<'_>, node: &rmpi::Group<'_>) -> rmpi::RmpiResult {
    /// let root_on_node: Option<usize> = world.translate_ranks(&[0], node)?[0];
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Group_translate_ranks)]
    pub fn translate_ranks(
        &self,
        ranks: &[usize],
        other: &Group<'_>,
    ) -> RmpiResult<Vec<Option<usize>>> {
        let size = self.known_size()?;
        if ranks.iter().any(|rank| *rank >= size) {
            return Err(Error::refused(ErrorClass::RANK, NO_SUCH_RANK));
        }
        let count = length(ranks)?;
        let ranks = ints(ranks, ErrorClass::RANK, NO_SUCH_RANK)?;
        let mut translated: Ints = SmallVec::from_elem(sys::MPI_UNDEFINED, ranks.len());
        // SAFETY: MPI_Group_translate_ranks requires two groups, which `self` and `other` hold, reads
        // `count` ranks, which are less than the group's size, and writes `count` ints: both arrays
        // have that length.
        check(unsafe {
            mpi.call(self.raw, count, ranks.as_ptr(), other.raw, translated.as_mut_ptr())
        })?;
        Ok(translated.iter().map(|rank| usize::try_from(*rank).ok()).collect())
    }

    /// How it compares with another one. C: `MPI_Group_compare`.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(group: &rmpi::Group<'_>) -> rmpi::RmpiResult {
    /// assert_eq!(group.compare(group)?, rmpi::Comparison::Identical);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Group_compare)]
    pub fn compare(&self, other: &Group<'_>) -> RmpiResult<Comparison> {
        // SAFETY: MPI_Group_compare requires two groups, which `self` and `other` hold, and writes one
        // int to `result`.
        let result = output(0, |result| unsafe { mpi.call(self.raw, other.raw, result) })?;
        Comparison::from_raw(result)
            .ok_or(Error::refused(ErrorClass::OTHER, "MPI told an unknown comparison"))
    }

    two_groups! {
        /// The processes of this group, then those that only the other has. C: `MPI_Group_union`.
        union = MPI_Group_union;
        /// The processes of this group that the other has too. C: `MPI_Group_intersection`.
        intersection = MPI_Group_intersection;
        /// The processes of this group that the other does not have. C: `MPI_Group_difference`.
        difference = MPI_Group_difference;
    }

    some_ranks! {
        /// The processes of these ranks, in this order.
        incl = MPI_Group_incl, range_incl = MPI_Group_range_incl;
        /// All processes but those of these ranks.
        excl = MPI_Group_excl, range_excl = MPI_Group_range_excl;
    }

    /// Frees the group, as its drop does, and says what went wrong. C: `MPI_Group_free`.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(group: rmpi::Group<'_>) -> rmpi::RmpiResult {
    /// group.free()
    /// # }
    /// ```
    #[wraps(MPI_Group_free)]
    pub fn free(self) -> RmpiResult {
        let mut this = ManuallyDrop::new(self);
        if predefined(this.raw) {
            return Ok(());
        }
        // SAFETY: MPI_Group_free requires a group, freed once: it is not predefined, and `this` is not
        // dropped.
        check(unsafe { mpi.call(&mut this.raw) })
    }

    /// Are they ranks of the group, each once? Not every MPI asks, and Open MPI's `MPI_Group_excl`
    /// writes beyond its memory if one is there twice.
    fn distinct(&self, ranks: impl Iterator<Item = usize>) -> RmpiResult {
        let mut seen: SmallVec<[bool; 64]> = SmallVec::from_elem(false, self.known_size()?);
        for rank in ranks {
            match seen.get_mut(rank) {
                Some(seen) if !*seen => *seen = true,
                Some(_) => return Err(Error::refused(ErrorClass::RANK, "a rank is there twice")),
                None => return Err(Error::refused(ErrorClass::RANK, NO_SUCH_RANK)),
            }
        }
        Ok(())
    }

    fn ranges(&self, ranges: &[RankRange]) -> RmpiResult<SmallVec<[[c_int; 3]; 4]>> {
        let size = self.known_size()?;
        for range in ranges {
            if range.first >= size || range.last >= size {
                return Err(Error::refused(ErrorClass::RANK, NO_SUCH_RANK));
            }
            let up = range.first <= range.last;
            let down = range.first >= range.last;
            if !(range.stride > 0 && up || range.stride < 0 && down) {
                return Err(Error::refused(ErrorClass::ARG, "the range's stride leads nowhere"));
            }
        }
        self.distinct(ranges.iter().flat_map(|range| {
            let steps = range.first.abs_diff(range.last) / range.stride.unsigned_abs();
            (0..=steps).map(|step| {
                if range.stride > 0 {
                    range.first + step * range.stride.unsigned_abs()
                } else {
                    range.first - step * range.stride.unsigned_abs()
                }
            })
        }))?;
        length(ranges)?;
        // The ranks fit, since they are less than a size of MPI. A longer stride has one step.
        let stride = |stride: isize| stride.clamp(-(c_int::MAX as isize), c_int::MAX as isize);
        Ok(ranges
            .iter()
            .map(|range| [range.first as c_int, range.last as c_int, stride(range.stride) as c_int])
            .collect())
    }
}

/// What the processes of [`Communicator::split_type`]'s parts have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SplitType {
    /// Memory that they can share. (`MPI_COMM_TYPE_SHARED`)
    Shared,
    /// The hardware resource that the info's `mpi_hw_resource_type` names.
    /// (`MPI_COMM_TYPE_HW_GUIDED`, MPI-4)
    HwGuided,
    /// A hardware resource, the next smaller one than the communicator's.
    /// (`MPI_COMM_TYPE_HW_UNGUIDED`, MPI-4)
    HwUnguided,
}

impl SplitType {
    /// C's number.
    pub const fn into_raw(self) -> c_int {
        match self {
            Self::Shared => sys::MPI_COMM_TYPE_SHARED,
            Self::HwGuided => sys::MPI_COMM_TYPE_HW_GUIDED,
            Self::HwUnguided => sys::MPI_COMM_TYPE_HW_UNGUIDED,
        }
    }
}

impl<'ctx> Communicator<'ctx> {
    /// The group of its processes. C: `MPI_Comm_group`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let without_first = world.group()?.excl(&[0])?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_group)]
    pub fn group(&self) -> RmpiResult<Group<'ctx>> {
        let null = sys::MPI_GROUP_NULL;
        // SAFETY: MPI_Comm_group requires a communicator, which `self` holds, and writes one handle to
        // `new`.
        let raw = output(null, |new| unsafe { mpi.call(self.as_raw(), new) })?;
        // SAFETY: `from_raw` requires a group that nobody else frees, and that MPI runs for `'ctx`: MPI
        // has just made it, for this caller alone, of a communicator of that lifetime.
        Ok(unsafe { Group::from_raw(raw) })
    }

    /// A communicator for a group of its processes; none for the others. C: `MPI_Comm_create`, then
    /// `MPI_Comm_set_errhandler`. Collective over all processes of this communicator.
    ///
    /// # Errors
    /// [`GROUP`](ErrorClass::GROUP) if it has other processes than the communicator.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// if let Some(pair) = world.create(&world.group()?.incl(&[0, 1])?)? {
    ///     pair.barrier()?;
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_create)]
    pub fn create(&self, group: &Group<'ctx>) -> RmpiResult<Option<Communicator<'ctx>>> {
        self.intra()?;
        self.has_all_of(group)?;
        // SAFETY: MPI_Comm_create requires an intracommunicator, which `self` holds, as `intra` has
        // found, and a group of its processes, as `has_all_of` has found; it writes one handle to
        // `new`.
        made_returning(output(sys::MPI_COMM_NULL, |new| unsafe {
            mpi.call(self.as_raw(), group.raw, new)
        })?)
    }

    /// Refuses a group of which not all processes are the communicator's: in `MPI_Comm_create_group`, MPICH aborts
    /// and Open MPI crashes.
    fn has_all_of(&self, group: &Group<'_>) -> RmpiResult {
        // SAFETY: MPI_Comm_group requires a communicator, which `self` holds, and writes one handle to
        // `new`.
        let all =
            output(sys::MPI_GROUP_NULL, |new| unsafe { sys::MPI_Comm_group(self.as_raw(), new) })?;
        // SAFETY: `from_raw` requires a group that nobody else frees, while MPI runs: MPI has just made
        // it, and it is freed at the end of this function.
        let all = unsafe { Group::from_raw(all) };
        match group.members_in(&all)? {
            Some(_) => Ok(()),
            None => Err(Error::refused(
                ErrorClass::GROUP,
                "not all processes of the group are in the communicator",
            )),
        }
    }

    /// A communicator for a group of its processes; none for others that call it.
    /// C: `MPI_Comm_create_group`, then `MPI_Comm_set_errhandler`. Collective over the group alone.
    ///
    /// # Errors
    /// As [`create`](Self::create); [`TAG`](ErrorClass::TAG).
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// if world.rank()? < 2 {
    ///     let group = world.group()?.incl(&[0, 1])?;
    ///     let pair = world.create_group(&group, rmpi::Tag::new(0))?;
    /// }
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_create_group)]
    pub fn create_group(
        &self,
        group: &Group<'ctx>,
        tag: Tag,
    ) -> RmpiResult<Option<Communicator<'ctx>>> {
        self.intra()?;
        let tag = tag_of(tag)?;
        self.has_all_of(group)?;
        // SAFETY: MPI_Comm_create_group requires an intracommunicator, which `self` holds, as `intra`
        // has found, a group of its processes, as `has_all_of` has found, and a tag; it writes one
        // handle to `new`.
        made_returning(output(sys::MPI_COMM_NULL, |new| unsafe {
            mpi.call(self.as_raw(), group.raw, tag, new)
        })?)
    }

    /// Communicators for processes that have something in common, in the order of `key`s; none
    /// for a process that gives no type, or has no such thing. C: `MPI_Comm_split_type`. Collective.
    ///
    /// # Errors
    /// What MPI says; an MPI before MPI-4 knows only [`Shared`](SplitType::Shared).
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let node = world.split_type(Some(rmpi::SplitType::Shared), 0, None)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_split_type)]
    pub fn split_type(
        &self,
        split_type: Option<SplitType>,
        key: i32,
        info: Option<&Info<'_>>,
    ) -> RmpiResult<Option<Communicator<'ctx>>> {
        self.intra()?;
        let split_type = split_type.map_or(sys::MPI_UNDEFINED, SplitType::into_raw);
        // SAFETY: MPI_Comm_split_type requires an intracommunicator, which `self` holds, as `intra` has
        // found, a type or MPI_UNDEFINED, and an info, which `handle` gives, or the null one; it writes
        // one handle to `new`.
        Ok(made(output(sys::MPI_COMM_NULL, |new| unsafe {
            mpi.call(self.as_raw(), split_type, key, info::handle(info), new)
        })?))
    }

    /// A communicator of the same processes with these hints. C: `MPI_Comm_dup_with_info`.
    /// Collective.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>, info: &rmpi::Info<'_>) -> rmpi::RmpiResult {
    /// let hinted = world.dup_with_info(Some(info))?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_dup_with_info)]
    pub fn dup_with_info(&self, info: Option<&Info<'_>>) -> RmpiResult<Communicator<'ctx>> {
        self.intra()?;
        // SAFETY: MPI_Comm_dup_with_info requires an intracommunicator, which `self` holds, as `intra`
        // has found, and an info, which `handle` gives, or the null one; it writes one handle to `new`.
        made(output(sys::MPI_COMM_NULL, |new| unsafe {
            mpi.call(self.as_raw(), info::handle(info), new)
        })?)
        .ok_or_else(none_made)
    }

    /// Begins to make a communicator of the same processes. C: `MPI_Comm_idup`. Local; all processes
    /// call it, in the same order as other collective operations.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let copy = rmpi::scope(|scope| world.idup(scope)?.wait()?.into_communicator())?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_idup)]
    pub fn idup<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
    ) -> RmpiResult<Request<'scope, NewCommunicator<'ctx>>> {
        self.intra()?;
        let new = NewCommunicator {
            raw: NonNull::from(Box::leak(Box::new(sys::MPI_COMM_NULL))),
            _context: PhantomData,
        };
        // SAFETY: `begin_lasting` requires an operation that uses the buffer's memory only, wherever
        // the buffer moves, while MPI runs for `'scope`: MPI writes the handle to a box that was leaked
        // above and is freed by `into_communicator` only, after the wait; and `self`, of which MPI
        // makes it, is borrowed for `'scope`.
        unsafe {
            scope.begin_lasting(new, |new| {
                output(sys::MPI_REQUEST_NULL, |request| {
                    mpi.call(self.as_raw(), new.raw.as_ptr(), request)
                })
            })
        }
    }

    /// A communicator of a group, for which no other one is needed. C: `MPI_Comm_create_from_group`.
    /// Collective over the group. Calls with the same group at the same time have different
    /// tags.
    ///
    /// # Errors
    /// [`GROUP`](ErrorClass::GROUP) if this process is not in it;
    /// [`UNSUPPORTED_OPERATION`](ErrorClass::UNSUPPORTED_OPERATION) before MPI-4.
    ///
    /// ```no_run
    /// # fn example(session: &rmpi::Session) -> rmpi::RmpiResult {
    /// let group = session.group_from_pset(c"mpi://WORLD")?;
    /// let world = rmpi::Communicator::create_from_group(&group, c"org.example", None)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_create_from_group in Self)]
    pub fn create_from_group(
        group: &Group<'ctx>,
        tag: &CStr,
        info: Option<&Info<'_>>,
    ) -> RmpiResult<Communicator<'ctx>> {
        if group.rank()?.is_none() {
            return Err(Error::refused(ErrorClass::GROUP, "this process is not in the group"));
        }
        if tag.to_bytes_with_nul().len() > sys::MPI_MAX_STRINGTAG_LEN.unsigned_abs() as usize {
            return Err(Error::refused(ErrorClass::ARG, "the tag is too long"));
        }
        let errors_return = sys::MPI_ERRORS_RETURN;
        // SAFETY: MPI_Comm_create_from_group requires a group that this process is in, as was asked
        // above, a text of at most MPI_MAX_STRINGTAG_LEN bytes with its zero, as was asked, too, an
        // info or the null one, and an error handler, which is predefined; it writes one handle to
        // `new`.
        made(output(sys::MPI_COMM_NULL, |new| unsafe {
            mpi.call(group.raw, tag.as_ptr(), info::handle(info), errors_return, new)
        })?)
        .ok_or_else(none_made)
    }

    /// Is it an intercommunicator? A [`Communicator`] is none, but what C gave may be.
    /// C: `MPI_Comm_test_inter`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// assert!(!world.test_inter()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_test_inter)]
    pub fn test_inter(&self) -> RmpiResult<bool> {
        // SAFETY: MPI_Comm_test_inter requires a communicator, which `self` holds, and writes one int
        // to `flag`.
        output(0, |flag| unsafe { mpi.call(self.as_raw(), flag) }).map(|flag| flag != 0)
    }
}

/// Where [`Communicator::idup`] puts the new communicator. One that nobody takes is leaked.
#[derive(Debug)]
#[must_use = "a communicator that nobody takes is leaked"]
pub struct NewCommunicator<'ctx> {
    raw: NonNull<MPI_Comm>,
    _context: PhantomData<&'ctx ()>,
}

impl<'ctx> NewCommunicator<'ctx> {
    /// The communicator.
    ///
    /// # Errors
    /// [`COMM`](ErrorClass::COMM) if MPI made none.
    pub fn into_communicator(self) -> RmpiResult<Communicator<'ctx>> {
        // SAFETY: `Box::from_raw` requires the pointer of a box, once: `idup` leaked it, `self` is
        // moved here, and no request writes to it any more: a request gives its buffer back when it is
        // complete.
        made(*unsafe { Box::from_raw(self.raw.as_ptr()) }).ok_or_else(none_made)
    }
}
