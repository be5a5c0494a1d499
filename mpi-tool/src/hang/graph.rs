//! Who waits for whom, and who is to blame: states of ranks in, verdict out. Nothing here reads files or the clock.
//!
//! A rank that waits needs others: all of them (a receive from one rank, a collective operation that some have not
//! begun), or any (a receive from any source, several requests of which nobody knows which are complete). A rank can
//! go on if it does not wait, or if those that it needs can go on. Ranks of which that cannot be said are stuck, and
//! whoever waits for them is, too. What is not known counts as able to go on: a miss is better than a false alarm.
//!
//! Worlds may have many ranks, and most of them wait for the same: what that is, is found out once, and of many ranks
//! that one waits for, a few are kept.

mod members;
mod needs;
mod path;
mod shared;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use mpi_facts::FunctionId;

pub(super) use members::Members;
use path::{OnPath, shortest};
use shared::Shared;

/// What is known of a rank.
#[derive(Debug, Clone)]
pub(super) struct State {
    pub(super) condition: Condition,
    /// What its threads do that are in MPI; empty if none is.
    pub(super) calls: Vec<Doing>,
    /// The messages of its requests that are not complete.
    pub(super) pending: Vec<Message>,
    /// The collective operations on the communicators, windows and files that it knows, by their identities.
    pub(super) progress: BTreeMap<u64, Progress>,
    /// How often persistent collective operations were started, by what they are on and their numbers there.
    pub(super) starts: BTreeMap<(u64, u64), u64>,
    /// Are these all?
    pub(super) knows_all: bool,
    /// The window locks that it holds.
    pub(super) locks: Vec<Lock>,
    /// Its epochs, by the windows' identities and the ranks that they are with; `None` if not all are known.
    pub(super) epochs: Option<BTreeMap<(u64, u32), Epochs>>,
}

/// How many epochs of a window a rank has had with another one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Epochs {
    /// How often it has opened the window to the other one.
    pub(super) posted: u64,
    /// How often it has begun to reach the other one's window.
    pub(super) started: u64,
    /// How many of these are over.
    pub(super) completed: u64,
    /// How many of those that it has opened the window for are over.
    pub(super) waited: u64,
}

/// A window's lock that a rank holds, or has asked for and believes to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Lock {
    /// The window's identity.
    pub(super) window: u64,
    /// As a rank of the world; `None` for all.
    pub(super) target: Option<u32>,
    pub(super) is_exclusive: bool,
}

/// How a rank is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Condition {
    /// It has made calls from one reading to the next.
    Moving,
    /// It has made no calls.
    Still,
    /// A signal has stopped it.
    Stopped,
    /// Its process is gone, or has ended without `MPI_Finalize`, and others' processes are there.
    Dead,
    /// It has left MPI.
    Finalized,
    /// It has no file.
    Missing,
}

/// A call that a thread is in.
#[derive(Debug, Clone)]
pub(super) struct Doing {
    pub(super) function: FunctionId,
    pub(super) what: What,
}

/// What a call waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum What {
    /// Nothing that others do, or nobody knows.
    Nothing,
    /// That the messages move: both of `MPI_Sendrecv`.
    Messages(Vec<Message>),
    /// That requests are complete: all of them, or one. `is_known` says whether all of them are known.
    Requests { of: Vec<Operation>, is_all: bool, is_known: bool },
    /// That all come to a collective operation.
    Collective(Collective),
    /// That all of the own group come to `MPI_Intercomm_create`, and the other group's leader if this one is a leader; `leader`
    /// is the own group's.
    Between { group: Collective, leaders: Option<Collective>, leader: Option<u32> },
    /// That a window is unlocked by others, or that what one does at these targets is done there. `target` is `None` if
    /// that is all of them.
    Lock { window: u64, target: Option<u32>, targets: Members, is_exclusive: bool },
    /// That others open a window to it, or are ready with what they do in its own (`is_target`).
    Epoch { window: u64, is_target: bool },
    /// That all start MPI.
    Start,
    /// That all finalize.
    Finalize,
    /// That processes of another world do something. What they do is not judged.
    World(Far),
    /// Something outside of MPI, in words.
    Outside(&'static str),
}

/// Processes of another world: those that were spawned, or have connected, or have spawned this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Far {
    /// Have they spawned this world?
    pub(super) have_spawned: bool,
    /// Which one of them, if it is one.
    pub(super) rank: Option<u32>,
    /// How many they are.
    pub(super) size: u64,
}

/// What a request is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operation {
    /// A message.
    Message(Message),
    /// A collective operation.
    Collective(Collective),
}

/// A message that is to be sent or received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) is_sent: bool,
    pub(super) with: Who,
    /// `None` of any.
    pub(super) tag: Option<i32>,
    /// Are all of its parts ready? Most messages have one, which is.
    pub(super) is_ready: bool,
    /// The communicator's identity.
    pub(super) comm: Option<u64>,
}

