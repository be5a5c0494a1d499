//! What each rank waits for, and deadlocks: who can never go on.
//!
//! Each rank writes what its blocking call needs to shared memory. A thread of one rank of the host looks at them four
//! times a second. It reads memory, calls no MPI and sends nothing. What it has read is a picture, by which `mpi-check-engine`
//! judges: a rank can go on if it is not in a blocking call, if what it needs is there, or if somebody who can go on may
//! still do it. What is not known counts as able to go on. Those that are left, and have been at the same call in five
//! looks, wait for ever, however busy the machine is.
//!
//! A process may leave a collective operation before others come to it, or may not: no program may lean on either. So whoever has
//! stood in one for fifteen looks counts as waiting for all. Whoever has looked for something again and again for forty looks
//! (`MPI_Iprobe`, `MPI_Test`), and done nothing else, counts as waiting for that.

mod hosts;
mod locks;
mod polls;
mod seen;
mod tasks;
mod tell;

use core::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::thread;
use std::time::{Duration, Instant};

use mpi_check_engine::{Exchange, Patience, State, Waiting};
use mpi_facts::{NONE, Pattern, Timing};
use mpi_tool_layer::mpi_sys::{MPI_IN_PLACE, MPI_ROOT};
use mpi_tool_layer::{FunctionClass, FunctionId, Word as _};
use smallvec::SmallVec;

use crate::arguments::Checked;
use crate::comms::Comm;
use crate::findings::{self, rank};
use crate::messages::{Receive, Send};
use crate::neighbors::Neighbors;
use crate::objects;
use crate::places::Mark;
use crate::sanitizer;
use crate::shared::{RANKS, limit, shared};
pub(crate) use hosts::remove as remove_exchanged;
pub(crate) use locks::{locked, unlocked};
pub(crate) use mpi_check_engine::{Lock, Need};
pub(crate) use polls::{found, is_look, is_poll, looked};
pub(crate) use tasks::starting;

/// How many needs of one call are kept.
const NEEDS: usize = 16;

/// What a rank does.
#[repr(C)]
pub(crate) struct RankState {
    /// One of [`state`].
    state: AtomicU32,
    /// How many calls it has begun and ended.
    sequence: AtomicU64,
    function: AtomicU32,
    module: AtomicU64,
    offset: AtomicU64,
    /// One of the needs is enough.
    is_any: AtomicBool,
    count: AtomicU32,
    needs: [NeedState; NEEDS],
    /// Receives that are pending without a number: they may get any message.
    open: AtomicU32,
    /// How many records of messages it has sent to other hosts, and taken.
    sent: AtomicU64,
    taken: AtomicU64,
    /// Where there are several hosts: the last collective operations on some communicators.
    entered: [EnteredState; ENTERED],
    /// There were more communicators.
    has_forgotten: AtomicBool,
    /// Windows that it has locked.
    locks: locks::Locks,
    /// How often it has looked for something in vain, since it has begun to.
    polls: AtomicU64,
    /// Which threads it has.
    tasks: tasks::Tasks,
}

/// Of how many communicators of a rank the last collective operation is known.
const ENTERED: usize = 8;

#[repr(C)]
struct EnteredState {
    identity: AtomicU64,
    number: AtomicU64,
    size: AtomicU64,
}

/// [`State`] as shared memory has it.
mod state {
    use mpi_check_engine::State;

    pub(super) const RUNNING: u32 = State::Running as u32;
    pub(super) const BLOCKED: u32 = State::Blocked as u32;
    pub(super) const OVER: u32 = State::Over as u32;
    pub(super) const POLLING: u32 = State::Polling as u32;
}

#[repr(C)]
struct NeedState {
    kind: AtomicU32,
    words: [AtomicU64; 3],
}

impl NeedState {
    fn set(&self, need: Need) {
        let (kind, words) = need.to_words();
        for (to, from) in self.words.iter().zip(words) {
            to.store(from, Relaxed);
        }
        self.kind.store(kind, Relaxed);
    }

    fn get(&self) -> Need {
        let words = [0, 1, 2].map(|at: usize| self.words[at].load(Relaxed));
        Need::from_words(self.kind.load(Relaxed), words)
    }
}

/// Nobody looks, or several threads may call MPI.
static IS_OFF: AtomicBool = AtomicBool::new(true);

