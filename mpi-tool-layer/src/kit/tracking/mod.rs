//! The application's communicators: which processes each of them has, an identity that all its ranks compute alike,
//! its name, and its end.
//!
//! * `members.rs` keeps which processes of the world a group has.
//! * `handles.rs` finds the number of a handle, without a lock.
//! * `files.rs` follows files, by their names.
//! * `known.rs` keeps what reports tell of a communicator, also after its end.
//! * `sessions.rs` knows which groups and communicators are of sessions, for those that follow them.
//!
//! # Identities
//!
//! A communicator is the same on two ranks if the identities are equal, and nobody communicates to find that out. MPI
//! says what makes it possible: all processes of a communicator make further ones of it in the same order. So a new
//! communicator is the how-manieth child of its parent, and among the children that one call makes on different ranks,
//! as `MPI_Comm_split` does, the members tell which one it is. Its identity is a hash of the parent's identity, that
//! number, and the members in their order.
//!
//! * Calls by which a process gets no communicator count, too.
//! * What is not collective over a parent (`MPI_Comm_create_group`, `MPI_Intercomm_create`, and `MPI_Comm_connect`
//!   within the world) is known by the members of both groups, the tag, and how often this came before. The two groups
//!   are taken in an order of their own, so that both sides say the same.
//! * Members that are not in the world, as they are spawned, count by their position only. All ranks of a report are
//!   of one world, and they see the same.
//!
//! * Communicators of sessions' groups are known in the same way, by the string instead of a tag, where they are
//!   [followed](Communicators::with_sessions).
//!
//! What is made in ways that this does not cover has no identity, and neither have its children: it is
//! [`TrackedComm::UNKNOWN`]. So it is with communicators that a tool or library makes below this tool. Equality is never
//! guessed, with one exception: several threads that make two communicators of the same groups with the same tag at the
//! same time, which are not children of one parent, may do so in another order on each rank. So with `MPI_THREAD_MULTIPLE`,
//! those between two groups, and their children, [are not certain](KnownComm::is_certain).

mod files;
mod handles;
mod known;
mod known_groups;
mod layer;
mod members;
mod sessions;

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use mpi_sys::{MPI_Comm, pmpi};

use crate::call::asking::UsedComm;
use crate::call::freed;
use crate::host::world;
use crate::{
    Accepted, AnyCall, Call, CallResult, FunctionId, HandleMap, Rank, RankKind, Word, functions,
    may_be_one_of,
};
pub use files::Files;
use handles::Handles;
pub use known::{KnownComm, TrackedComm};
pub use known_groups::KnownGroups;
pub use layer::CommunicatorLayer;
pub use members::Members;
use members::{Spaced, hash};
use sessions::Sessions;

/// Follows the application's communicators, for a layer that wants to know in which one something happens, and which
/// process of `MPI_COMM_WORLD` a rank is.
///
/// The layer passes its calls [through](Self::around). Then it can ask at any call:
///
/// ```
/// use mpi_tool_layer::{Call, CallResult, Communicators, Compiled, MpiInterceptionLayer};
///
/// /// Says who sends to rank 0 of the world, in whichever communicator.
/// struct ToRoot {
///     communicators: Communicators,
/// }
///
/// impl MpiInterceptionLayer for ToRoot {
///     const COMPILED: Compiled = Compiled::Once;
///
///     fn around<'c>(
///         &self, call: impl Call<'c>, next_f: impl FnOnce() -> CallResult<'c>,
///     ) -> CallResult<'c> {
///         let to = call.communicator().zip(call.destination());
///         if to.is_some_and(|(comm, rank)| self.communicators.world_rank(comm.raw(), rank) == Some(0)) {
///             let name = self.communicators.of(call).known().map_or("?", |known| known.name);
///             eprintln!("{} in {name}", call.function());
///         }
///         self.communicators.around(call, next_f)
///     }
/// }
/// ```
///
/// A layer that has a method of its own for a function that makes or ends a communicator tells of it by [`made`](Self::made)
/// and [`ending`](Self::ending).
///
/// A process tells 4,092 communicators apart in its life; further ones are [`TrackedComm::OTHERS`]. Their members take
/// memory only while they exist, and none that grows with the group if their world ranks are evenly spaced.
#[derive(Debug)]
pub struct Communicators {
    /// `MPI_COMM_WORLD` as a word, once it has been used. Most calls are on it, and it never ends.
    world: AtomicU64,
    handles: Handles,
    /// How many communicators were made of each, by its number.
    children: OnceLock<Box<[AtomicU32]>>,
    /// Of communicators that exist, by their handles.
    groups: HandleMap<Arc<Groups>>,
    /// Of those whose peers are evenly spaced, by their numbers: who the peers are. It stays when they have ended.
    spaced: OnceLock<Box<[Spaced]>>,
    /// How often something was made that is not collective over a parent.
    repeated: Mutex<BTreeMap<u64, u64>>,
    sessions: Sessions,
}

