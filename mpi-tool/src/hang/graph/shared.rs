//! What many ranks ask of the others, found out once.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use mpi_facts::{FunctionId, Shape, Timing};

use super::{Collective, Condition, MOST, Members, Operation, Reason, State, What, Who, World};

/// A collective operation: what it is on, its number there, how many have failed, and which start it is.
type Key = (u64, u64, u64, Option<u64>, FunctionId);

/// Who holds locks of windows, by the windows and the targets (`None` of all), and whether they are exclusive.
type Holders = HashMap<u64, HashMap<Option<u32>, Vec<(u32, bool)>>>;

/// A lock that is wanted: the window, the target, and whether it is to be exclusive.
type Wanted = (u64, Option<u32>, bool);

/// Who holds locks that do not go with one that is wanted.
#[derive(Debug, Default, Clone)]
pub(super) struct InTheWay {
    /// Some of them, or all if `all` has none.
    pub(super) few: Vec<u32>,
    /// Those that may be more.
    pub(super) all: Option<Members>,
}

/// What has been found out.
#[derive(Debug, Default)]
pub(super) struct Shared {
    standings: RefCell<HashMap<Key, Rc<Standing>>>,
    outside: OnceCell<Vec<u32>>,
    unstarted: OnceCell<Vec<u32>>,
    unfinished: OnceCell<Vec<u32>>,
    senders: OnceCell<Senders>,
    holders: OnceCell<Holders>,
    in_the_way: RefCell<HashMap<Wanted, Rc<InTheWay>>>,
    /// Those that have locked all targets.
    of_all: RefCell<HashMap<Wanted, InTheWay>>,
    targets_outside: RefCell<HashMap<u64, Rc<[u32]>>>,
}

/// Who has come to a collective operation.
#[derive(Debug, Default)]
pub(super) struct Standing {
    /// Does nobody know that of some?
    pub(super) is_unknown: bool,
    /// Who has not come, and what is to happen.
    pub(super) missing: BTreeMap<u32, Reason>,
    /// The first of these in the order of the reasons; only those that have called something else, if some have.
    pub(super) first: Vec<(u32, Reason)>,
    pub(super) has_turned: bool,
    /// Those of whom one that can go on is enough, with those that have come and do not go on with it. Nothing if they are so
    /// many that this cannot be said.
    pub(super) some: Option<Vec<(u32, Reason)>>,
    /// Those that have come, and do not go on with it before their next call, or were stopped.
    pub(super) outside: Vec<u32>,
}

/// Who sends messages, to whom.
#[derive(Debug, Default)]
struct Senders {
    to: HashMap<u32, Vec<u32>>,
    /// To somebody that is not known.
    unknown: Vec<u32>,
}

