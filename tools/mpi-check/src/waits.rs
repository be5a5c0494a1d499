//! What each rank waits for, and deadlocks: who can never go on.
//!
//! Each rank writes what its blocking call needs to shared memory. A thread of one rank of the host looks at them four
//! times a second. It reads memory, calls no MPI and sends nothing. A rank can go on if it is not in a blocking call, if
//! what it needs is there, or if somebody who can go on may still do it. What is not known counts as able to go on. Those
//! that are left, and have been at the same call in five looks, wait for ever, however busy the machine is.

use core::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::fmt::Write as _;
use std::thread;
use std::time::Duration;

use mpi_facts::{Pattern, Timing};
use mpi_tool_layer::{FunctionClass, FunctionId};

use crate::arguments::Checked;
use crate::collectives;
use crate::findings::{Class, Other, Place, rank, report_of};
use crate::hosts;
use crate::messages::{self, Receive, Send, Wanted};
use crate::places::{self, Mark};
use crate::shared::{RANKS, limit, shared};

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
}

mod state {
    /// In its own code, or in a call that waits for nobody.
    pub(super) const RUNNING: u32 = 0;
    pub(super) const BLOCKED: u32 = 1;
    /// In `MPI_Finalize`, or past it.
    pub(super) const OVER: u32 = 2;
}

/// What a call needs to return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// Nothing, or nobody knows.
    Nothing,
    /// A message.
    Message(Wanted),
    /// Somebody who receives a message, by its key.
    Receiver { key: u64, target: u32 },
    /// All others in a collective operation, or its root.
    Collective { identity: u64, number: u64, root_only: bool },
}

#[repr(C)]
struct NeedState {
    kind: AtomicU32,
    words: [AtomicU64; 3],
}

impl NeedState {
    fn set(&self, need: Need) {
        let (kind, words) = match need {
            Need::Nothing => (0, [0; 3]),
            Need::Message(Wanted { identity, source, tag }) => {
                let source = source.map_or(u64::MAX, u64::from);
                (1, [identity, source, tag.map_or(u64::MAX, |tag| tag as u64)])
            }
            Need::Receiver { key, target } => (2, [key, target.into(), 0]),
            Need::Collective { identity, number, root_only } => {
                (3, [identity, number, root_only.into()])
            }
        };
        for (to, from) in self.words.iter().zip(words) {
            to.store(from, Relaxed);
        }
        self.kind.store(kind, Relaxed);
    }

    fn get(&self) -> Need {
        let [one, two, three] = [0, 1, 2].map(|at: usize| self.words[at].load(Relaxed));
        match self.kind.load(Relaxed) {
            1 => Need::Message(Wanted {
                identity: one,
                source: (two != u64::MAX).then_some(two as u32),
                tag: (three != u64::MAX).then_some(three as i64),
            }),
            2 => Need::Receiver { key: one, target: two as u32 },
            3 => Need::Collective { identity: one, number: two, root_only: three != 0 },
            _ => Need::Nothing,
        }
    }
}

/// Several threads may call MPI: nobody knows what a rank needs then.
static IS_OFF: AtomicBool = AtomicBool::new(true);

fn own() -> Option<&'static RankState> {
    if IS_OFF.load(Relaxed) {
        return None;
    }
    shared().ranks.get(rank() as usize)
}