/// The functions that [end a communicator](Communicators::ends_one).
static ENDS: [bool; FunctionId::COUNT] = functions!(|function| Communicators::is_end(function));

/// What no handle is as a word: neither an `int` with its sign nor an address.
const NO_HANDLE: u64 = 1 << 63 | 1;

/// Who is in a communicator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Groups {
    own: Members,
    /// Of a communicator between two groups.
    other: Option<Members>,
    /// The number of the session that it is of, or [`sessions::WORLD`].
    session: u32,
}

impl Groups {
    fn sizes(&self) -> [u32; 2] {
        [self.own.size(), self.other.as_ref().map_or(0, Members::size)]
    }

    /// The same on both sides.
    fn hashes(&self) -> [u64; 2] {
        let mut hashes = [self.own.hash(), self.other.as_ref().map_or(0, Members::hash)];
        hashes.sort_unstable();
        hashes
    }

    /// Those that this process sends to.
    pub(crate) fn peers(&self) -> &Members {
        self.other.as_ref().unwrap_or(&self.own)
    }
}

/// How a function makes a communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// Of a parent, as all its processes do, and with its groups.
    Copy,
    /// Of a parent, as all its processes do.
    Child,
    /// Of a parent, as those do that become members, with a tag.
    Group,
    /// Between two groups that have no parent in common.
    Between,
    /// By the processes that have spawned this one.
    Parent,
    /// Of groups of a session, with a string.
    OfGroups,
    /// Nobody knows.
    Unknown,
}

/// How a function makes a communicator, if it does.
#[inline(always)]
const fn origin(function: FunctionId) -> Option<Origin> {
    use FunctionId::*;
    Some(match function {
        MPI_Comm_dup | MPI_Comm_dup_with_info | MPI_Comm_idup | MPI_Comm_idup_with_info => {
            Origin::Copy
        }
        MPI_Comm_split
        | MPI_Comm_split_type
        | MPI_Comm_create
        | MPI_Cart_create
        | MPI_Cart_sub
        | MPI_Graph_create
        | MPI_Dist_graph_create
        | MPI_Dist_graph_create_adjacent
        | MPI_Intercomm_merge
        | MPI_Comm_spawn
        | MPI_Comm_spawn_multiple => Origin::Child,
        MPI_Comm_create_group => Origin::Group,
        MPI_Intercomm_create | MPI_Comm_accept | MPI_Comm_connect => Origin::Between,
        MPI_Comm_get_parent => Origin::Parent,
        MPI_Comm_create_from_group | MPI_Intercomm_create_from_groups => Origin::OfGroups,
        MPI_Comm_join => Origin::Unknown,
        _ => return None,
    })
}

/// The identity of the how-manieth child of a parent, with these members. They count in copies, too, as the processes'
/// own `MPI_COMM_SELF` have one identity together.
fn child(kind: u64, parent: u64, number: u32, groups: &Groups) -> u64 {
    let [one, other] = groups.hashes();
    hash([kind, parent, number.into(), one, other])
}

impl Communicators {
    /// Nothing is known yet. Communicators of sessions never will be.
    pub const fn new() -> Self {
        Self::following(false)
    }

    const fn following(sessions: bool) -> Self {
        Self {
            world: AtomicU64::new(NO_HANDLE),
            handles: Handles::new(),
            children: OnceLock::new(),
            groups: HandleMap::new(),
            spaced: OnceLock::new(),
            repeated: Mutex::new(BTreeMap::new()),
            sessions: Sessions::new(sessions),
        }
    }

