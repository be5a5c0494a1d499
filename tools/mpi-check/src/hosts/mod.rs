//! The ranks of other hosts, which have no memory in common with this one: by messages on communicators of the tool's own.
//!
//! * `comm.rs`: MPI as the tool itself uses it.
//! * `agreement.rs`, `vote.rs`: collective operations. `post.rs`: messages.
//! * `end.rs`: what is exchanged when all ranks have come to `MPI_Finalize`.
//!
//! Where a launcher says that all ranks are on one host, nothing of this is done, and no call is made.

mod agreement;
mod comm;
mod end;
mod post;
mod vote;

use core::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{AcqRel, Relaxed},
};
use std::sync::{OnceLock, RwLock};

use mpi_tool_layer::mpi_sys::{MPI_Comm, c_int, pmpi};
use mpi_tool_layer::{Members, launched_on_one_host};

use crate::comms::Comm;
use crate::findings::rank;
use crate::shared::{self, limit, shared};
pub(crate) use agreement::{begin as compare, settle, settle_all};
pub(crate) use comm::OwnComm;
use comm::Reduction;
pub(crate) use end::finalizing;
pub(crate) use post::{Record, drain, send};

/// How many shadows a process may have at once: the application needs communicators, too, of which MPIs have some
/// thousands.
const SHADOWS: u32 = 256;

/// What is known of the hosts.
pub(crate) struct Hosts {
    /// The host of each rank of the world, by a number.
    of: Box<[u32]>,
    own: u32,
    /// The host of rank 0 has drawn it.
    token: u64,
    /// All ranks of the world, for messages and for the end.
    post: OwnComm,
    /// Until the program ends.
    votes: RwLock<Option<Reduction>>,
    /// Several threads of some process may call MPI at once.
    have_threads: bool,
}

/// The hosts by their numbers.
pub(crate) struct Numbers {
    pub(crate) own: u32,
    /// Rank 0's.
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// No other run has it.
    pub(crate) token: u64,
}

/// The numbers of the hosts, if there are several.
pub(crate) fn numbers() -> Option<Numbers> {
    let Hosts { of, own, token, .. } = get()?;
    let count = of.iter().max()? + 1;
    Some(Numbers { own: *own, first: *of.first()?, count, token: *token })
}

static HOSTS: OnceLock<Hosts> = OnceLock::new();
static COUNT: AtomicU32 = AtomicU32::new(0);
static IS_WANTED: AtomicBool = AtomicBool::new(true);

/// Does the user want ranks of several hosts to be compared?
pub(crate) fn set_is_wanted(is_wanted: bool) {
    IS_WANTED.store(is_wanted, Relaxed);
}

/// The hosts, if there are several and their ranks can be compared.
#[inline]
pub(crate) fn get() -> Option<&'static Hosts> {
    HOSTS.get()
}

/// Are there several hosts whose ranks can be compared?
#[inline]
pub(crate) fn is_on() -> bool {
    HOSTS.get().is_some()
}

/// Is a rank of the world on another host that can be reached?
#[inline]
pub(crate) fn is_elsewhere(rank: u32) -> bool {
    HOSTS.get().is_some_and(|hosts| hosts.of.get(rank as usize) != Some(&hosts.own))
}

/// The host of each of the first ranks of the world, by a number; nothing if there is one host only.
pub(crate) fn of_ranks(size: usize) -> Vec<u32> {
    HOSTS.get().map_or_else(Vec::new, |hosts| hosts.of.iter().take(size).copied().collect())
}

/// Are all of these on this host?
pub(crate) fn are_here(members: &Members) -> bool {
    (0..members.size()).all(|rank| members.world_rank(rank).is_some_and(|rank| !is_elsewhere(rank)))
}

/// Must what is found about messages wait until all ranks have said what they know of their order?
pub(crate) fn must_wait() -> bool {
    HOSTS.get().is_some_and(|hosts| hosts.have_threads)
}

/// MPI has started with a world of several processes, and the application has yet to be told. Have all of them been asked?
///
/// # Safety
///
/// The world must be active and have `size` processes, and no other thread may use it. All its processes must call this.
pub(crate) unsafe fn begin(size: u32, world: &Comm, has_threads: bool) -> bool {
    if !IS_WANTED.load(Relaxed) || launched_on_one_host(size) == Some(true) {
        return false;
    }
    // SAFETY: all must come there, and the launcher has told all the same. The caller promises the rest.
    let known = unsafe { find(size, world, has_threads) };
    let are_asked = known.is_ok();
    if let Ok(Some(hosts)) = known {
        post::begin();
        let _ = HOSTS.set(hosts);
    }
    are_asked
}