/// Receives without a number have come or gone.
pub(crate) fn set_open(open: usize) {
    if let Some(own) = own() {
        own.open.store(open as u32, Release);
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
    Need::Message(receive.wanted())
}

/// What a collective operation needs on this rank, once it is started.
pub(crate) fn of_collective(checked: &Checked<'_>, number: u64) -> Need {
    let Some(comm) = checked.comm.as_ref().filter(|comm| !comm.is_inter && number != 0) else {
        return Need::Nothing;
    };
    let shape = checked.shape;
    let has_counts = shape.sent.array_of_counts || shape.received.array_of_counts;
    let is_empty = [shape.sent.count, shape.received.count]
        .into_iter()
        .any(|count| checked.int(count) == Some(0));
    if shape.class == FunctionClass::Neighborhood || has_counts || is_empty || !checked.is_sound {
        return Need::Nothing;
    }
    if checked.facts.is_scan {
        return Need::Nothing;
    }
    let is_root = checked.is_root();
    let root_only = match shape.pattern {
        Pattern::Broadcast | Pattern::Scatter if is_root => return Need::Nothing,
        Pattern::Broadcast | Pattern::Scatter => true,
        Pattern::Gather | Pattern::Reduce if !is_root => return Need::Nothing,
        _ => false,
    };
    Need::Collective { identity: comm.identity, number, root_only }
}

/// A call is about to be passed on.
pub(crate) fn enter(checked: &Checked<'_>, needs: &[Need], is_any: bool) {
    let Some(own) = own() else { return };
    if checked.function == FunctionId::MPI_Finalize {
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
pub(crate) fn leave() {
    let Some(own) = own() else { return };
    if own.state.load(Relaxed) == state::BLOCKED {
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

/// MPI has started, for one thread if `watches`. The first process of the host looks for deadlocks from now on.
pub(crate) fn started(watches: bool, is_first: bool) {
    IS_OFF.store(!watches, Relaxed);
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

/// How many looks must show the same.
const LOOKS: u32 = 5;

fn watch() {
    let mut before: Vec<(u32, u64)> = Vec::new();
    let mut same = 0;
    while !IS_OVER.load(Acquire) {
        thread::sleep(Duration::from_millis(250));
        let shared = shared();
        if !(shared.is_whole() || hosts::is_on())
            || shared.has_reached(limit::MESSAGES | limit::ORDER | limit::COLLECTIVES)
        {
            before.clear();
            continue;
        }
        let size = (shared.size.load(Relaxed) as usize).min(RANKS);
        let blocked = |rank: usize| {
            let of = &shared.ranks[rank];
            (of.state.load(Acquire) == state::BLOCKED)
                .then(|| (rank as u32, of.sequence.load(Acquire)))
        };
        let waiting: Vec<_> = (0..size).filter_map(blocked).collect();
        if waiting.is_empty() || waiting != before {
            before = waiting;
            same = 0;
            continue;
        }
        same += 1;
        if same < LOOKS || IS_OVER.load(Acquire) {
            continue;
        }
        let stuck = stuck(size);
        let still: Vec<_> = (0..size).filter_map(blocked).collect();
        if !stuck.is_empty() && still == before {
            tell(&stuck);
            return;
        }
        // It will be the same until somebody moves.
        if same > LOOKS + 8 {
            same = LOOKS - 4;
        }
    }
}

/// The ranks that can never go on.
fn stuck(size: usize) -> Vec<usize> {
    let ranks = &shared().ranks[..size];
    let under_way = messages::under_way();
    let mut can_go: Vec<bool> =
        ranks.iter().map(|rank| rank.state.load(Acquire) == state::RUNNING).collect();
    loop {
        let mut changed = false;
        for rank in 0..size {
            if can_go[rank] || ranks[rank].state.load(Acquire) != state::BLOCKED {
                continue;
            }
            let count = (ranks[rank].count.load(Relaxed) as usize).min(NEEDS);
            let may = |need: &NeedState| may_come(need.get(), rank, &can_go, &under_way);
            let mut needs = ranks[rank].needs[..count].iter();
            let goes = match ranks[rank].is_any.load(Relaxed) {
                true => needs.any(may),
                false => needs.all(may),
            };
            if goes {
                can_go[rank] = true;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    (0..size)
        .filter(|rank| !can_go[*rank] && ranks[*rank].state.load(Acquire) == state::BLOCKED)
        .collect()
}

/// Is there what a rank needs, or may it still come?
fn may_come(need: Need, rank: usize, can_go: &[bool], under_way: &[messages::Channel]) -> bool {
    let others = || can_go.iter().enumerate().any(|(other, goes)| *goes && other != rank);
    let goes = |rank: u32| can_go.get(rank as usize).copied().unwrap_or(true);
    match need {
        Need::Nothing => true,
        Need::Message(wanted) => {
            under_way.iter().any(|message| {
                message.target as usize == rank
                    && message.identity == wanted.identity
                    && wanted.source.is_none_or(|source| source == message.source)
                    && wanted.tag.is_none_or(|tag| tag == message.tag)
            }) || wanted.source.map_or_else(others, goes)
        }
        Need::Receiver { key, target } => {
            let open = shared().ranks.get(target as usize).map_or(1, |of| of.open.load(Acquire));
            !messages::is_unasked(key) || open > 0 || goes(target)
        }
        Need::Collective { identity, number, root_only } => {
            collectives::is_over(identity, number, root_only) || others()
        }
    }
}

/// What a rank waits for, in words.
fn sentence(rank: usize) -> (FunctionId, Mark, String) {
    let of = &shared().ranks[rank];
    let function =
        FunctionId::from_index(of.function.load(Relaxed) as usize).unwrap_or(FunctionId::MPI_Wait);
    let mark = Mark { module: of.module.load(Relaxed), offset: of.offset.load(Relaxed) };
    let place = places::of_mark(mark);
    let mut text = format!("rank {rank} in {function}");
    if !place.is_empty() {
        let _ = write!(text, " at {place}");
    }
    let count = (of.count.load(Relaxed) as usize).min(NEEDS);
    let needs: Vec<_> = of.needs[..count].iter().map(NeedState::get).collect();
    let need = needs.into_iter().find(|need| *need != Need::Nothing);
    let over = |rank: u32| {
        let state = shared().ranks.get(rank as usize).map(|of| of.state.load(Relaxed));
        if state == Some(state::OVER) { ", which is in MPI_Finalize" } else { "" }
    };
    let _ = match need {
        Some(Need::Message(Wanted { source: Some(source), tag, .. })) => {
            let tag = tag.map_or_else(String::new, |tag| format!(" with tag {tag}"));
            write!(text, " waits for a message{tag} from rank {source}{}", over(source))
        }
        Some(Need::Message(_)) => write!(text, " waits for a message from anybody"),
        Some(Need::Receiver { target, .. }) => {
            write!(text, " waits for rank {target} to receive its message{}", over(target))
        }
        Some(Need::Collective { .. }) => write!(text, " waits for the other ranks to call it, too"),
        _ => Ok(()),
    };
    (function, mark, text)
}

fn tell(stuck: &[usize]) {
    let sentences: Vec<_> = stuck.iter().take(8).map(|rank| sentence(*rank)).collect();
    let mut text = String::from("these ranks wait for ever: ");
    for (number, (_, _, sentence)) in sentences.iter().enumerate() {
        let comma = if number == 0 { "" } else { "; " };
        let _ = write!(text, "{comma}{sentence}");
    }
    if stuck.len() > sentences.len() {
        let _ = write!(text, "; and {} more", stuck.len() - sentences.len());
    }
    let (function, mark, _) = sentences[0];
    let place = places::of_mark(mark);
    let other = sentences.get(1).map(|(_, mark, _)| Other::at("the next one is at", *mark));
    let ranks: Vec<u32> = stuck.iter().map(|rank| *rank as u32).collect();
    let place = Place::Text(&place);
    report_of(Class::Deadlock, function, place, "deadlock", &text, other, &ranks);
}
