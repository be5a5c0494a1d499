//! Sessions that are open, and groups: of which session each of them is, so that MPI can be asked who is in it.
//!
//! MPI does not compare groups of two sessions, nor of a session and the world. But each session has the process set
//! `mpi://WORLD`, whose ranks are those of `MPI_COMM_WORLD`: of a session's groups and communicators MPI is asked for these, as
//! long as the session is open. Sessions have numbers, as MPI uses their handles again.

use core::ffi::c_int;
use core::sync::atomic::{
    AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Mutex, PoisonError};

use mpi_sys::{MPI_Comm, MPI_Group, MPI_Session, pmpi};

use super::{Communicators, Groups, Members, hash};
use crate::call::asking::{UsedComm, UsedGroup, UsedSession};
use crate::kit::memory::bytes_at;
use crate::{
    Accepted, AnyCall, Call, CallResult, Direction, FunctionId, HandleMap, InOut, ParameterKind,
    Word, next,
};

/// The number of what is the world's, and not a session's.
pub(super) const WORLD: u32 = 0;

/// What is known of sessions.
#[derive(Debug)]
pub(super) struct Sessions {
    /// Are they followed?
    pub(super) are_followed: bool,
    /// Those that are open: numbers and handles, as words.
    open: Mutex<Vec<(u32, u64)>>,
    /// How many there were.
    count: AtomicU32,
    /// The session of each group that MPI has made and that was not freed.
    groups: HandleMap<u32>,
    /// This process's rank in `mpi://WORLD`, and above it how many there are; 0 as long as that is not known.
    position: AtomicU64,
}

/// Does a function open a session, or make groups?
#[inline(always)]
pub(super) fn is_about_them<'c>(call: impl Call<'c>) -> bool {
    call.function() == FunctionId::MPI_Session_init || call.shape().new_group != mpi_facts::NONE
}

impl Sessions {
    pub(super) const fn new(are_followed: bool) -> Self {
        Self {
            are_followed,
            open: Mutex::new(Vec::new()),
            count: AtomicU32::new(0),
            groups: HandleMap::new(),
            position: AtomicU64::new(0),
        }
    }

    /// Was there one at some time?
    fn were_there(&self) -> bool {
        self.count.load(Relaxed) > 0
    }

    /// Asks an open session, which does not end meanwhile. `None` if it is not open.
    fn ask<T>(&self, number: u32, ask: impl FnOnce(UsedSession) -> Option<T>) -> Option<T> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, handle) = open.iter().find(|(known, _)| *known == number)?;
        // SAFETY: MPI must have opened the session, and the application must not finalize it meanwhile: it is kept until it asks
        // for that, which waits for the lock.
        ask(unsafe { UsedSession::assume(MPI_Session::from_word(*handle)) }?)
    }

    /// An accepted call has opened a session.
    fn opened(&self, call: AnyCall<'_>, accepted: Accepted<'_>) {
        let Some(session) = UsedSession::made(call, accepted) else { return };
        if let Some((rank, size)) = session.position()
            && let (Ok(rank), Ok(size)) = (u32::try_from(rank), u32::try_from(size))
        {
            self.position.store(u64::from(rank) | u64::from(size) << 32, Release);
        }
        let number = self.count.fetch_add(1, Relaxed) + 1;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.push((number, session.handle().to_word()));
    }

    /// Takes out a session that the application wants to end.
    fn take(&self, session: MPI_Session) -> Option<(u32, u64)> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let at = open.iter().position(|(_, handle)| *handle == session.to_word())?;
        Some(open.remove(at))
    }

    /// The number of an open session.
    fn number(&self, session: MPI_Session) -> Option<u32> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let found = open.iter().find(|(_, handle)| *handle == session.to_word());
        found.map(|(number, _)| *number)
    }

    /// The session of a group, and the ranks of its processes.
    pub(super) fn ranks_of_group(&self, group: MPI_Group) -> Option<(u32, Vec<c_int>)> {
        if group == pmpi::MPI_GROUP_EMPTY {
            return Some((WORLD, Vec::new()));
        }
        let number = self.groups.get(group)?;
        // SAFETY: MPI must have made the group, and the application must not have freed it: so it is kept.
        let group = unsafe { UsedGroup::assume(group) };
        let ranks = if number == WORLD {
            // SAFETY: the group must not be a session's, and is the world's.
            unsafe { group.world_ranks() }
        } else {
            // SAFETY: the group must be of the session, whose number is kept of it.
            self.ask(number, |session| unsafe { session.ranks_of_group(group) })
        };
        Some((number, ranks?))
    }

    /// The processes of a new communicator.
    ///
    /// # Safety
    /// It is of the session of this number, or of none if that is [`WORLD`].
    pub(super) unsafe fn groups_of(&self, comm: UsedComm, number: u32) -> Option<Groups> {
        let is_inter = comm.is_inter();
        let ranks = |of_other_group| {
            // SAFETY: the communicator must be of the session, or not of one: the caller promises it. It must be between two
            // groups if the other one is asked for: this is done where MPI says so.
            unsafe {
                if number == WORLD {
                    return comm.world_ranks(of_other_group);
                }
                self.ask(number, |session| session.ranks_of_comm(comm, of_other_group))
            }
        };
        let own = Members::of(&ranks(false)?);
        let other = if is_inter { Some(Members::of(&ranks(true)?)) } else { None };
        Some(Groups { own, other, session: number })
    }
}

