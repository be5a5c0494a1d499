//! The application's groups, of which MPI may be asked who is in them.

use core::ffi::c_int;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use mpi_sys::{MPI_Group, pmpi};

use crate::call::asking::UsedGroup;
use crate::{Accepted, Call, FunctionId, HandleMap, ParameterKind};

/// Which groups there are: those that MPI has made, until they are freed.
///
/// A tool passes each accepted call to [`made`](Self::made), and each call of `MPI_Group_free` to
/// [`freed`](Self::freed) before MPI has it.
#[derive(Debug)]
pub struct KnownGroups {
    known: HandleMap<()>,
    /// Some may be of sessions, which MPI does not compare with the world.
    has_sessions: AtomicBool,
}

impl KnownGroups {
    /// None.
    pub const fn new() -> Self {
        Self { known: HandleMap::new(), has_sessions: AtomicBool::new(false) }
    }

    /// Notes the group that a call has made, if it has made one.
    #[inline(always)]
    pub fn made<'c>(&self, call: impl Call<'c>, accepted: Accepted<'c>) {
        if call.shape().new_group == mpi_facts::NONE {
            return;
        }
        if call.function() == FunctionId::MPI_Group_from_session_pset {
            self.has_sessions.store(true, Relaxed);
        }
        if let Some(group) = UsedGroup::made(call.erase(), accepted) {
            self.known.insert(group.handle(), ());
        }
    }

    /// A call of `MPI_Group_free`, which is about to go to MPI.
    pub fn freed<'c>(&self, call: impl Call<'c>) {
        if let Some(group) = call.get::<*const MPI_Group>(0).filter(|group| !group.is_null()) {
            // SAFETY: the pointer must lead to a handle, which the application asks MPI to free: MPI reads it, too.
            self.known.remove(unsafe { *group });
        }
    }

    /// The ranks in `MPI_COMM_WORLD` of the processes of a call's group (`MPI_Win_post`, `MPI_Win_start`): `MPI_UNDEFINED`
    /// of those that are not in the world. `None` if the call has no group, or one that is not known to be valid, or if MPI
    /// does not say it.
    pub fn world_ranks<'c>(&self, call: impl Call<'c>) -> Option<Vec<c_int>> {
        let mut arguments = call.arguments();
        let (_, word) = arguments.find(|(what, _)| what.kind == ParameterKind::Group)?;
        let group: MPI_Group = crate::Word::from_word(word);
        if group == pmpi::MPI_GROUP_EMPTY {
            return Some(Vec::new());
        }
        self.known.get(group).filter(|()| !self.has_sessions.load(Relaxed))?;
        // SAFETY: MPI must have made the group, and the application must not have freed it: so it is kept. It must not be a
        // session's: nobody is known to have made such a one.
        unsafe { UsedGroup::assume(group).world_ranks() }
    }
}

impl Default for KnownGroups {
    fn default() -> Self {
        Self::new()
    }
}
