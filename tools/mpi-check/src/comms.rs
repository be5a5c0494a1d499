//! What the checks ask of a communicator: its size, this process's rank in it, and how many collective operations it
//! has had.

use core::ops::Deref;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use mpi_tool_layer::mpi_sys::{MPI_Comm, c_int, pmpi};
use mpi_tool_layer::{Call as _, Communicators, KnownComm, Members, Word};
use rustc_hash::FxHashMap;

use crate::arguments::Checked;
use crate::hosts::{self, OwnComm};
use crate::names;
use crate::neighbors::{self, Neighbors};
use crate::objects::{self, Kind};
use crate::shared::shared;

/// A communicator that is there.
#[derive(Debug)]
pub(crate) struct Comm {
    /// The same on all ranks.
    pub(crate) identity: u64,
    pub(crate) name: String,
    /// The own rank in the own group.
    pub(crate) rank: c_int,
    /// Processes of the own group.
    pub(crate) size: u32,
    /// Those that this process sends to: the other group's, where there is one.
    pub(crate) peers: Members,
    pub(crate) is_inter: bool,
    /// It is a window or a file.
    pub(crate) is_object: bool,
    /// All that this process sends to are in the world.
    pub(crate) is_of_world: bool,
    /// How many collective operations it has had.
    pub(crate) collectives: AtomicU64,
    /// The tool's own communicator with the same processes, if they are on several hosts.
    pub(crate) shadow: OnceLock<OwnComm>,
    /// All processes are on this host.
    is_here: OnceLock<bool>,
    own: Members,
    /// What MPI says of its topology, once somebody has asked.
    neighbors: OnceLock<Option<Neighbors>>,
}

impl Comm {
    /// The ranks in the world of those that this process sends to.
    pub(crate) fn world_rank(&self, rank: c_int) -> Option<u32> {
        self.peers.world_rank(u32::try_from(rank).ok()?)
    }

    /// How many ranks can be named as a peer.
    pub(crate) fn peer_count(&self) -> u32 {
        self.peers.size()
    }

    /// Are these processes one group, all of which are of this world, so that what they call is seen?
    pub(crate) fn is_of_us(&self) -> bool {
        !self.is_inter && self.is_of_world
    }

    /// Are these processes two groups, all of which are of this world?
    pub(crate) fn is_between_us(&self) -> bool {
        let is_of_world = || (0..self.own.size()).all(|rank| self.own.world_rank(rank).is_some());
        self.is_inter && self.is_of_world && is_of_world()
    }

    /// Are all processes on this host? Asked if there are several.
    pub(crate) fn is_here(&self) -> bool {
        *self.is_here.get_or_init(|| hosts::are_here(&self.own) && hosts::are_here(&self.peers))
    }

    /// The own neighbours, if it has a topology. To be asked with a call on it.
    pub(crate) fn neighbors(&self, checked: &Checked<'_>) -> Option<&Neighbors> {
        let of = || {
            let comm = checked.call.communicator().filter(|_| checked.comm.is_some())?;
            // SAFETY: the communicator must be valid: it is known, which it is as long as it is not freed.
            unsafe { neighbors::of(comm.raw()) }
        };
        self.neighbors.get_or_init(of).as_ref()
    }

    /// The next collective operation's number, from 1.
    pub(crate) fn next(&self) -> u64 {
        self.collectives.fetch_add(1, Relaxed) + 1
    }

    /// MPI has refused the collective operation of this number before it has met the others: it has not taken place.
    pub(crate) fn take_back(&self, number: u64) {
        // Where another thread has gone on, nothing says whose number is whose.
        let _ = self.collectives.compare_exchange(number, number - 1, Relaxed, Relaxed);
    }

    /// What the collective operation of a number has made: the same on all processes.
    pub(crate) const fn object_identity(&self, number: u64) -> u64 {
        (self.identity ^ number.rotate_left(40)).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
    }

    /// An object of the same processes that collective operations are on: what its collective operation of a number has
    /// made.
    pub(crate) fn with_object(&self, what: &str, number: u64) -> Self {
        Self {
            identity: self.object_identity(number),
            name: format!("a {what} on {}", self.describe()),
            rank: self.rank,
            size: self.size,
            peers: self.peers.clone(),
            is_inter: self.is_inter,
            is_object: true,
            is_of_world: self.is_of_world,
            collectives: AtomicU64::new(0),
            shadow: OnceLock::new(),
            is_here: self.is_here.clone(),
            own: self.own.clone(),
            neighbors: OnceLock::new(),
        }
    }

    /// Some of its processes, which are told from others by an identity, with a call of their own.
    pub(crate) fn with_members(&self, identity: u64, size: u32) -> Self {
        let name = format!("a group of {size} processes on {}", self.describe());
        Self { identity, name, size, is_object: false, ..self.with_object("group", 0) }
    }

    /// As the last operation of all its processes is on it, `MPI_Comm_disconnect`: to those that wait, it is another one then.
    pub(crate) fn at_its_end(&self) -> Self {
        let name = self.describe();
        Self { name, is_object: false, ..self.with_object("communicator", u64::MAX >> 24) }
    }

    /// A bit for each of its processes, by their ranks in the world, if they all have one of the first 64.
    pub(crate) fn members(&self) -> Option<u64> {
        let others = Some(&self.peers).filter(|_| self.is_inter);
        let groups = [Some(&self.own), others].into_iter().flatten();
        let mut ranks = groups.flat_map(|of| (0..of.size()).map(|rank| of.world_rank(rank)));
        ranks.try_fold(0, |all, rank| rank.filter(|rank| *rank < 64).map(|rank| all | 1 << rank))
    }