/// The groups of an accepted call's arguments.
fn groups_in(call: AnyCall<'_>) -> impl Iterator<Item = MPI_Group> {
    let is_group = |(what, _): &(&'static crate::Parameter, u64)| {
        what.kind == ParameterKind::Group && what.direction == Direction::In
    };
    call.arguments().filter(is_group).map(|(_, word)| MPI_Group::from_word(word))
}

/// Sessions and groups, of those that [follow](Communicators::with_sessions) them.
impl Communicators {
    /// Nothing is known yet. Communicators of sessions will be, and groups: MPI is asked for ranks in `mpi://WORLD`, which are
    /// those in `MPI_COMM_WORLD`. A layer that follows them passes on `MPI_Session_finalize` and tells of each call of
    /// `MPI_Group_free`, too.
    pub const fn with_sessions() -> Self {
        Self::following(true)
    }

    /// A session may have been opened, or a group made.
    #[cold]
    #[inline(never)]
    pub(super) fn note_sessions<'c>(&self, call: AnyCall<'c>, accepted: Accepted<'c>) {
        if call.function() == FunctionId::MPI_Session_init {
            return self.sessions.opened(call, accepted);
        }
        let Some(new) = UsedGroup::made(call, accepted).map(UsedGroup::handle) else { return };
        if new == pmpi::MPI_GROUP_EMPTY {
            return;
        }
        match self.session_of_new_group(call) {
            Some(number) => self.sessions.groups.insert(new, number),
            // The handle may have been another one's, whose end nobody has seen.
            None => drop(self.sessions.groups.remove(new)),
        }
    }

    /// The session of the group that a call makes, or [`WORLD`]; `None` if that is not known.
    fn session_of_new_group(&self, call: AnyCall<'_>) -> Option<u32> {
        use FunctionId::{
            MPI_Comm_group, MPI_Comm_remote_group, MPI_File_get_group, MPI_Group_from_session_pset,
            MPI_Win_get_group,
        };
        match call.function() {
            MPI_Group_from_session_pset => self.sessions.number(call.get::<MPI_Session>(0)?),
            _ if !self.sessions.were_there() => Some(WORLD),
            MPI_Comm_group | MPI_Comm_remote_group => {
                Some(self.groups_of(call.communicator()?.raw())?.session)
            }
            MPI_Win_get_group | MPI_File_get_group => None,
            _ => {
                let groups = groups_in(call).filter(|group| *group != pmpi::MPI_GROUP_EMPTY);
                let mut numbers = groups.map(|group| self.sessions.groups.get(group));
                let first = numbers.next()??;
                numbers.all(|number| number == Some(first)).then_some(first)
            }
        }
    }

    /// A call of `MPI_Group_free`, which is about to go to MPI.
    pub fn group_freed<'c>(&self, call: impl Call<'c>) {
        if let Some(group) = call.get::<*const MPI_Group>(0).filter(|group| !group.is_null()) {
            // SAFETY: the pointer must lead to a handle, which the application asks MPI to free: MPI reads it, too.
            self.sessions.groups.remove(unsafe { *group });
        }
    }

    /// The ranks in `MPI_COMM_WORLD`, or `mpi://WORLD`, of the processes of the how-manieth group that a call is given:
    /// `MPI_UNDEFINED` of those that are not in it. `None` if the group is not known to be valid, or if MPI does not say it.
    pub fn ranks_of_group<'c>(&self, call: impl Call<'c>, which: usize) -> Option<Vec<c_int>> {
        let group = groups_in(call.erase()).nth(which)?;
        Some(self.sessions.ranks_of_group(group)?.1)
    }

    /// Passes on a call that ends a session.
    pub fn session_finalize<'c>(
        &self,
        next_f: impl next::MPI_Session_finalize<'c>,
        session: InOut<'c, MPI_Session>,
    ) -> CallResult<'c> {
        let before = session.get().and_then(|session| self.sessions.take(session));
        let result = next_f(session);
        if let (Err(_), Some(before)) = (&result, before) {
            let mut open = self.sessions.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.push(before);
        }
        result
    }

    /// Is a session open?
    pub fn has_sessions(&self) -> bool {
        !self.sessions.open.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// This process's rank in the process set `mpi://WORLD`, and how many are in it, once a session was opened.
    pub fn session_position(&self) -> Option<(u32, u32)> {
        let position = self.sessions.position.load(Acquire);
        (position != 0).then_some((position as u32, (position >> 32) as u32))
    }

    /// What ranks tell calls apart by that make communicators of groups: a hash of the call's string. `None` if the call has
    /// none, or one that cannot be read.
    pub fn string_tag<'c>(call: impl Call<'c>) -> Option<u64> {
        /// No MPI allows longer ones.
        const MOST: usize = 4096;
        let is_text = |(what, _): &(&'static crate::Parameter, u64)| {
            what.kind == ParameterKind::String && what.direction == Direction::In
        };
        let (_, address) = call.arguments().find(is_text)?;
        Some(hash(bytes_at(address, MOST)?.into_iter().map(u64::from)))
    }

    /// The session of a communicator that a call makes: that of its first group or communicator.
    pub(super) fn session_of_new_comm(&self, call: AnyCall<'_>) -> Option<u32> {
        match groups_in(call).next().filter(|_| call.communicator().is_none()) {
            Some(group) => self.sessions.groups.get(group),
            None => Some(call.communicator().map_or(WORLD, |comm| self.session_of(comm.raw()))),
        }
    }

    /// The session of a communicator that is known; [`WORLD`] of others.
    fn session_of(&self, comm: MPI_Comm) -> u32 {
        self.groups_of(comm).map_or(WORLD, |groups| groups.session)
    }
}