/// Asks all ranks where they are. `None` if there is one host only.
///
/// # Safety
///
/// As of [`begin`].
unsafe fn find(size: u32, world: &Comm, has_threads: bool) -> comm::Result<Option<Hosts>> {
    let own = [shared::host_id(), has_threads.into()];
    // SAFETY: it wants what the caller promises.
    let all = unsafe { comm::all_on_world(size, own)? };
    let mut ids: Vec<u64> = all.iter().map(|[id, _]| *id).collect();
    ids.sort_unstable();
    ids.dedup();
    if ids.len() == 1 {
        return Ok(None);
    }
    let number = |id: &u64| ids.binary_search(id).unwrap_or(0) as u32;
    let of: Box<[u32]> = all.iter().map(|[id, _]| number(id)).collect();
    let have_threads = all.iter().any(|[_, threads]| *threads != 0);
    // SAFETY: it wants what the caller promises, and a communicator of one group, which the world is.
    let made = unsafe { [OwnComm::of(pmpi::MPI_COMM_WORLD), OwnComm::of(pmpi::MPI_COMM_WORLD)] };
    let votes = Reduction::new(vote::WORDS, Some(vote::put_together));
    let is_made = made.iter().all(Result::is_ok) && votes.is_ok();
    // SAFETY: it wants what the caller promises, and a communicator of one group, which the world is.
    let [are_all] = unsafe { comm::least_on(pmpi::MPI_COMM_WORLD, [is_made.into()])? };
    let ([post, shadow], Ok(votes), 1) = (made, votes, are_all) else { return Err(comm::Failed) };
    let _ = world.shadow.set(shadow?);
    let own = of.get(rank() as usize).copied().ok_or(comm::Failed)?;
    let token = all[0][0];
    let votes = RwLock::new(Some(votes));
    Ok(Some(Hosts { of, own, token, post: post?, votes, have_threads }))
}

/// An accepted call has made a communicator, from one with a shadow: it gets one, too, if its processes are on several
/// hosts. `made`: what is known of it.
///
/// # Safety
///
/// The communicator must be valid, and the application must not have it yet. All its processes must call this.
pub(crate) unsafe fn follow(handle: MPI_Comm, made: Option<&Comm>) {
    let Some(hosts) = get() else { return };
    let mut is_inter = 0;
    // SAFETY: `MPI_Comm_test_inter` wants a valid communicator, as the caller promises, and writes one `int`.
    let code: c_int = unsafe { pmpi::MPI_Comm_test_inter(handle, &mut is_inter) };
    if code != pmpi::MPI_SUCCESS || is_inter != 0 {
        return;
    }
    let has_room = COUNT.load(Relaxed) < SHADOWS;
    let host = i64::from(hosts.own);
    let own = [made.is_some().into(), has_room.into(), host, -host];
    // SAFETY: the communicator must be of one group, as was asked. The caller promises the rest.
    let Ok(least) = (unsafe { comm::least_on(handle, own) }) else { return };
    let [is_known, has_room, first, last] = least;
    if first == -last {
        return;
    }
    let shadow = if is_known == 1 && has_room == 1 {
        // SAFETY: the communicator must be of one group, as was asked. All its processes have the same answers, and come here.
        unsafe { OwnComm::of(handle) }.ok()
    } else {
        None
    };
    match (made, shadow) {
        (Some(comm), Some(shadow)) => {
            COUNT.fetch_add(1, AcqRel);
            let _ = comm.shadow.set(shadow);
        }
        _ => shared().reached(limit::SHADOWS),
    }
}

/// The application has freed a communicator, as all its processes do.
pub(crate) fn freed(comm: &Comm) {
    if let Some(shadow) = comm.shadow.get()
        // MPIs may crash over what is pending on a communicator that is freed: it stays until the end then.
        && agreement::settle_comm(comm.identity)
    {
        COUNT.fetch_sub(1, AcqRel);
        // SAFETY: it must not have been freed, nor be used any more: the application has freed what it belongs to, which
        // happens once.
        unsafe { shadow.free() };
    }
}