fn own() -> Option<&'static RankState> {
    if IS_OFF.load(Relaxed) && !tasks::is_owner() {
        return None;
    }
    shared().ranks.get(rank() as usize)
}

/// Receives without a number have come or gone.
pub(crate) fn set_open(open: usize) {
    if let Some(own) = shared().ranks.get(rank() as usize) {
        own.open.store(open as u32, Release);
    }
}

/// Does a rank have receives that are not complete and may get any message?
pub(crate) fn has_open(rank: u32) -> bool {
    shared().ranks.get(rank as usize).is_some_and(|of| of.open.load(Acquire) > 0)
}

/// A collective operation of which others must know who has come is about to be passed on, by whichever thread.
pub(crate) fn entering(identity: u64, number: u64, size: u32) {
    let Some(own) = shared().ranks.get(rank() as usize) else { return };
    let is_of = |it: &&EnteredState| {
        let before = it.identity.compare_exchange(0, identity, Relaxed, Relaxed);
        before.map_or_else(|known| known == identity, |_| true)
    };
    let place = own.entered.iter().find(is_of).unwrap_or_else(|| {
        own.has_forgotten.store(true, Relaxed);
        let place = &own.entered[identity as usize % ENTERED];
        place.number.store(0, Relaxed);
        place.identity.store(identity, Relaxed);
        place
    });
    place.size.store(size.into(), Relaxed);
    // Of a place that two threads have taken at once, the greater number is kept: it says that more has been called, not less.
    place.number.fetch_max(number, Release);
}

/// Records of messages were sent to other hosts, or taken.
pub(crate) fn count_records(sent: u64, taken: u64) {
    if let Some(own) = own() {
        own.sent.fetch_add(sent, Relaxed);
        own.taken.fetch_add(taken, Release);
    }
}

/// What sending a message needs.
pub(crate) fn of_send(send: &Send) -> Need {
    match send.key {
        0 => Need::Nothing,
        key => Need::Receiver { key, target: send.target() },
    }
}

/// What receiving a message needs.
pub(crate) fn of_receive(receive: &Receive) -> Need {
    if receive.is_open_to_others() {
        return Need::Nothing;
    }
    Need::Message(receive.wanted())
}

/// What a collective operation needs on this rank, once it is started.
pub(crate) fn of_collective(checked: &Checked<'_>, number: u64) -> Need {
    if checked.comm.as_ref().is_some_and(|comm| comm.is_inter) {
        return of_groups(checked, number).first().copied().unwrap_or(Need::Nothing);
    }
    let Some(comm) = checked.comm.as_ref().filter(|comm| comm.is_of_us() && number != 0) else {
        return Need::Nothing;
    };
    let identity = comm.identity;
    // Of those whose request is waited for later, one need is kept.
    if checked.facts.is_scan
        && let Some(before) = before_in_scan(checked, number).next()
    {
        return before;
    }
    match data_of_collective(checked, comm) {
        Some(root) => Need::Collective { identity, number, root },
        None if checked.is_sound => Need::Attendance { identity, number },
        None => Need::Nothing,
    }
}

/// Must data come from others, and is that the root alone, by its rank in the world?
fn data_of_collective(checked: &Checked<'_>, comm: &Comm) -> Option<Option<u32>> {
    let shape = checked.shape;
    let in_place = Some(MPI_IN_PLACE.to_word());
    let is_empty = [shape.sent, shape.received].into_iter().any(|data| {
        !data.array_of_counts
            && checked.int(data.count) == Some(0)
            && checked.word(data.buffer) != in_place
    });
    if shape.class == FunctionClass::Neighborhood || is_empty || !checked.is_sound {
        return None;
    }
    if checked.facts.is_scan {
        return None;
    }
    let is_root = checked.is_root();
    if shape.received.array_of_counts
        && (is_root || shape.root == NONE)
        && !needs_all(checked, comm.size, comm.rank)
    {
        return None;
    }
    let root = match shape.pattern {
        Pattern::Broadcast | Pattern::Scatter if is_root => return None,
        Pattern::Broadcast | Pattern::Scatter => {
            let root = checked.int(shape.root).and_then(|root| i32::try_from(root).ok());
            Some(root.and_then(|root| comm.world_rank(root))?)
        }
        Pattern::Gather | Pattern::Reduce if !is_root => return None,
        _ => None,
    };
    Some(root)
}

