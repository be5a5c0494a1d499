//! The communicator between two groups, and what its processes do together.

use core::cell::Cell;
use core::mem::ManuallyDrop;
use core::sync::atomic::Ordering;

use rmpi_macros::wraps;

use super::super::blocks::{received, sent, share};
use super::super::buffer::{BufferMut, BufferRef};
use super::super::communicator::{Communicator, errors_return, made_returning, none_made};
use super::super::error::{Error, ErrorClass, RmpiResult, check, output};
use super::super::group::Group;
use super::super::process::{Process, Source, tag_of};
use super::super::sys::{self, MPI_Comm, c_int};
use crate::Tag;
use crate::running::{PARENT, PARENT_FREE, PARENT_GONE};

/// A communicator between two groups (MPI-5.0, 7.6), freed when it is dropped, which is collective
/// over both. Its processes are those of the other group: messages go there and come from there.
///
/// ```no_run
/// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
/// use rmpi::Tag;
/// // Even and odd ranks, of which there are at least two.
/// let side = world.rank()? % 2;
/// let half = world.split(Some(side as u32), 0)?.expect("a color was given");
/// let other = half.intercomm_create(0, world.process(1 - side), Tag::new(0))?;
/// if half.rank()? == 0 {
///     other.process(0).send(&side, Tag::new(1))?;
///     let mut theirs = 0_usize;
///     other.process(0).recv(&mut theirs, Tag::new(1))?;
/// }
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct InterCommunicator<'ctx> {
    /// For its messages. It refuses what a communicator can do that this one cannot.
    communicator: ManuallyDrop<Communicator<'ctx>>,
    /// -1 until somebody asks.
    remote_size: Cell<c_int>,
    /// The parent of a spawned process is not freed.
    pub(super) parent: bool,
}

/// What a process is in a collective operation in one direction, from the root to the other group or
/// from there to the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InterRoot {
    /// The root. (`MPI_ROOT`)
    Here,
    /// Another of the root's group, which takes no part. (`MPI_PROC_NULL`)
    Elsewhere,
    /// Of the other group: the root has this rank.
    Remote(usize),
}

impl InterRoot {
    /// C's argument.
    pub fn into_raw(self) -> c_int {
        match self {
            Self::Here => sys::MPI_ROOT,
            Self::Elsewhere => sys::MPI_PROC_NULL,
            Self::Remote(rank) => c_int::try_from(rank).unwrap_or(c_int::MAX),
        }
    }
}

impl Drop for InterCommunicator<'_> {
    fn drop(&mut self) {
        if self.parent {
            PARENT.store(PARENT_FREE, Ordering::Release);
        } else {
            // SAFETY: `ManuallyDrop::drop` requires that the value is not used any more: `self` is
            // being dropped, and who takes the handle out forgets `self`.
            unsafe { ManuallyDrop::drop(&mut self.communicator) };
        }
    }
}

/// An intercommunicator that MPI made; its errors may not return yet.
pub(super) fn made<'ctx>(mut raw: MPI_Comm) -> RmpiResult<InterCommunicator<'ctx>> {
    if raw == sys::MPI_COMM_NULL {
        return Err(none_made());
    }
    errors_return(&mut raw)?;
    // SAFETY: `from_raw` requires an intercommunicator whose errors return and that nobody else frees,
    // and that MPI runs for `'ctx`: MPI has just made it, for the caller alone, who gives it the
    // lifetime of what it was made of; `errors_return` has done the rest.
    Ok(unsafe { InterCommunicator::from_raw(raw) })
}

impl<'ctx> InterCommunicator<'ctx> {
    /// The intercommunicator of a handle, which is freed with it.
    ///
    /// # Safety
    /// It is an intercommunicator whose errors return, nobody else frees it, and MPI runs for `'ctx` and may be called
    /// by this thread.
    pub const unsafe fn from_raw(raw: MPI_Comm) -> Self {
        // SAFETY: `inter_from_raw` requires an intercommunicator whose errors return and that nobody
        // else frees, and that MPI runs for `'ctx`, which this function's caller promises.
        let communicator = ManuallyDrop::new(unsafe { Communicator::inter_from_raw(raw) });
        Self { communicator, remote_size: Cell::new(-1), parent: false }
    }

