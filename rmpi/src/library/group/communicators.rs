//! Communicators that are made of groups, and of what processes have in common.

use core::ffi::CStr;

use rmpi_macros::wraps;

use super::super::communicator::{Communicator, made, made_returning, none_made};
use super::super::error::{Error, ErrorClass, RmpiResult, output};
use super::super::info::{self, Info};
use super::super::process::tag_of;
use super::super::sys::{self, c_int};
use super::Group;
use crate::Tag;

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
            mpi.call(self.as_raw(), group.as_raw(), new)
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
            mpi.call(self.as_raw(), group.as_raw(), tag, new)
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
            mpi.call(group.as_raw(), tag.as_ptr(), info::handle(info), errors_return, new)
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