/// Is there something to come from all others in a collective operation that says how much comes from each?
fn needs_all(checked: &Checked<'_>, size: u32, own: i32) -> bool {
    let received = checked.shape.received;
    let Some(counts) = checked.word(received.count).filter(|address| *address != 0) else {
        return false;
    };
    let has_data = checked.datatype(received.datatype).is_some_and(|info| info.size > 0);
    let own = usize::try_from(own).ok();
    // All take part in each element of a reduction.
    let matters = |rank: &usize| match checked.shape.pattern {
        Pattern::ReduceScatter => Some(*rank) == own,
        _ => Some(*rank) != own,
    };
    !received.array_of_datatypes
        && has_data
        && (0..size as usize).filter(matters).all(|rank| checked.count_at(counts, rank) > 0)
}

/// What a neighbourhood collective operation needs: all who give this process something.
pub(crate) fn of_neighbors(checked: &Checked<'_>, number: u64) -> SmallVec<[Need; 4]> {
    let received = checked.shape.received;
    let is_simple = number != 0
        && checked.is_sound
        && shared().is_whole()
        && !received.array_of_counts
        && !received.array_of_datatypes
        && checked.int(received.count).is_some_and(|count| count > 0)
        && checked.datatype(received.datatype).is_some_and(|info| info.size > 0);
    let Some(comm) = checked.comm.as_ref().filter(|comm| is_simple && comm.is_of_us()) else {
        return SmallVec::new();
    };
    let Some(neighbors) = comm.neighbors(checked) else { return SmallVec::new() };
    let need = |(_, source): (usize, u32)| {
        let source = comm.world_rank(i32::try_from(source).ok()?)?;
        let need = Need::Entered { identity: comm.identity, number, rank: source };
        (source != rank()).then_some(need)
    };
    Neighbors::there(&neighbors.sources).filter_map(need).collect()
}

/// What a collective operation between two groups needs: those of the other group that give this process something (MPI-5.0,
/// section 6.2.3). All must come if it stands for long.
pub(crate) fn of_groups(checked: &Checked<'_>, number: u64) -> SmallVec<[Need; 4]> {
    let is_known = number != 0 && checked.is_sound && shared().is_whole();
    let comm = checked.comm.as_ref().filter(|comm| is_known && comm.is_between_us());
    let Some(comm) = comm else { return SmallVec::new() };
    let identity = comm.identity;
    let attendance = Need::Attendance { identity, number };
    let entered = |rank: u32| Need::Entered { identity, number, rank };
    let others = || {
        let ranks = (0..comm.peer_count() as i32).filter_map(|rank| comm.world_rank(rank));
        ranks.take(NEEDS - 1).map(entered)
    };
    let (shape, root) = (checked.shape, checked.int(checked.shape.root));
    let has_data = [shape.sent, shape.received].into_iter().all(|data| {
        data.count == NONE || !data.array_of_counts && checked.int(data.count) != Some(0)
    });
    let is_root = root == Some(MPI_ROOT.into());
    let mut needs = SmallVec::new();
    match shape.pattern {
        _ if checked.function == FunctionId::MPI_Barrier
            || checked.function == FunctionId::MPI_Ibarrier
            || checked.function == FunctionId::MPI_Barrier_init =>
        {
            needs.extend(others());
        }
        _ if shape.class != FunctionClass::Collective || !has_data => {}
        Pattern::Broadcast | Pattern::Scatter => {
            let root = root.and_then(|root| comm.world_rank(i32::try_from(root).ok()?));
            needs.extend(root.map(entered));
        }
        Pattern::Gather | Pattern::Reduce if !is_root => {}
        Pattern::Gather
        | Pattern::Reduce
        | Pattern::Allgather
        | Pattern::Allreduce
        | Pattern::Alltoall
        | Pattern::ReduceScatter => needs.extend(others()),
        _ => {}
    }
    needs.push(attendance);
    needs
}