impl World<'_> {
    /// Who has come to a collective operation.
    pub(super) fn standing(&self, collective: &Collective) -> Rc<Standing> {
        let Collective { on, number, failed, start, function, .. } = collective;
        let key = (*on, *number, *failed, *start, *function);
        if let Some(known) = self.shared.standings.borrow().get(&key) {
            return Rc::clone(known);
        }
        let found = Rc::new(self.find_standing(collective));
        self.shared.standings.borrow_mut().insert(key, Rc::clone(&found));
        found
    }

    fn find_standing(&self, collective: &Collective) -> Standing {
        let Collective { on, number, failed, start, function, members, .. } = collective;
        let mut standing = Standing::default();
        let is_blocking = Shape::looked_up(*function).timing == Timing::Blocking;
        let is_missing = Reason::Missing { number: *number, function: *function };
        for to in members.iter().flat_map(|group| group.iter()) {
            let Some(state) = self.states.get(&to) else {
                standing.missing.insert(to, is_missing);
                continue;
            };
            let reason = match state.progress.get(on) {
                // Which of theirs are the same operations is not known.
                Some(progress) if progress.failed != *failed => {
                    standing.is_unknown = true;
                    return standing;
                }
                Some(progress) if progress.number >= *number => {
                    let theirs = progress.last.get(number).filter(|theirs| *theirs != function);
                    let starts = state.starts.get(&(*on, *number)).copied();
                    match (theirs, start.zip(starts)) {
                        (Some(theirs), _) => {
                            let (on, number) = (*on, *number);
                            Reason::Mismatch { on, number, ours: *function, theirs: *theirs }
                        }
                        (None, Some((start, starts))) if starts < start => {
                            Reason::Again { number: *number, start, function: *function }
                        }
                        _ => {
                            let is_stopped = state.condition == Condition::Stopped;
                            if is_stopped || !is_blocking && self.is_outside(to) {
                                standing.outside.push(to);
                            }
                            continue;
                        }
                    }
                }
                Some(_) => is_missing,
                None if state.knows_all => is_missing,
                None => {
                    standing.is_unknown = true;
                    return standing;
                }
            };
            standing.missing.insert(to, reason);
        }
        // One that has begun another operation will never begin this one, whatever the others do.
        let mut first: Vec<(u32, Reason)> =
            standing.missing.iter().map(|(to, reason)| (*to, *reason)).collect();
        let is_turned = |reason: &Reason| matches!(reason, Reason::Mismatch { .. });
        standing.has_turned = first.iter().any(|(_, reason)| is_turned(reason));
        first.sort_by_key(|(_, reason)| *reason);
        let outside = standing.outside.iter().map(|to| (*to, Reason::Progress));
        standing.some = self.few_of(first.iter().copied().chain(outside).collect());
        if standing.has_turned {
            first.retain(|(_, reason)| is_turned(reason));
        }
        first.truncate(MOST + 1);
        standing.first = first;
        standing
    }

    /// Those of which one that can go on is enough: all if they are few, and some that surely can if they are many. `None` if
    /// none of many surely can.
    fn few_of(&self, ranks: Vec<(u32, Reason)>) -> Option<Vec<(u32, Reason)>> {
        if ranks.len() <= MOST {
            return Some(ranks);
        }
        let goes_on = |(rank, _): &(u32, Reason)| match self.states.get(rank) {
            Some(state) => match state.condition {
                Condition::Dead | Condition::Finalized => false,
                Condition::Still => state.calls.is_empty(),
                _ => true,
            },
            None => true,
        };
        let few: Vec<_> = ranks.into_iter().filter(goes_on).take(MOST).collect();
        (!few.is_empty()).then_some(few)
    }

    /// The ranks in their own code.
    pub(super) fn all_outside(&self) -> &[u32] {
        let all = self.states.keys().copied();
        self.shared.outside.get_or_init(|| all.filter(|rank| self.is_outside(*rank)).collect())
    }

    /// The first ranks that have not come to `MPI_Init`.
    pub(super) fn unstarted(&self) -> &[u32] {
        let is_missing = |rank: &u32| self.condition(*rank) == Condition::Missing;
        let find = || (0..self.size).filter(is_missing).take(MOST).collect();
        self.shared.unstarted.get_or_init(find)
    }

    /// The first ranks that have not come to `MPI_Finalize`.
    pub(super) fn unfinished(&self) -> &[u32] {
        let is_there = |rank: &u32| {
            let calls = self.states.get(rank).map_or(&[][..], |state| &state.calls);
            calls.iter().any(|call| call.function == FunctionId::MPI_Finalize)
                || matches!(self.condition(*rank), Condition::Finalized | Condition::Missing)
        };
        let find = || (0..self.size).filter(|rank| !is_there(rank)).take(MOST).collect();
        self.shared.unfinished.get_or_init(find)
    }

    /// Those that are on the way of sending something that may be for a rank.
    pub(super) fn senders_to(&self, rank: u32) -> impl Iterator<Item = u32> {
        let senders = self.shared.senders.get_or_init(|| self.find_senders());
        senders.to.get(&rank).into_iter().flatten().chain(&senders.unknown).copied()
    }

    fn find_senders(&self) -> Senders {
        let mut senders = Senders::default();
        for (from, state) in self.states {
            for message in state.messages().filter(|message| message.is_sent) {
                match &message.with {
                    Who::Rank(to) => senders.to.entry(*to).or_default().push(*from),
                    Who::Nobody => {}
                    Who::AnyOf(_) | Who::Unknown => senders.unknown.push(*from),
                }
            }
        }
        senders
    }

    /// Who holds locks of a window that do not go with one that is wanted, at a target or at all of them, and is in no call on
    /// it.
    pub(super) fn in_the_way(
        &self,
        window: u64,
        target: Option<u32>,
        is_exclusive: bool,
    ) -> Rc<InTheWay> {
        let key = (window, target, is_exclusive);
        if let Some(known) = self.shared.in_the_way.borrow().get(&key) {
            return Rc::clone(known);
        }
        let found = Rc::new(self.find_in_the_way(window, target, is_exclusive));
        self.shared.in_the_way.borrow_mut().insert(key, Rc::clone(&found));
        found
    }

    fn find_in_the_way(&self, window: u64, target: Option<u32>, is_exclusive: bool) -> InTheWay {
        let holders = self.shared.holders.get_or_init(|| self.find_holders());
        let Some(by_target) = holders.get(&window) else { return InTheWay::default() };
        let of = |target: &Option<u32>| {
            let all = by_target.get(target).map_or(&[][..], Vec::as_slice).iter();
            all.filter(move |(_, other)| is_exclusive || *other).map(|(rank, _)| *rank)
        };
        let Some(target) = target else {
            return InTheWay::of(by_target.keys().flat_map(of).collect());
        };
        // Who has locked all targets is the same for each of them.
        let of_target: Vec<u32> = of(&Some(target)).collect();
        let of_all = match by_target.get(&None) {
            Some(all) if all.len() > MOST && of_target.len() <= MOST => {
                let key = (window, None, is_exclusive);
                let mut known = self.shared.of_all.borrow_mut();
                let of_all = known.entry(key).or_insert_with(|| InTheWay::of(of(&None).collect()));
                of_all.clone()
            }
            _ => return InTheWay::of(of_target.into_iter().chain(of(&None)).collect()),
        };
        let few = of_target.into_iter().chain(of_all.few).collect();
        InTheWay { few, ..of_all }
    }

    fn find_holders(&self) -> Holders {
        let mut all = Holders::new();
        for (rank, state) in self.states {
            for lock in state.locks.iter().filter(|lock| !state.is_at(lock.window)) {
                let of_window = all.entry(lock.window).or_default();
                of_window.entry(lock.target).or_default().push((*rank, lock.is_exclusive));
            }
        }
        all
    }

    /// The first targets of a window that are in their own code.
    pub(super) fn targets_outside(&self, window: u64, targets: &Members) -> Rc<[u32]> {
        let mut known = self.shared.targets_outside.borrow_mut();
        let find = || {
            let all = self.all_outside().iter().copied();
            all.filter(|rank| targets.contains(*rank)).take(MOST + 1).collect()
        };
        Rc::clone(known.entry(window).or_insert_with(find))
    }
}

impl InTheWay {
    fn of(mut ranks: Vec<u32>) -> Self {
        ranks.sort_unstable();
        ranks.dedup();
        let has_more = ranks.len() > MOST;
        let all = has_more.then(|| ranks.iter().copied().map(Some).collect());
        ranks.truncate(MOST);
        Self { few: ranks, all }
    }
}

impl State {
    /// The messages of its calls that are about messages alone, and of its requests.
    pub(super) fn messages(&self) -> impl Iterator<Item = &super::Message> {
        let of_calls = self.calls.iter().flat_map(|call| match &call.what {
            What::Messages(messages) => messages.as_slice(),
            _ => &[],
        });
        of_calls.chain(&self.pending)
    }

    /// Is it in a call that waits for a window's lock, or for what it does there?
    fn is_at(&self, window: u64) -> bool {
        let on = |what: &What| matches!(what, What::Lock { window: on, .. } if *on == window);
        self.calls.iter().any(|call| on(&call.what))
    }
}

impl Operation {
    /// Is it a message?
    pub(super) fn message(&self) -> Option<&super::Message> {
        match self {
            Self::Message(message) => Some(message),
            Self::Collective(_) => None,
        }
    }
}