    /// The communicator of a call: the first one, if it has several, or the one that [it ends](Self::ends_one). May be asked
    /// before the call is passed on. Takes no lock, and allocates at the first question about a predefined communicator only.
    #[inline(always)]
    pub fn of<'c>(&self, call: impl Call<'c>) -> TrackedComm {
        Self::handle_of(call).map_or(TrackedComm::NONE, |comm| self.of_handle(comm))
    }

    /// Its handle.
    #[inline(always)]
    pub fn handle_of<'c>(call: impl Call<'c>) -> Option<MPI_Comm> {
        if Self::ends_one(call) {
            // SAFETY: the first parameter must be the address of a communicator: it is these functions' only one.
            unsafe { freed(call) }
        } else {
            call.communicator().map(|comm| comm.raw())
        }
    }

    /// The communicator of a handle, as the application has passed it.
    #[inline(always)]
    pub fn of_handle(&self, comm: MPI_Comm) -> TrackedComm {
        if comm.to_word() == self.world.load(Relaxed) {
            return TrackedComm::WORLD;
        }
        match self.handles.get(comm.to_word()) {
            Some(number) => TrackedComm::from_number(number),
            None => self.find(comm),
        }
    }

    /// The same, if it is found where most are: without calling a function. `None` does not mean that it is not known.
    #[inline(always)]
    pub fn known_handle(&self, comm: MPI_Comm) -> Option<TrackedComm> {
        if comm.to_word() == self.world.load(Relaxed) {
            return Some(TrackedComm::WORLD);
        }
        self.handles.first(comm.to_word()).map(TrackedComm::from_number)
    }

    /// The rank in `MPI_COMM_WORLD` of whom a rank means in a communicator: between two groups, a process of the other
    /// one. `None` of what is no rank (`MPI_ANY_SOURCE`), of processes outside of the world, and in communicators that
    /// are not known. Takes a lock for a moment.
    pub fn world_rank(&self, comm: MPI_Comm, rank: Rank) -> Option<u32> {
        let RankKind::Rank(rank) = rank.kind() else { return None };
        self.groups_of(comm)?.peers().world_rank(rank)
    }

    /// The same without a lock, in a communicator whose processes are evenly spaced. `None` does not mean that it is not
    /// known.
    pub(crate) fn spaced_rank(&self, comm: MPI_Comm, rank: u32) -> Option<u32> {
        let number = self.of_handle(comm).number();
        self.spaced.get()?.get(number as usize)?.world_rank(rank)
    }

    /// The processes of a communicator, if they are known. Takes a lock for a moment.
    pub(crate) fn groups_of(&self, comm: MPI_Comm) -> Option<Arc<Groups>> {
        if self.of_handle(comm) == TrackedComm::UNKNOWN {
            return None;
        }
        self.groups.get(comm)
    }

    /// Waits until all processes of a call's communicator are in the same collective operation, by a barrier that no tool
    /// sees. What the call takes afterwards is no waiting for late ones. To be asked before the call is passed on, and by
    /// the tools of all ranks alike, as each waits for the others.
    ///
    /// `false`, without waiting, if the call is not [of all](Call::is_of_all) or is `MPI_Barrier` itself, and on
    /// communicators that are not known or that have processes outside of `MPI_COMM_WORLD`, where this tool may not be.
    #[inline]
    pub fn await_all<'c>(&self, call: impl Call<'c>) -> bool {
        if !call.is_of_all() || call.function() == FunctionId::MPI_Barrier {
            return false;
        }
        call.communicator().is_some_and(|comm| self.barrier(comm.raw()))
    }

    #[inline(never)]
    fn barrier(&self, comm: MPI_Comm) -> bool {
        if self.of_handle(comm) == TrackedComm::UNKNOWN {
            return false;
        }
        let is_in_world = |groups: Arc<Groups>| {
            groups.own.are_in_world() && groups.other.as_ref().is_none_or(Members::are_in_world)
        };
        if !self.groups.get(comm).is_some_and(is_in_world) {
            return false;
        }
        // SAFETY: the handle must be of a communicator that MPI knows, which has this tool's ABI. It is one that MPI has made,
        // or a predefined one, and that has not been freed, since its groups are known: of another ABI's MPI none are.
        unsafe { UsedComm::assume(comm) }.is_some_and(UsedComm::barrier)
    }

    /// Who is in a communicator: the own group, and the other one of a communicator between two. `None` if it is not
    /// known. Takes a lock for a moment, and copies lists.
    pub fn members(&self, comm: MPI_Comm) -> Option<(Members, Option<Members>)> {
        if self.of_handle(comm) == TrackedComm::UNKNOWN {
            return None;
        }
        let groups = self.groups.get(comm)?;
        Some((groups.own.clone(), groups.other.clone()))
    }

    /// Passes a call on, and notes what it has made, named or ended. Costs nothing but for the functions that do so.
    #[inline(always)]
    pub fn around<'c, C: Call<'c>>(
        &self,
        call: C,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        if const { may_be_one_of::<C>(&ENDS) } && ENDS[call.function() as usize] {
            return self.ending(Self::handle_of(call), next_f);
        }
        let accepted = next_f()?;
        self.made(call, accepted);
        Ok(accepted)
    }

    /// Does a call end the communicator that it is given? [`of`](Self::of) tells which one that is.
    #[inline(always)]
    pub fn ends_one<'c>(call: impl Call<'c>) -> bool {
        Self::is_end(call.function())
    }

    /// Do calls of a function [end a communicator](Self::ends_one)?
    pub const fn is_end(function: FunctionId) -> bool {
        matches!(function, FunctionId::MPI_Comm_free | FunctionId::MPI_Comm_disconnect)
    }

    /// Notes what an accepted call has made or named, after it has returned to a layer that does not pass it
    /// [through](Self::around). Costs nothing but for functions that make or name communicators.
    #[inline(always)]
    pub fn made<'c>(&self, call: impl Call<'c>, accepted: Accepted<'c>) {
        if let Some(origin) = origin(call.function()) {
            self.note(origin, call.erase(), accepted);
        } else if call.function() == FunctionId::MPI_Comm_set_name {
            self.note_name(call.erase(), accepted);
        } else if self.sessions.are_followed && sessions::is_about_them(call) {
            self.note_sessions(call.erase(), accepted);
        }
    }

    /// The handle of the communicator that an accepted call has made in this process, if it has made one. A nonblocking
    /// call's is to be asked about only when its request is complete.
    #[inline(always)]
    pub fn new_handle<'c>(call: impl Call<'c>, accepted: Accepted<'c>) -> Option<MPI_Comm> {
        origin(call.function())?;
        Some(UsedComm::made(call.erase(), accepted)?.handle())
    }

    /// A handle that has no number: of a predefined communicator that is used for the first time, or unknown.
    #[cold]
    #[inline(never)]
    fn find(&self, comm: MPI_Comm) -> TrackedComm {
        let is_world = comm == pmpi::MPI_COMM_WORLD;
        if !is_world && comm != pmpi::MPI_COMM_SELF {
            return TrackedComm::UNKNOWN;
        }
        let Some((rank, ranks)) = world::position() else { return TrackedComm::UNKNOWN };
        let (known, own) = if is_world {
            let world = Members::Regular { first: 0, stride: 1, size: ranks };
            (TrackedComm::WORLD.predefined([ranks, 0]), world)
        } else {
            let only = Members::Regular { first: rank, stride: 0, size: 1 };
            (TrackedComm::SELF.predefined([1, 0]), only)
        };
        self.keep(comm, known, Arc::new(Groups { own, other: None, session: sessions::WORLD }));
        if is_world {
            self.world.store(comm.to_word(), Relaxed);
        }
        known
    }

    /// Keeps what is known of a handle, from now on.
    fn keep(&self, comm: MPI_Comm, known: TrackedComm, groups: Arc<Groups>) {
        let spaced = self
            .spaced
            .get_or_init(|| (0..known::COMMUNICATORS).map(|_| Spaced::default()).collect());
        if let Some(spaced) = spaced.get(known.number() as usize) {
            spaced.keep(groups.peers());
        }
        self.groups.insert(comm, groups);
        self.handles.insert(comm.to_word(), known.number());
    }

    /// Forgets what is known of a handle.
    fn forget(&self, comm: MPI_Comm) -> Option<(TrackedComm, Arc<Groups>)> {
        let number = self.handles.remove(comm.to_word());
        let groups = self.groups.remove(comm);
        Some((TrackedComm::from_number(number?), groups?))
    }

    /// Passes on a call that ends a communicator. It is forgotten before, as another thread may get the handle for a new one at
    /// once; if MPI refuses the call, it is still there.
    pub fn ending<'c>(
        &self,
        comm: Option<MPI_Comm>,
        next_f: impl FnOnce() -> CallResult<'c>,
    ) -> CallResult<'c> {
        let before = comm.and_then(|comm| Some((comm, self.forget(comm)?)));
        let result = next_f();
        if result.is_err()
            && let Some((comm, (known, groups))) = before
        {
            self.keep(comm, known, groups);
        }
        result
    }

    /// A communicator has a name.
    #[cold]
    fn note_name<'c>(&self, call: AnyCall<'c>, accepted: Accepted<'c>) {
        let Some(comm) = call.communicator() else { return };
        if let Some(asked) = UsedComm::of(call, accepted) {
            self.of_handle(comm.raw()).set_name(&asked.name());
        }
    }

    /// A communicator may have been made.
    #[cold]
    #[inline(never)]
    fn note<'c>(&self, origin: Origin, call: AnyCall<'c>, accepted: Accepted<'c>) {
        let parent = self.of(call);
        let number = self.next_child(origin, parent);
        let Some(comm) = UsedComm::made(call, accepted) else { return };
        let before = self.handles.get(comm.handle().to_word());
        if origin == Origin::Parent && before == Some(TrackedComm::PARENT.number()) {
            return;
        }
        let known = self.identify(origin, call, parent, number, comm);
        match known {
            Some((known, groups)) => self.keep(comm.handle(), known, groups),
            // The handle may have been another one's, whose end nobody has seen.
            None => drop(self.forget(comm.handle())),
        }
    }

    /// The how-manieth child of a parent a call has made. It is counted by all processes, also by those that are not in
    /// it. `None` of what is no child of a known parent.
    fn next_child(&self, origin: Origin, parent: TrackedComm) -> Option<u32> {
        if !matches!(origin, Origin::Copy | Origin::Child) {
            return None;
        }
        let children = self
            .children
            .get_or_init(|| (0..known::COMMUNICATORS).map(|_| AtomicU32::new(0)).collect());
        Some(children.get(parent.number() as usize)?.fetch_add(1, Relaxed))
    }

    /// Finds out which communicator was made; `None` if that cannot be known.
    fn identify(
        &self,
        origin: Origin,
        call: AnyCall<'_>,
        parent: TrackedComm,
        number: Option<u32>,
        comm: UsedComm,
    ) -> Option<(TrackedComm, Arc<Groups>)> {
        let parents = call.communicator().map(|comm| comm.raw());
        // Of what is not known, MPI is not asked: it may be a session's.
        let parent_identity = || parent.known().map(|known| known.identity);
        let tag = || call.tag().map_or(0, |tag| u64::from(tag.raw().cast_unsigned()));
        let kind = origin as u64;
        let groups_of = || {
            let session = self.session_of_new_comm(call)?;
            // SAFETY: the communicator must be of this session, or of none: a new one is of its parent's, or of its groups'. Those
            // are known where this is called.
            Some(Arc::new(unsafe { self.sessions.groups_of(comm, session) }?))
        };
        let (identity, groups) = match origin {
            Origin::Unknown => return None,
            Origin::Parent => {
                let groups = groups_of()?;
                return Some((TrackedComm::PARENT.predefined(groups.sizes()), groups));
            }
            Origin::Copy => {
                // A nonblocking copy is not to be asked about yet, and has its parent's groups.
                let groups = self.groups.get(parents?)?;
                (child(kind, parent_identity()?, number?, &groups), groups)
            }
            Origin::Child => {
                let identity = parent_identity()?;
                let groups = groups_of()?;
                (child(kind, identity, number?, &groups), groups)
            }
            Origin::Group => {
                let identity = parent_identity()?;
                let groups = groups_of()?;
                let [one, other] = groups.hashes();
                (self.repeated([kind, identity, tag(), one, other]), groups)
            }
            Origin::Between => {
                parent_identity()?;
                let groups = groups_of()?;
                let [one, other] = groups.hashes();
                // One side accepts what the other one connects.
                let has_tag = call.function() == FunctionId::MPI_Intercomm_create;
                (self.repeated([kind, has_tag.into(), tag(), one, other]), groups)
            }
            Origin::OfGroups if !self.sessions.are_followed => return None,
            Origin::OfGroups => {
                let tag = Self::string_tag(call)?;
                let groups = groups_of()?;
                let [one, other] = groups.hashes();
                (self.repeated([kind, tag, groups.other.is_some().into(), one, other]), groups)
            }
        };
        let is_counted =
            origin == Origin::Between || parent.known().is_some_and(|parent| parent.is_counted);
        Some((TrackedComm::with_identity(identity, is_counted, groups.sizes()), groups))
    }

    /// A hash of what was made and how often this has happened before.
    fn repeated(&self, what: [u64; 5]) -> u64 {
        let what = hash(what);
        let mut repeated = self.repeated.lock().unwrap_or_else(PoisonError::into_inner);
        let times = repeated.entry(what).or_insert(0);
        *times += 1;
        hash([what, *times])
    }
}

