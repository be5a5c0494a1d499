//! Calls that some processes make together, and not all of a communicator: `MPI_Comm_create_group`, `MPI_Intercomm_create`,
//! and their kin of sessions. Those who make one are in the file as members of something of which these calls are the
//! collective operations ([`kind::MEETING`]): so readers see who has not come.
//!
//! Processes make such calls in one order where they could be taken for each other: with one group, tag and communicator, or
//! with one group and string.

use mpi_facts::watch::{UNKNOWN, kind, slot};
use mpi_tool_layer::mpi_sys::{MPI_Comm, c_int};
use mpi_tool_layer::{AnyCall, Call, Communicators, FunctionId, Members};

use crate::groups;
use crate::state::{Slot, file};

/// Is the function such a call?
#[inline(always)]
pub(crate) const fn is_meeting(function: FunctionId) -> bool {
    use FunctionId::{
        MPI_Comm_create_from_group, MPI_Comm_create_group, MPI_Intercomm_create,
        MPI_Intercomm_create_from_groups,
    };
    matches!(
        function,
        MPI_Comm_create_group
            | MPI_Comm_create_from_group
            | MPI_Intercomm_create
            | MPI_Intercomm_create_from_groups
    )
}

/// The call begins. In the slot are afterwards: as the object the identity of what it is the operation of, and its number
/// there, zeros if that is not known. And in the places of requests the same of what the leaders of two groups do, and the own
/// leader's rank in the world.
#[cold]
#[inline(never)]
pub(crate) fn begin(call: AnyCall<'_>, communicators: &Communicators, slot: &Slot) {
    let function = call.function();
    let [first, second, leader] = match function {
        FunctionId::MPI_Comm_create_group | FunctionId::MPI_Comm_create_from_group => {
            [group(call, communicators).map(|at| come(at, slot, function)), None, None]
        }
        _ => {
            let found = match function {
                FunctionId::MPI_Intercomm_create => between(call, communicators),
                _ => between_groups(call, communicators),
            };
            let (local, leaders, leader) = found.unwrap_or_default();
            let local = local.map(|at| come(at, slot, function));
            [local, leaders.map(|at| come(at, slot, function)), leader.map(|it| [it.into(), 0])]
        }
    };
    if first.is_none() {
        // Others may know of what this call is an operation.
        groups::no_room(false);
    }
    let [identity, number] = first.unwrap_or_default();
    slot.set(slot::OBJECT, identity);
    slot.set(slot::NUMBER, number);
    let [identity, number] = second.unwrap_or_default();
    slot.set(slot::HANDLES, identity);
    slot.set(slot::HANDLES + 1, number);
    slot.set(slot::HANDLES + 2, leader.map_or(UNKNOWN, |[rank, _]| rank));
    slot.set(slot::REQUESTS, 3);
}

/// The call is over.
#[cold]
#[inline(never)]
pub(crate) fn end(slot: &Slot, has_failed: bool) {
    let Some(file) = file() else { return };
    for identity in [slot.get(slot::OBJECT), slot.get(slot::HANDLES)] {
        if let Some(met) = groups::meeting(file, identity) {
            if has_failed {
                met.fail(file);
            }
            met.end(file);
        }
    }
}

/// One more call: the identity and the number of it.
fn come((identity, members): (u64, Members), slot: &Slot, function: FunctionId) -> [u64; 2] {
    let site = slot.get(slot::SITE);
    let number = groups::meet(identity, &members, function as u64, site);
    number.map_or([0; 2], |number| [identity, number])
}

/// What a call of `MPI_Comm_create_group` or `MPI_Comm_create_from_group` is an operation of, and of whom.
fn group(call: AnyCall<'_>, communicators: &Communicators) -> Option<(u64, Members)> {
    let members = Members::of(&communicators.ranks_of_group(call, 0)?);
    if call.function() == FunctionId::MPI_Comm_create_from_group {
        let tag = Communicators::string_tag(call)?;
        return Some((identity([4, 0, tag, members.hash()]), members));
    }
    let parent = communicators.of(call).known()?;
    let tag = call.tag().map_or(0, |tag| tag.raw().cast_unsigned());
    Some((identity([1, parent.identity, tag.into(), members.hash()]), members))
}

/// Of a call of `MPI_Intercomm_create`: what its own group does, what the leaders do if this process is one, and who the own
/// leader is.
type Between = (Option<(u64, Members)>, Option<(u64, Members)>, Option<u32>);

fn between(call: AnyCall<'_>, communicators: &Communicators) -> Option<Between> {
    let comm = |position| call.get::<MPI_Comm>(position);
    let int = |position| call.get::<c_int>(position);
    let tag = u64::from(int(4)?.cast_unsigned());
    let local = comm(0)?;
    let (members, None) = communicators.members(local)? else { return None };
    let leader = members.world_rank(u32::try_from(int(1)?).ok()?)?;
    let parent = communicators.of_handle(local).known()?;
    // The communicator of the leaders means nothing to others.
    let is_leader = own_rank() == Some(leader);
    let leaders = is_leader.then(|| leaders(comm(2)?, int(3)?, tag, leader, communicators));
    let own = (identity([2, parent.identity, tag, members.hash()]), members);
    Some((Some(own), leaders.flatten(), Some(leader)))
}

/// The same of `MPI_Intercomm_create_from_groups`. The other group means something at the leader only.
fn between_groups(call: AnyCall<'_>, communicators: &Communicators) -> Option<Between> {
    /// Which arguments the leaders are.
    const LEADERS: [u8; 2] = [1, 3];
    let tag = Communicators::string_tag(call)?;
    let leader = |which: usize| {
        let members = Members::of(&communicators.ranks_of_group(call, which)?);
        let leader = members.world_rank(u32::try_from(call.get::<c_int>(LEADERS[which])?).ok()?)?;
        Some((members, leader))
    };
    let (members, own) = leader(0)?;
    let is_leader = own_rank() == Some(own);
    let remote = if is_leader { leader(1) } else { None };
    let leaders = remote.and_then(|(_, remote)| {
        let both = [own.min(remote), own.max(remote)].map(|rank| c_int::try_from(rank).ok());
        let both = Members::of(&[both[0]?, both[1]?]);
        Some((identity([6, 0, tag, both.hash()]), both))
    });
    let local = (identity([5, 0, tag, members.hash()]), members);
    Some((Some(local), leaders, Some(own)))
}

/// What the leaders do together, by a communicator that both have.
fn leaders(
    comm: MPI_Comm,
    remote: c_int,
    tag: u64,
    leader: u32,
    communicators: &Communicators,
) -> Option<(u64, Members)> {
    let (own, other) = communicators.members(comm)?;
    let remote = other.unwrap_or(own).world_rank(u32::try_from(remote).ok()?)?;
    let identity_of_comm = communicators.of_handle(comm).known()?.identity;
    let both = [leader.min(remote), leader.max(remote)].map(|rank| c_int::try_from(rank).ok());
    let members = Members::of(&[both[0]?, both[1]?]);
    Some((identity([3, identity_of_comm, tag, members.hash()]), members))
}

/// This process's rank in the world, as the file has it.
fn own_rank() -> Option<u32> {
    u32::try_from(file()?.get(mpi_facts::watch::header::RANK)).ok()
}

/// The same on all processes, and another one than that of communicators; never 0.
fn identity(of: [u64; 4]) -> u64 {
    let mixed = of.into_iter().fold(kind::MEETING, |sum, number| {
        (sum ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    });
    mixed | 1
}
