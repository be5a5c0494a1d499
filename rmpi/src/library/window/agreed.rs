//! What the processes of a window have told each other when it was made.

use core::cell::RefCell;
use core::ffi::c_void;
use std::rc::Rc;
use std::sync::OnceLock;

use super::super::communicator::Communicator;
use super::super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::super::group::Group;
use super::super::runtime;
use super::super::sys::{self, MPI_Aint, MPI_Win};
use super::meeting::Meeting;
use super::object::Synchronization;
use crate::MpiDatatype;

/// The number of a group, and which processes of the window are in it.
type Known = (u64, Rc<[bool]>);

/// A window without its types.
#[derive(Debug)]
pub(in super::super) struct Core {
    pub(in super::super) raw: MPI_Win,
    /// This process's memory; dangling if there is none.
    pub(in super::super) memory: *mut c_void,
    pub(in super::super) rank: usize,
    /// How many elements each process's memory has.
    pub(in super::super) lengths: Box<[usize]>,
    /// Where each process's memory begins in its window, in bytes; there displacements count bytes, unless
    /// it begins with the window.
    shifts: Box<[usize]>,
    pub(in super::super) shared: bool,
    /// Where its processes meet before they free it.
    pub(super) meeting: Rc<Meeting>,
    /// Groups whose processes all have the window, by their numbers, with the ranks in it: the last one posted
    /// to, and the last one started with, as a rule.
    groups: RefCell<[Option<Known>; 2]>,
}

impl Core {
    /// The window that MPI made, if all processes mean the same by it; else it is freed, and null from then on,
    /// unless MPI does not free it. They are those that meet.
    pub(super) fn new<S: Synchronization>(
        raw: &mut MPI_Win,
        meeting: &Rc<Meeting>,
        memory: *mut c_void,
        length: usize,
        element: [u64; 2],
        shift: usize,
        shared: bool,
    ) -> RmpiResult<Self> {
        // SAFETY: `MPI_Win_set_errhandler` asks for a window and an error handler: the caller has just made the
        // one, and the other is predefined.
        let returning = check(unsafe { sys::MPI_Win_set_errhandler(*raw, sys::MPI_ERRORS_RETURN) });
        let mine = [element[0], element[1], S::NUMBER, length as u64, shift as u64];
        let agreed = returning.and_then(|()| gather(meeting, mine)).and_then(|all| {
            if all.iter().any(|one| one[..2] == TOO_LARGE) {
                return Err(too_large());
            }
            if all.iter().any(|one| one[..2] == NO_MEMORY) {
                return Err(Error::refused(
                    ErrorClass::NO_MEM,
                    "MPI allocated no memory, or memory that is not aligned as the type is",
                ));
            }
            if all.iter().any(|one| one[..3] != mine[..3]) {
                return Err(Error::refused(
                    ErrorClass::NOT_SAME,
                    "the processes give different types or ways to synchronise",
                ));
            }
            Ok((
                all.iter().map(|one| one[3] as usize).collect(),
                all.iter().map(|one| one[4] as usize).collect(),
            ))
        });
        match agreed.and_then(|agreed| Ok((agreed, meeting.with(Communicator::known_rank)?))) {
            Ok(((lengths, shifts), rank)) => Ok(Self {
                raw: *raw,
                memory,
                rank,
                lengths,
                shifts,
                shared,
                meeting: Rc::clone(meeting),
                groups: RefCell::new([None, None]),
            }),
            Err(error) => {
                // SAFETY: `MPI_Win_free` asks for a window that is freed once and has no epoch: this one is
                // new, and nobody else gets it while it is not null, which MPI makes of it when it is freed.
                unsafe { sys::MPI_Win_free(raw) };
                Err(error)
            }
        }
    }

    pub(in super::super) fn length(&self) -> usize {
        self.lengths[self.rank]
    }

    /// Which processes of the window are in a group. Refuses one of which not all have the window: MPICH
    /// crashes, or waits for those for ever. Asks MPI about a group once, as long as no more than two are in
    /// use.
    #[inline]
    pub(in super::super) fn members(&self, group: &Group<'_>) -> RmpiResult<Rc<[bool]>> {
        let number = group.number();
        if let Some((_, members)) =
            self.groups.borrow().iter().flatten().find(|known| known.0 == number)
        {
            return Ok(Rc::clone(members));
        }
        self.ask_for_members(group)
    }