impl Default for Communicators {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Direction, ParameterKind};

    /// By the list of functions: whatever returns a communicator is known here, and returns one.
    #[test]
    fn all_functions_that_make_communicators_are_known() {
        let functions = (0..FunctionId::COUNT).filter_map(FunctionId::from_index);
        let mut makers = 0;
        for function in functions {
            let returns = function.parameters().iter().filter(|one| {
                one.kind == ParameterKind::Communicator && one.direction == Direction::Out
            });
            let returns = returns.count();
            assert_eq!(returns, usize::from(origin(function).is_some()), "{function}");
            makers += returns;
        }
        assert!(makers > 20, "{makers}");
    }

    /// Both sides of a communicator between two groups see them the other way round.
    #[test]
    fn both_sides_compute_one_identity() {
        let [evens, odds] = [&[0, 2], &[1, 3]].map(|ranks| Members::of(ranks));
        let session = sessions::WORLD;
        let here = Groups { own: evens.clone(), other: Some(odds.clone()), session };
        let there = Groups { own: odds, other: Some(evens.clone()), session };
        assert_eq!(here.hashes(), there.hashes());
        assert_eq!(here.peers().world_rank(1), Some(3));
        let alone = Groups { own: evens, other: None, session };
        assert_ne!(alone.hashes(), here.hashes());
        assert_eq!(alone.peers().world_rank(1), Some(2));
        assert_eq!((here.sizes(), alone.sizes()), ([2, 2], [2, 0]));
    }

    /// The same thing again is another communicator, and anything else is counted by itself.
    #[test]
    fn repetitions_are_counted() {
        let [one, other] = [Communicators::new(), Communicators::new()];
        let first = one.repeated([1, 2, 3, 4, 5]);
        let elsewhere = one.repeated([1, 2, 3, 5, 4]);
        let second = one.repeated([1, 2, 3, 4, 5]);
        assert!(first != second && first != elsewhere && second != elsewhere);
        // Another process comes to the same.
        assert_eq!(other.repeated([1, 2, 3, 4, 5]), first);
        assert_eq!(other.repeated([1, 2, 3, 4, 5]), second);
    }

    /// A child of each parent by its number, as long as the parent is known.
    #[test]
    fn children_are_counted_for_each_parent() {
        let communicators = Communicators::new();
        let next = |origin, parent| communicators.next_child(origin, parent);
        assert_eq!(next(Origin::Child, TrackedComm::WORLD), Some(0));
        assert_eq!(next(Origin::Copy, TrackedComm::WORLD), Some(1));
        assert_eq!(next(Origin::Child, TrackedComm::SELF), Some(0));
        assert_eq!(next(Origin::Group, TrackedComm::WORLD), None);
        assert_eq!(next(Origin::Child, TrackedComm::WORLD), Some(2));
        for parent in [TrackedComm::UNKNOWN, TrackedComm::OTHERS] {
            assert_eq!(next(Origin::Child, parent), None);
        }
    }
}