impl Message {
    /// Could one tag and communicator be both messages'?
    fn is_alike(&self, other: &Self) -> bool {
        let tags = match (self.tag, other.tag) {
            (Some(ours), Some(theirs)) => ours == theirs,
            _ => true,
        };
        let comms = match (self.comm, other.comm) {
            (Some(ours), Some(theirs)) => ours == theirs,
            _ => true,
        };
        tags && comms
    }
}

/// The other side of a message, as ranks of the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Who {
    /// This one.
    Rank(u32),
    /// Any of these.
    AnyOf(Members),
    /// `MPI_PROC_NULL`.
    Nobody,
    /// Not of this world, or on a communicator that nobody knows.
    Unknown,
}

impl Who {
    /// Is it this rank, or can nobody say that it is not?
    fn may_be(&self, rank: u32) -> bool {
        match self {
            Self::Rank(this) => *this == rank,
            Self::AnyOf(ranks) => ranks.contains(rank),
            Self::Nobody => false,
            Self::Unknown => true,
        }
    }
}

/// A collective operation on something with an identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Collective {
    pub(super) on: u64,
    pub(super) number: u64,
    /// How many of these have returned an error to this rank.
    pub(super) failed: u64,
    /// Of a persistent one: which start this is, from 1.
    pub(super) start: Option<u64>,
    pub(super) function: FunctionId,
    /// World ranks of both groups; nobody is in the second one where there is one group.
    pub(super) members: [Members; 2],
    pub(super) needs: Needs,
}

/// Whom a collective operation cannot end without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// All its members: a barrier, a reduction to all.
    All,
    /// This rank of the world, the root that gives something, and some of the others.
    Root(u32),
    /// Some of the others, and nobody knows which: the way to or from a root leads by way of them.
    Some,
}

/// How many collective operations a rank has begun on something, and which the last ones were.
#[derive(Debug, Clone, Default)]
pub(super) struct Progress {
    pub(super) number: u64,
    /// How many of these have returned an error.
    pub(super) failed: u64,
    pub(super) last: BTreeMap<u64, FunctionId>,
}

/// Why a rank waits for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// It is to call another function as the same operation on a communicator.
    Mismatch { on: u64, number: u64, ours: FunctionId, theirs: FunctionId },
    /// It is to begin a collective operation.
    Missing { number: u64, function: FunctionId },
    /// It is to start a persistent collective operation, so many times in all.
    Again { number: u64, start: u64, function: FunctionId },
    /// It is the leader of this one's group, and is to find the other group's.
    Lead,
    /// It is to make all parts of its message ready.
    Ready,
    /// It is to send.
    Send,
    /// It is to receive.
    Receive,
    /// It is to unlock a window.
    Unlock,
    /// It is to open its window (`MPI_Win_post`).
    Post,
    /// It is to be ready with this rank's window (`MPI_Win_complete`).
    Complete,
    /// It is to call MPI, which goes on with what others have asked for in the calls of a rank only.
    Progress,
    /// It is to start MPI.
    Start,
    /// It is to finalize.
    Finalize,
}

/// One rank waits for another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Edge {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) reason: Reason,
    /// Would another one do, too?
    pub(super) is_choice: bool,
}

/// What has come out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) kind: Kind,
    /// All waits, in the ranks' order.
    pub(super) edges: Vec<Edge>,
    /// The waits of the cycle, or those that lead to who is gone.
    pub(super) path: Vec<Edge>,
    /// The ranks that can never go on.
    pub(super) stuck: BTreeSet<u32>,
    pub(super) culprits: Vec<Culprit>,
    /// Of ranks that have threads in several calls: which of these calls it is for which they are named.
    pub(super) calls: BTreeMap<u32, usize>,
}

/// Which sort of verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Ranks wait for each other, or for one that is gone: nothing will go on by itself.
    Deadlock,
    /// Ranks wait for others, which may go on.
    Waiting,
    /// Nobody waits for another rank.
    Running,
}

/// A rank that others wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Culprit {
    pub(super) rank: u32,
    pub(super) why: Why,
}

/// What it does instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Why {
    /// It is in a cycle of waits.
    Cycle,
    /// It waits for a rank that has gone, in vain.
    InVain,
    /// It has begun another operation than the others.
    Mismatch,
    /// It is in `MPI_Finalize`, and will do nothing any more that others wait for.
    Finalizing,
    /// Its process is gone.
    Dead,
    /// It has left MPI.
    Finalized,
    /// It has no file.
    Missing,
    /// A signal has stopped it.
    Stopped,
    /// It is in its own code.
    Computing,
    /// It waits for processes of another world.
    World(Far),
    /// It waits for something outside of MPI's ranks.
    Outside(&'static str),
    /// It is in a call of which nobody knows whom it waits for.
    InCall,
}