    /// The last collective operation's number.
    pub(crate) fn last(&self) -> u64 {
        self.collectives.load(Relaxed)
    }

    /// The name, or what it is.
    pub(crate) fn describe(&self) -> String {
        match &*self.name {
            "" => kind(self.size, if self.is_inter { self.peers.size() } else { 0 }),
            name => name.to_owned(),
        }
    }
}

/// A communicator with so many processes in its groups, of which the second one may not be there, in words.
pub(crate) fn kind(size: u32, others: u32) -> String {
    let processes = |count: u32| if count == 1 { "process" } else { "processes" };
    match others {
        0 => format!("a communicator of {size} {}", processes(size)),
        _ => format!("an intercommunicator of {size} and {others} {}", processes(others)),
    }
}

/// A communicator, as calls have it: the world and the process alone are there for ever, and need no counting.
#[derive(Debug, Clone)]
pub(crate) enum CommRef {
    Predefined(&'static Comm),
    Made(Arc<Comm>),
}

impl Deref for CommRef {
    type Target = Comm;

    #[inline]
    fn deref(&self) -> &Comm {
        match self {
            Self::Predefined(comm) => comm,
            Self::Made(comm) => comm,
        }
    }
}

static WORLD: OnceLock<Comm> = OnceLock::new();
static SELF: OnceLock<Comm> = OnceLock::new();

/// Where a communicator is kept that is there from the start and cannot be freed.
pub(crate) fn predefined(comm: MPI_Comm) -> Option<&'static OnceLock<Comm>> {
    match comm {
        comm if comm == pmpi::MPI_COMM_WORLD => Some(&WORLD),
        comm if comm == pmpi::MPI_COMM_SELF => Some(&SELF),
        _ => None,
    }
}

static COMMS: Mutex<Option<FxHashMap<u64, Arc<Comm>>>> = Mutex::new(None);

/// What is known of a communicator; `None` where its processes are not.
pub(crate) fn get(communicators: &Communicators, comm: MPI_Comm) -> Option<CommRef> {
    if let Some(place) = predefined(comm) {
        if let Some(known) = place.get() {
            return Some(CommRef::Predefined(known));
        }
        let found = find(communicators, comm)?;
        names::note(&found, None);
        return Some(CommRef::Predefined(place.get_or_init(|| found)));
    }
    let key = comm.to_word();
    {
        let mut comms = COMMS.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = comms.get_or_insert_default().get(&key) {
            return Some(CommRef::Made(known.clone()));
        }
    }
    let made = Arc::new(find(communicators, comm)?);
    let of = |object: &objects::Object| (object.function, object.site);
    names::note(&made, objects::with(Kind::Communicator, comm.to_word(), of));
    let mut comms = COMMS.lock().unwrap_or_else(PoisonError::into_inner);
    Some(CommRef::Made(comms.get_or_insert_default().entry(key).or_insert(made).clone()))
}

/// What MPI and the framework say of a communicator.
#[cold]
fn find(communicators: &Communicators, comm: MPI_Comm) -> Option<Comm> {
    // What is guessed may be another communicator on another rank. Ranks may have different thread levels.
    let has_threads = || shared().has_threads.load(Relaxed) || hosts::must_wait();
    let is_certain = |known: &KnownComm<'_>| !(known.is_counted && has_threads());
    let known = communicators.of_handle(comm).known().filter(is_certain)?;
    let (own, other) = communicators.members(comm)?;
    let mut rank = -1;
    // SAFETY: `MPI_Comm_rank` wants a valid communicator and writes one `int`. The communicator is known: MPI has made
    // it or it is predefined, and it has not been freed, as `members` tells of those only.
    unsafe { pmpi::MPI_Comm_rank(comm, &mut rank) };
    let peers = other.as_ref().unwrap_or(&own);
    let is_of_world = (0..peers.size()).all(|rank| peers.world_rank(rank).is_some());
    Some(Comm {
        is_of_world,
        identity: known.identity,
        name: known.name.to_owned(),
        rank,
        size: own.size(),
        is_inter: other.is_some(),
        is_object: false,
        peers: other.unwrap_or_else(|| own.clone()),
        own,
        collectives: AtomicU64::new(0),
        shadow: OnceLock::new(),
        is_here: OnceLock::new(),
        neighbors: OnceLock::new(),
    })
}

/// The application has given a communicator a name.
pub(crate) fn named(comm: MPI_Comm, name: &str) {
    let known = {
        let mut comms = COMMS.lock().unwrap_or_else(PoisonError::into_inner);
        comms.get_or_insert_default().get(&comm.to_word()).map(|known| known.identity)
    };
    if let Some(identity) = known {
        names::renamed(identity, name);
    }
}

/// A handle is another communicator's from now on, perhaps without that anybody has seen the end of the one before.
pub(crate) fn made(comm: u64) {
    let mut comms = COMMS.lock().unwrap_or_else(PoisonError::into_inner);
    comms.get_or_insert_default().remove(&comm);
}

/// A communicator is gone.
pub(crate) fn forget(comm: MPI_Comm) {
    let known = {
        let mut comms = COMMS.lock().unwrap_or_else(PoisonError::into_inner);
        comms.get_or_insert_default().remove(&comm.to_word())
    };
    if let Some(known) = known {
        hosts::freed(&known);
    }
}