/// The ranks that give something in a persistent operation, by what a call that makes it says.
pub(crate) fn givers(checked: &Checked<'_>, number: u64) -> Vec<u32> {
    let Some(comm) = checked.comm.as_ref().filter(|_| shared().is_whole()) else {
        return Vec::new();
    };
    let needs = match checked.shape.class {
        FunctionClass::Neighborhood => of_neighbors(checked, number),
        _ if comm.is_inter => of_groups(checked, number),
        _ if checked.facts.is_scan => before_in_scan(checked, number).collect(),
        _ => SmallVec::from_elem(of_collective(checked, number), 1),
    };
    let all = || (0..comm.size as i32).filter_map(|rank| comm.world_rank(rank));
    let ranks = needs.into_iter().flat_map(|need| match need {
        Need::Collective { root: Some(root), .. } => vec![root],
        Need::Collective { root: None, .. } => all().collect(),
        Need::Entered { rank, .. } => vec![rank],
        _ => Vec::new(),
    });
    ranks.filter(|giver| *giver != rank()).take(NEEDS).collect()
}

/// What a scan needs: all before this process in the communicator, of which not all are looked at if they are many.
pub(crate) fn of_scan(checked: &Checked<'_>, number: u64, otherwise: Need) -> SmallVec<[Need; 4]> {
    let mut needs: SmallVec<[Need; 4]> = before_in_scan(checked, number).take(NEEDS - 1).collect();
    let all = checked.comm.as_ref().filter(|_| !needs.is_empty() && checked.is_sound);
    needs.push(all.map_or(otherwise, |comm| Need::Attendance { identity: comm.identity, number }));
    needs
}

/// Those before this process in a scan, from the last one back; nobody if there are no data.
fn before_in_scan(checked: &Checked<'_>, number: u64) -> impl Iterator<Item = Need> {
    let counts = [checked.shape.sent.count, checked.shape.received.count];
    let has_data = counts.into_iter().filter_map(|count| checked.int(count)).any(|count| count > 0);
    let is_known = has_data && checked.is_sound && shared().is_whole();
    let comm = checked.comm.as_ref().filter(|comm| is_known && comm.is_of_us());
    comm.into_iter().flat_map(move |comm| {
        let ranks = (0..comm.rank).rev().filter_map(|before| comm.world_rank(before));
        ranks.map(move |rank| Need::Entered { identity: comm.identity, number, rank })
    })
}

/// A call is about to be passed on.
pub(crate) fn enter(checked: &Checked<'_>, needs: &[Need], is_any: bool) {
    let Some(own) = own() else { return };
    if checked.function == FunctionId::MPI_Finalize {
        if objects::has_callbacks() {
            return;
        }
        own.sequence.fetch_add(1, Relaxed);
        own.state.store(state::OVER, Release);
        return;
    }
    let is_known = !(needs.is_empty() || is_any && needs.len() > NEEDS);
    if !is_known || needs.iter().all(|need| *need == Need::Nothing) {
        return;
    }
    let mark = Mark::of(checked.site);
    own.function.store(checked.function as u32, Relaxed);
    own.module.store(mark.module, Relaxed);
    own.offset.store(mark.offset, Relaxed);
    own.is_any.store(is_any, Relaxed);
    for (to, from) in own.needs.iter().zip(needs) {
        to.set(*from);
    }
    own.count.store(needs.len().min(NEEDS) as u32, Relaxed);
    own.sequence.fetch_add(1, Relaxed);
    own.state.store(state::BLOCKED, Release);
}

/// The call has returned.
pub(crate) fn leave(function: FunctionId) {
    let Some(own) = own() else { return };
    if own.state.load(Relaxed) != state::RUNNING {
        leave_slowly(own, function);
    }
}

#[cold]
fn leave_slowly(own: &RankState, function: FunctionId) {
    let was = own.state.load(Relaxed);
    if was == state::BLOCKED || was == state::POLLING && !polls::is_poll(function) {
        own.state.store(state::RUNNING, Release);
        own.sequence.fetch_add(1, Relaxed);
    }
}

/// Is the call one that waits for a message that it sends, receives or looks for?
pub(crate) fn is_blocking_message(checked: &Checked<'_>) -> bool {
    use FunctionId::{MPI_Bsend, MPI_Mprobe, MPI_Probe};
    checked.shape.timing == Timing::Blocking
        && checked.shape.class == FunctionClass::PointToPoint
        && checked.function != MPI_Bsend
        && (checked.shape.pattern != Pattern::Nothing
            || matches!(checked.function, MPI_Probe | MPI_Mprobe))
}

