//! Calls that the processes of a group must come to, and no others of the communicator: `MPI_Comm_create_group` and
//! `MPI_Intercomm_create`.
//!
//! To the table of collective operations, each such group is a communicator of its own: who is in it, and the tag, are its
//! identity.

use std::sync::{Arc, Mutex, PoisonError};

use mpi_tool_layer::mpi_sys::{MPI_Comm, c_int};
use mpi_tool_layer::{AnyCall, Call as _, Communicators, FunctionId, KnownGroups, Word};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::arguments::Checked;
use crate::collectives;
use crate::comms::{self, Comm, CommRef};
use crate::findings::rank;
use crate::objects::{self, Kind};
use crate::remotes;
use crate::shared::shared;
use crate::waits::Need;

/// The groups that MPI may be asked about.
pub(crate) static GROUPS: KnownGroups = KnownGroups::new();

/// How many groups are told apart.
const MOST: usize = 1024;

static KNOWN: Mutex<Option<FxHashMap<u64, Arc<Comm>>>> = Mutex::new(None);

/// The ranks in the world of the processes of a call's group; `None` if one is not in the world, or if nobody knows.
pub(crate) fn world_ranks(call: AnyCall<'_>) -> Option<Vec<u32>> {
    let ranks = GROUPS.world_ranks(call)?;
    ranks.into_iter().map(|rank| u32::try_from(rank).ok()).collect()
}

fn mix(identity: u64, number: u64) -> u64 {
    let mixed = (identity ^ number).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (mixed ^ mixed >> 29).wrapping_mul(0xc4ce_b9fe_1a85_ec53) | 1
}

/// The group of an identity and a size. `None` if there are too many.
fn group(of: &Comm, identity: u64, size: u32) -> Option<CommRef> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    if known.len() >= MOST && !known.contains_key(&identity) {
        return None;
    }
    let group = known.entry(identity).or_insert_with(|| Arc::new(of.with_members(identity, size)));
    Some(CommRef::Made(group.clone()))
}

/// This process comes to its group's next call.
fn come(checked: &Checked<'_>, group: &CommRef) -> Need {
    let number = collectives::enter(checked, group);
    Need::Collective { identity: group.identity, number, root: None }
}

/// Such a call is about to be passed on: what it needs to return.
pub(crate) fn entering(
    checked: &Checked<'_>,
    communicators: &Communicators,
) -> SmallVec<[Need; 4]> {
    let mut needs = SmallVec::new();
    let Some(comm) = checked.comm.as_ref().filter(|comm| checked.is_sound && !comm.is_inter) else {
        return needs;
    };
    if !shared().is_whole() {
        return needs;
    }
    let words = checked.call.words();
    if checked.function == FunctionId::MPI_Comm_create_group {
        let Some(ranks) = world_ranks(checked.call) else { return needs };
        if !ranks.contains(&rank()) {
            return needs;
        }
        let of_ranks = |identity, rank: &u32| mix(identity, u64::from(*rank) << 32 | 1);
        let identity = ranks.iter().fold(mix(comm.identity, words[2]), of_ranks);
        let group = group(comm, identity, ranks.len() as u32);
        needs.extend(group.map(|group| come(checked, &group)));
        return needs;
    }
    if !comm.is_of_us() {
        return needs;
    }
    let Some(local) = group(comm, mix(comm.identity, 2), comm.size) else { return needs };
    needs.push(come(checked, &local));
    let number = local.last();
    needs.push(Need::OtherGroup { identity: local.identity, number });
    // The leader's call, for the others of its group.
    let Some(leader) = group(comm, mix(local.identity, 3), 2) else { return needs };
    if words[1] as c_int != comm.rank {
        needs.push(Need::Collective { identity: leader.identity, number, root: None });
        return needs;
    }
    collectives::enter_as(checked, &leader, number);
    let handle = MPI_Comm::from_word(words[2]);
    let is_there =
        comms::predefined(handle).is_some() || objects::is_there(Kind::Communicator, words[2]);
    let peer = is_there.then(|| comms::get(communicators, handle)).flatten();
    let other = peer.as_ref().and_then(|peer| peer.world_rank(words[3] as c_int));
    if let (Some(peer), Some(other)) = (peer, other) {
        let (first, second) = (rank().min(other), rank().max(other));
        let pair = mix(peer.identity, u64::from(first) << 32 | u64::from(second));
        let Some(pair) = group(comm, mix(pair, words[4] << 1), 2) else { return needs };
        needs.push(come(checked, &pair));
        let meeting = mix(pair.identity, pair.last());
        remotes::meet(local.identity, number, meeting, rank() == first);
    }
    needs
}

/// MPI has accepted such a call: if this process is its group's leader, the others need not wait for it.
pub(crate) fn left(checked: &Checked<'_>) {
    let is_known = |comm: &&CommRef| shared().is_whole() && comm.is_of_us();
    let Some(comm) = checked.comm.as_ref().filter(is_known) else { return };
    if checked.function != FunctionId::MPI_Intercomm_create
        || checked.call.words()[1] as c_int != comm.rank
    {
        return;
    }
    if let Some(local) = group(comm, mix(comm.identity, 2), comm.size)
        && let Some(leader) = group(comm, mix(local.identity, 3), 2)
    {
        collectives::enter_as(checked, &leader, local.last());
    }
}