    /// C's handle, which nobody frees any more.
    pub fn into_raw(self) -> MPI_Comm {
        ManuallyDrop::new(self).as_raw()
    }

    /// C's handle, which the intercommunicator keeps.
    pub fn as_raw(&self) -> MPI_Comm {
        self.communicator.as_raw()
    }

    /// How many processes this group has. C: `MPI_Comm_size`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(other: &rmpi::InterCommunicator<'_>) -> rmpi::RmpiResult {
    /// println!("{} of us", other.size()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_size)]
    pub fn size(&self) -> RmpiResult<usize> {
        // SAFETY: MPI_Comm_size requires a communicator, which `self` holds, and writes one int to
        // `size`.
        output(0, |size| unsafe { mpi.call(self.as_raw(), size) })
            .map(|size| size.unsigned_abs() as usize)
    }

    /// This process's rank in its group. C: `MPI_Comm_rank`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(other: &rmpi::InterCommunicator<'_>) -> rmpi::RmpiResult {
    /// println!("rank {}", other.rank()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_rank)]
    pub fn rank(&self) -> RmpiResult<usize> {
        // SAFETY: MPI_Comm_rank requires a communicator, which `self` holds, and writes one int to
        // `rank`.
        output(0, |rank| unsafe { mpi.call(self.as_raw(), rank) })
            .map(|rank| rank.unsigned_abs() as usize)
    }

    /// How many processes the other group has. C: `MPI_Comm_remote_size`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(other: &rmpi::InterCommunicator<'_>) -> rmpi::RmpiResult {
    /// println!("{} of them", other.remote_size()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_remote_size)]
    pub fn remote_size(&self) -> RmpiResult<usize> {
        // SAFETY: MPI_Comm_remote_size requires an intercommunicator, which `self` holds, and writes
        // one int to `size`.
        let size = output(0, |size| unsafe { mpi.call(self.as_raw(), size) })?;
        self.remote_size.set(size);
        Ok(size.unsigned_abs() as usize)
    }

    /// The other group's size, which MPI is asked for once.
    fn known_remote_size(&self) -> RmpiResult<usize> {
        usize::try_from(self.remote_size.get()).or_else(|_| self.remote_size())
    }