/// Whom a call needs.
enum Need {
    /// Nobody.
    Nothing,
    /// All, or one of these.
    Ranks { edges: Vec<Edge>, any: bool },
    /// One of many ranks, of which these edges show some.
    OneOf { edges: Vec<Edge>, all: Members },
}

/// Whom a rank needs.
struct Wait {
    edges: Vec<Edge>,
    /// Is one of them enough?
    any: bool,
    /// One of these is enough as well.
    others: Option<Members>,
}

/// The waits by which ranks that can never go on are named. Of several that may be the one, those for a receiver are left out if
/// there are others: MPI has most often sent the message all the same.
fn likeliest(
    needs: &BTreeMap<u32, Wait>,
    stuck: &BTreeSet<u32>,
    is_gone: impl Fn(u32) -> bool,
) -> BTreeMap<u32, Wait> {
    let of = |wait: &Wait| {
        let is_vain = |edge: &&Edge| stuck.contains(&edge.to) || is_gone(edge.to);
        let is_likely = |edge: &&Edge| edge.reason != Reason::Receive;
        let has_likely = wait.any && wait.edges.iter().filter(is_likely).any(|edge| is_vain(&edge));
        let edges = wait.edges.iter().filter(|edge| !has_likely || is_likely(edge)).copied();
        Wait { edges: edges.collect(), any: wait.any, others: wait.others.clone() }
    };
    needs.iter().map(|(rank, wait)| (*rank, of(wait))).collect()
}

/// So many of the ranks that one waits for are kept.
const MOST: usize = 64;

/// All ranks of a world: those that are not in `states` have no file.
pub(super) struct World<'a> {
    size: u32,
    states: &'a BTreeMap<u32, State>,
    shared: Shared,
}

impl<'a> World<'a> {
    pub(super) fn new(size: u32, states: &'a BTreeMap<u32, State>) -> Self {
        Self { size, states, shared: Shared::default() }
    }

    fn condition(&self, rank: u32) -> Condition {
        self.states.get(&rank).map_or(Condition::Missing, |state| state.condition)
    }

    /// The verdict.
    pub(super) fn judge(&self) -> Verdict {
        let needs: BTreeMap<u32, Wait> = self
            .states
            .iter()
            .filter_map(|(rank, state)| match self.needs(*rank, state) {
                Need::Nothing => None,
                Need::Ranks { edges, any } => Some((*rank, Wait { edges, any, others: None })),
                Need::OneOf { edges, all } => {
                    Some((*rank, Wait { edges, any: true, others: Some(all) }))
                }
            })
            .collect();
        let edges: Vec<Edge> = needs.values().flat_map(|wait| &wait.edges).copied().collect();
        let is_gone =
            |rank: u32| matches!(self.condition(rank), Condition::Dead | Condition::Finalized);
        let stuck = self.stuck(&needs, is_gone);
        if stuck.is_empty() {
            return self.waiting(edges);
        }
        let path = shortest(&likeliest(&needs, &stuck, is_gone), &stuck, is_gone);
        let on_path = OnPath::of(&path);
        let mut culprits: Vec<Culprit> = path
            .iter()
            .flat_map(|edge| [edge.from, edge.to])
            .collect::<BTreeSet<_>>()
            .into_iter()
            .map(|rank| Culprit { rank, why: self.why_in(rank, &on_path) })
            .collect();
        // Of several messages that a rank waits for, nobody knows which is the one: all that it may be are named.
        for edge in path.iter().filter(|edge| edge.is_choice && self.waits_for_several(edge.from)) {
            let alike = |other: &&Edge| {
                other.reason == edge.reason && (is_gone(other.to) || stuck.contains(&other.to))
            };
            for other in needs[&edge.from].edges.iter().filter(alike) {
                if !culprits.iter().any(|known| known.rank == other.to) {
                    culprits.push(Culprit { rank: other.to, why: self.why_in(other.to, &on_path) });
                }
            }
        }
        // Who is gone or has turned away comes first, and then who waits in vain.
        culprits.sort_by_key(|culprit| {
            (culprit.why == Why::InVain, culprit.why == Why::Cycle, culprit.rank)
        });
        let calls = path.iter().filter_map(|edge| Some((edge.from, self.call_of(edge)?))).collect();
        Verdict { kind: Kind::Deadlock, edges, path, stuck, culprits, calls }
    }

    /// Does a rank wait for several messages, each of which has a rank that it comes from or goes to?
    fn waits_for_several(&self, rank: u32) -> bool {
        let calls = self.states.get(&rank).map_or(&[][..], |state| &state.calls);
        calls.iter().any(|call| match &call.what {
            What::Requests { of, .. } => of.len() > 1,
            What::Messages(messages) => messages.len() > 1,
            _ => false,
        })
    }