/// MPI has started. The first process of the host looks for deadlocks from now on, if `watches`. `has_threads`: others than this
/// thread may call MPI.
pub(crate) fn started(watches: bool, has_threads: bool, is_first: bool) {
    IS_OFF.store(!watches || has_threads, Relaxed);
    if watches && has_threads {
        tasks::note_own();
    }
    if rank() as usize >= RANKS {
        shared().reached(limit::RANKS);
    }
    if !watches || !is_first {
        return;
    }
    // Signals are for the application's threads.
    // SAFETY: the sets are this function's own, and filled by `sigfillset` before they are read.
    let before = unsafe {
        let mut all: libc::sigset_t = core::mem::zeroed();
        let mut before: libc::sigset_t = core::mem::zeroed();
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        before
    };
    let _ = thread::Builder::new().name("mpi-check".into()).stack_size(1 << 20).spawn(watch);
    // SAFETY: the set is what `pthread_sigmask` has written above.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &before, core::ptr::null_mut()) };
}

static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Nobody looks for deadlocks any more.
pub(crate) fn stop() {
    IS_OVER.store(true, Release);
}

/// What a rank of this host waits for, and since when, in calls.
fn waiting(rank: usize) -> Option<Waiting> {
    let of = &shared().ranks[rank];
    State::from_number(of.state.load(Acquire))
        .waits()
        .then(|| (rank as u32, of.sequence.load(Acquire)))
}

fn all_waiting() -> Vec<Waiting> {
    let size = (shared().size.load(Relaxed) as usize).min(RANKS);
    (0..size).filter_map(waiting).collect()
}

/// Who waits on this host, and since which call, as one number, which is not 0.
pub(crate) fn standing() -> u64 {
    number_of(&all_waiting())
}

fn number_of(waiting: &[Waiting]) -> u64 {
    let mut hasher = DefaultHasher::new();
    waiting.hash(&mut hasher);
    hasher.finish() | 1
}

/// A standstill that ends if one of its ranks stops polling.
struct Possible {
    standing: u64,
    ranks: Vec<u32>,
}

/// A program whose polling has ended by itself so often, when nobody could go on, is not told of it again.
const WITHDRAWN: usize = 3;

fn watch() {
    let begin = Instant::now();
    let mut patience = Patience::default();
    let mut exchange = Exchange::default();
    let mut possible: Option<Possible> = None;
    let mut withdrawn = 0;
    tasks::note_helper();
    let _quiet = sanitizer::Quiet::begin();
    while !IS_OVER.load(Acquire) {
        thread::sleep(Duration::from_millis(250));
        let shared = shared();
        if let Some(told) = possible.take_if(|told| told.standing != standing()) {
            withdrawn += 1;
            findings::withdraw(told.standing, &told.ranks);
        }
        if possible.is_some() {
            continue;
        }
        if !(shared.is_whole() || crate::hosts::is_on())
            || shared.has_reached(limit::MESSAGES | limit::DOUBT | limit::COLLECTIVES)
        {
            patience.forget();
            continue;
        }
        let size = (shared.size.load(Relaxed) as usize).min(RANKS);
        // Others may wait for what ranks of this host will not do any more.
        let is_over = || {
            let mut here = (0..size).filter(|rank| !crate::hosts::is_elsewhere(*rank as u32));
            let state = |rank: usize| shared.ranks[rank].state.load(Acquire);
            crate::hosts::is_on() && here.all(|rank| state(rank) == state::OVER)
        };
        if !patience.look(all_waiting(), is_over) || IS_OVER.load(Acquire) {
            continue;
        }
        let seen = seen::of_host(size);
        let mut how = patience.how(begin.elapsed(), &seen);
        if withdrawn == WITHDRAWN {
            how.polling.clear();
        }
        let waiting = all_waiting();
        if let Some(found) = seen.standstill(&how)
            && patience.is_same(&waiting)
        {
            if !found.has_polling() {
                tell::tell(&seen, &found, 0, 0);
                return;
            }
            let standing = number_of(&waiting);
            tell::tell(&seen, &found, standing, withdrawn);
            possible = Some(Possible { standing, ranks: found.ranks().collect() });
            continue;
        }
        if hosts::look(&mut exchange, &seen) {
            return;
        }
    }
}