    /// This group. C: `MPI_Comm_group`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(other: &rmpi::InterCommunicator<'_>) -> rmpi::RmpiResult {
    /// assert_eq!(other.group()?.size()?, other.size()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_group)]
    pub fn group(&self) -> RmpiResult<Group<'ctx>> {
        let null = sys::MPI_GROUP_NULL;
        // SAFETY: MPI_Comm_group requires a communicator, which `self` holds, and writes one handle to
        // `new`.
        let raw = output(null, |new| unsafe { mpi.call(self.as_raw(), new) })?;
        // SAFETY: `from_raw` requires a group that nobody else frees, and that MPI runs for `'ctx`: MPI
        // has just made it, for this caller alone, of an intercommunicator of that lifetime.
        Ok(unsafe { Group::from_raw(raw) })
    }

    /// The other group. C: `MPI_Comm_remote_group`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(other: &rmpi::InterCommunicator<'_>) -> rmpi::RmpiResult {
    /// assert_eq!(other.remote_group()?.size()?, other.remote_size()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_remote_group)]
    pub fn remote_group(&self) -> RmpiResult<Group<'ctx>> {
        let null = sys::MPI_GROUP_NULL;
        // SAFETY: MPI_Comm_remote_group requires an intercommunicator, which `self` holds, and writes
        // one handle to `new`.
        let raw = output(null, |new| unsafe { mpi.call(self.as_raw(), new) })?;
        // SAFETY: `from_raw` requires a group that nobody else frees, and that MPI runs for `'ctx`: MPI
        // has just made it, for this caller alone, of an intercommunicator of that lifetime.
        Ok(unsafe { Group::from_raw(raw) })
    }

    /// The process of this rank in the other group. Calls nothing; see [`Communicator::process`].
    pub fn process(&self, rank: usize) -> Process<'_> {
        self.communicator.process(rank)
    }

    /// `MPI_ANY_SOURCE`: receives from it take a message of any process of the other group.
    pub fn any_source(&self) -> Source<'_> {
        self.communicator.any_source()
    }

    /// An intercommunicator of the same groups. C: `MPI_Comm_dup`. Collective.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(other: &rmpi::InterCommunicator<'_>) -> rmpi::RmpiResult {
    /// let copy = other.dup()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_dup)]
    pub fn dup(&self) -> RmpiResult<InterCommunicator<'ctx>> {
        // SAFETY: MPI_Comm_dup requires a communicator, which `self` holds, and writes one handle to
        // `new`.
        made(output(sys::MPI_COMM_NULL, |new| unsafe { mpi.call(self.as_raw(), new) })?)
    }

    /// A communicator of the processes of both groups, those of the group that says `high` last.
    /// C: `MPI_Intercomm_merge`, then `MPI_Comm_set_errhandler`. Collective.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(children: &rmpi::InterCommunicator<'_>) -> rmpi::RmpiResult {
    /// let all = children.merge(false)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Intercomm_merge)]
    pub fn merge(&self, high: bool) -> RmpiResult<Communicator<'ctx>> {
        // SAFETY: MPI_Intercomm_merge requires an intercommunicator, which `self` holds, and writes one
        // handle to `new`.
        made_returning(output(sys::MPI_COMM_NULL, |new| unsafe {
            mpi.call(self.as_raw(), high.into(), new)
        })?)?
        .ok_or_else(none_made)
    }

    /// Waits until all processes of the other group have called it. C: `MPI_Barrier`. Collective,
    /// blocks.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(other: &rmpi::InterCommunicator<'_>) -> rmpi::RmpiResult {
    /// other.barrier()
    /// # }
    /// ```
    #[wraps(MPI_Barrier)]
    pub fn barrier(&self) -> RmpiResult {
        // SAFETY: MPI_Barrier requires a communicator, which `self` holds.
        check(unsafe { mpi.call(self.as_raw()) })
    }

    /// Sends the root's buffer to all processes of the other group. C: `MPI_Bcast`. Collective,
    /// blocks.
    ///
    /// # Errors
    /// [`TRUNCATE`](ErrorClass::TRUNCATE) if a buffer is too short, and others that MPI says.
    ///
    /// ```no_run
    /// # fn example(parent: &rmpi::InterCommunicator<'_>) -> rmpi::RmpiResult {
    /// let mut settings = [0_u64; 4];
    /// parent.bcast(&mut settings, rmpi::InterRoot::Remote(0))?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Bcast)]
    pub fn bcast<B: BufferMut>(&self, mut buffer: B, root: InterRoot) -> RmpiResult {
        let raw = buffer.as_raw_mut()?;
        if let InterRoot::Remote(rank) = root
            && rank >= self.known_remote_size()?
        {
            return Err(Error::refused(
                ErrorClass::ROOT,
                "the other group has no process of that rank",
            ));
        }
        // SAFETY: MPI_Bcast reads or writes as many elements as the count says: `as_raw_mut` gives a
        // buffer that is readable and writable as these, which `buffer` keeps during the call. The root
        // is a special one, or a rank of the other group, as was asked above; `self` holds the
        // communicator.
        check(unsafe {
            mpi.call(raw.pointer, raw.count, raw.datatype, root.into_raw(), self.as_raw())
        })
    }

    /// Gathers what all processes of the other group send, in the order of their ranks.
    /// C: `MPI_Allgather`. Collective, blocks.
    ///
    /// # Errors
    /// [`COUNT`](ErrorClass::COUNT) if the receive buffer has not the same length for each process
    /// of the other group; others that MPI says.
    ///
    /// ```no_run
    /// # fn example(other: &rmpi::InterCommunicator<'_>, rank: usize) -> rmpi::RmpiResult {
    /// let mut theirs = vec![0; other.remote_size()?];
    /// other.allgather(&rank, &mut theirs)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Allgather)]
    pub fn allgather<S: BufferRef, R: BufferMut>(&self, send: S, mut receive: R) -> RmpiResult {
        let (send, receive) = (sent(&send)?, received(&mut receive)?);
        let each = share(receive.count, self.known_remote_size()?)?;
        // SAFETY: MPI_Allgather reads the send buffer, and writes `each` elements of each process of
        // the other group: `receive` has room for as many times as there are processes, and both
        // buffers are borrowed during the call. `self` holds the communicator.
        check(unsafe {
            mpi.call(
                send.pointer,
                send.count,
                send.datatype,
                receive.pointer,
                each,
                receive.datatype,
                self.as_raw(),
            )
        })
    }

    /// Ends the connection, once all messages on it have arrived: the groups are connected no more if
    /// nothing else connects them. C: `MPI_Comm_disconnect`. Collective, blocks.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(children: rmpi::InterCommunicator<'_>) -> rmpi::RmpiResult {
    /// children.disconnect()
    /// # }
    /// ```
    #[wraps(MPI_Comm_disconnect)]
    pub fn disconnect(self) -> RmpiResult {
        let this = ManuallyDrop::new(self);
        if this.parent {
            PARENT.store(PARENT_GONE, Ordering::Release);
        }
        let mut raw = this.as_raw();
        // SAFETY: MPI_Comm_disconnect requires a communicator, which it ends: `this` is not dropped,
        // and `PARENT` does not give a parent any more.
        check(unsafe { mpi.call(&mut raw) })
    }

    /// Frees the intercommunicator, as its drop does, and says what went wrong. C: `MPI_Comm_free`.
    /// Collective. A parent is not freed; it can be [disconnected](Self::disconnect).
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(other: rmpi::InterCommunicator<'_>) -> rmpi::RmpiResult {
    /// other.free()
    /// # }
    /// ```
    #[wraps(MPI_Comm_free)]
    pub fn free(self) -> RmpiResult {
        if self.parent {
            return Ok(());
        }
        let mut raw = ManuallyDrop::new(self).as_raw();
        // SAFETY: MPI_Comm_free requires a communicator, freed once: it is no parent, and `self` is not
        // dropped.
        check(unsafe { mpi.call(&mut raw) })
    }
}