    /// The ranks that can never go on: what is left when all that can has been taken out.
    fn stuck(&self, needs: &BTreeMap<u32, Wait>, is_gone: impl Fn(u32) -> bool) -> BTreeSet<u32> {
        let mut stuck: BTreeSet<u32> = needs.keys().copied().collect();
        let mut waiting: HashMap<u32, Vec<u32>> = HashMap::new();
        for edge in needs.values().flat_map(|wait| &wait.edges) {
            waiting.entry(edge.to).or_default().push(edge.from);
        }
        // Those that may be able to go on.
        let mut open: Vec<u32> = stuck.iter().copied().collect();
        loop {
            while let Some(rank) = open.pop() {
                if !stuck.contains(&rank) {
                    continue;
                }
                let goes_on = |edge: &Edge| {
                    let turned_away = matches!(edge.reason, Reason::Mismatch { .. });
                    !turned_away && !is_gone(edge.to) && !stuck.contains(&edge.to)
                };
                let Wait { edges, any, .. } = &needs[&rank];
                let is_free =
                    if *any { edges.iter().any(goes_on) } else { edges.iter().all(goes_on) };
                if is_free {
                    stuck.remove(&rank);
                    open.extend(waiting.get(&rank).into_iter().flatten());
                }
            }
            // Those that wait for one of many, by groups of many.
            let mut known = HashMap::new();
            for rank in &stuck {
                let Some(many) = &needs[rank].others else { continue };
                let is_free = *known.entry(many.identity()).or_insert_with(|| {
                    many.iter().any(|one| !is_gone(one) && !stuck.contains(&one))
                });
                if is_free {
                    open.push(*rank);
                }
            }
            if open.is_empty() {
                return stuck;
            }
            for rank in std::mem::take(&mut open) {
                stuck.remove(&rank);
                open.extend(waiting.get(&rank).into_iter().flatten());
            }
        }
    }

    /// Why a rank on the path is named.
    fn why_in(&self, rank: u32, path: &OnPath) -> Why {
        match self.condition(rank) {
            Condition::Dead => return Why::Dead,
            Condition::Finalized => return Why::Finalized,
            _ => {}
        }
        if path.turned_away.contains(&rank) {
            return Why::Mismatch;
        }
        let calls = self.states.get(&rank).map_or(&[][..], |state| &state.calls);
        if calls.iter().any(|call| call.what == What::Finalize) {
            return Why::Finalizing;
        }
        if path.is_circle { Why::Cycle } else { Why::InVain }
    }

    /// Nobody is stuck: who is waited for and does not wait.
    fn waiting(&self, edges: Vec<Edge>) -> Verdict {
        let waiting: BTreeSet<u32> = edges.iter().map(|edge| edge.from).collect();
        let awaited: BTreeSet<u32> =
            edges.iter().map(|edge| edge.to).filter(|to| !waiting.contains(to)).collect();
        let mut culprits = Vec::new();
        for rank in 0..self.size {
            let calls = self.states.get(&rank).map_or(&[][..], |state| &state.calls);
            let outside = calls.iter().find_map(|call| match call.what {
                What::Outside(what) => Some(Why::Outside(what)),
                What::World(far) => Some(Why::World(far)),
                What::Collective(_) if is_spawn(call.function) && !waiting.contains(&rank) => {
                    let what = "the processes that it spawns, which have not started MPI";
                    Some(Why::Outside(what))
                }
                _ => None,
            });
            let why = match (self.condition(rank), outside) {
                (Condition::Stopped, _) => Why::Stopped,
                (Condition::Dead, _) => Why::Dead,
                (Condition::Still, Some(why)) => why,
                _ if !awaited.contains(&rank) => continue,
                (Condition::Moving, _) => continue,
                (Condition::Finalized, _) => Why::Finalized,
                (Condition::Missing, _) => Why::Missing,
                (Condition::Still, None) if calls.is_empty() => Why::Computing,
                (Condition::Still, None) => Why::InCall,
            };
            culprits.push(Culprit { rank, why });
        }
        let kind =
            if edges.is_empty() && culprits.is_empty() { Kind::Running } else { Kind::Waiting };
        let (path, stuck, calls) = (Vec::new(), BTreeSet::new(), BTreeMap::new());
        Verdict { kind, edges, path, stuck, culprits, calls }
    }
}

/// Does a function wait for processes that are not in the world?
const fn is_spawn(function: FunctionId) -> bool {
    matches!(function, FunctionId::MPI_Comm_spawn | FunctionId::MPI_Comm_spawn_multiple)
}

#[cfg(test)]
mod tests;