    #[cold]
    fn ask_for_members(&self, group: &Group<'_>) -> RmpiResult<Rc<[bool]>> {
        // SAFETY: `MPI_Win_get_group` asks for a window, which `self.raw` is until its `Window` ends, and
        // writes a group.
        let all = output(sys::MPI_GROUP_NULL, |group| unsafe {
            sys::MPI_Win_get_group(self.raw, group)
        })?;
        // SAFETY: `from_raw` asks for a group that nobody else frees, while MPI runs: MPI made this one for the
        // caller, and it is dropped here, while the window exists.
        let all = unsafe { Group::from_raw(all) };
        let members = group.members_in(&all)?.ok_or(Error::refused(
            ErrorClass::GROUP,
            "not all processes of the group have the window",
        ))?;
        let mut groups = self.groups.borrow_mut();
        groups.rotate_right(1);
        groups[0] = Some((group.number(), Rc::clone(&members)));
        Ok(members)
    }

    /// Where a process's memory begins, and how much an element is, in what displacements count.
    #[inline]
    pub(in super::super) fn origin(&self, rank: usize, element: usize) -> (MPI_Aint, MPI_Aint) {
        match self.shifts.get(rank) {
            Some(shift) if *shift != 0 => (*shift as MPI_Aint, element as MPI_Aint),
            _ => (0, 1),
        }
    }
}

/// In place of what they compare, where MPI gave no memory, or memory that is not aligned as the type is.
pub(super) const NO_MEMORY: [u64; 2] = [u64::MAX; 2];

/// In place of what they compare, where a process asks for more than there can be. It takes part with a window of
/// no memory, so that the others do not wait for it.
pub(super) const TOO_LARGE: [u64; 2] = [u64::MAX, u64::MAX - 1];

/// What the processes compare of a window's type: where in an element there is data, and of what kind. The
/// rest is padding, which no other process may read, since it need not be initialised.
pub(super) fn element<T: MpiDatatype>() -> [u64; 2] {
    let identity = T::TYPE_MAP.identity();
    [identity as u64, (identity >> 64) as u64]
}

/// Some numbers of all processes.
pub(super) fn gather<const N: usize>(
    meeting: &Meeting,
    mine: [u64; N],
) -> RmpiResult<Vec<[u64; N]>> {
    meeting.with(|communicator| gather_in(communicator, mine))
}

fn gather_in<const N: usize>(
    communicator: &Communicator<'_>,
    mine: [u64; N],
) -> RmpiResult<Vec<[u64; N]>> {
    let mut all = vec![[0; N]; communicator.known_size()?];
    // SAFETY: `MPI_Allgather` reads `N` numbers of `mine` and writes as many of each process to `all`, which
    // has room for those of `known_size` processes; an intercommunicator is refused there. All processes gather
    // as many.
    check(unsafe {
        sys::MPI_Allgather(
            mine.as_ptr().cast(),
            N as i32,
            sys::MPI_UINT64_T,
            all.as_mut_ptr().cast(),
            N as i32,
            sys::MPI_UINT64_T,
            communicator.as_raw(),
        )
    })?;
    Ok(all)
}

/// MPICH over UCX (seen in Debian's 4.0.2) writes to the multiple of 16 bytes below, where a window begins at
/// none: into what is another's. What windows begin at there.
const UCX_ALIGNMENT: usize = 16;

/// Does this MPI move data by UCX? Asks once.
fn over_ucx() -> RmpiResult<bool> {
    static OVER_UCX: OnceLock<bool> = OnceLock::new();
    if let Some(known) = OVER_UCX.get() {
        return Ok(*known);
    }
    let version = runtime::get_library_version()?;
    Ok(*OVER_UCX.get_or_init(|| version.contains("ch4:ucx")))
}

/// How many bytes a window has to begin before its memory.
pub(super) fn shift(memory: *mut c_void) -> RmpiResult<usize> {
    let shift = memory.addr() % UCX_ALIGNMENT;
    Ok(if shift != 0 && over_ucx()? { shift } else { 0 })
}

/// How many bytes MPI has to allocate, so that those of the next process begin where they should.
pub(super) fn padded(size: MPI_Aint) -> RmpiResult<MPI_Aint> {
    let alignment = UCX_ALIGNMENT as MPI_Aint;
    let padding = (alignment - size % alignment) % alignment;
    Ok(if padding != 0 && over_ucx()? { size.saturating_add(padding) } else { size })
}

/// More bytes than a process of x86-64 can address: MPIs crash when they add such sizes up.
const TOO_MUCH: MPI_Aint = 1 << 47;

pub(super) fn too_large() -> Error {
    Error::refused(ErrorClass::SIZE, "a process asks for more memory than there is")
}

/// Bytes of so many elements, if there can be as many.
pub(super) fn bytes<T>(length: usize) -> Option<MPI_Aint> {
    let size = length.checked_mul(size_of::<T>()).and_then(|size| size.try_into().ok());
    size.filter(|size| *size < TOO_MUCH)
}

/// Bytes of an element: what a displacement counts, which is never 0.
pub(super) fn unit<T>() -> MPI_Aint {
    size_of::<T>().max(1) as MPI_Aint
}