impl<'ctx> Communicator<'ctx> {
    /// An intercommunicator between this one's processes and those of another, whose leaders have
    /// a communicator in common. C: `MPI_Intercomm_create`, then `MPI_Comm_set_errhandler`.
    /// Collective over both groups, which have no process in common.
    ///
    /// Both leaders give the same tag and the other one as `remote_leader`, which means nothing
    /// where the others call it.
    ///
    /// # Errors
    /// [`RANK`](ErrorClass::RANK), [`TAG`](ErrorClass::TAG) and others that MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let side = world.rank()? % 2;
    /// let half = world.split(Some(side as u32), 0)?.expect("a color was given");
    /// let other = half.intercomm_create(0, world.process(1 - side), rmpi::Tag::new(0))?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Intercomm_create)]
    pub fn intercomm_create(
        &self,
        local_leader: usize,
        remote_leader: Process<'_>,
        tag: Tag,
    ) -> RmpiResult<InterCommunicator<'ctx>> {
        self.intra()?;
        let (local_leader, tag) = (self.root(local_leader)?, tag_of(tag)?);
        let (peer, remote) = (remote_leader.comm(), remote_leader.peer()?);
        if remote < 0 && self.known_rank()? == local_leader as usize {
            return Err(Error::refused(ErrorClass::RANK, "the other side's leader is no process"));
        }
        // SAFETY: MPI_Intercomm_create requires an intracommunicator, which `self` holds, as `intra`
        // has found, a rank of it, as `root` has found, and, on the leader, a rank of the other
        // communicator, as `peer` has found; `remote_leader` borrows that one. It writes one handle to
        // `new`.
        made(output(sys::MPI_COMM_NULL, |new| unsafe {
            mpi.call(self.as_raw(), local_leader, peer, remote, tag, new)
        })?)
    }
}
