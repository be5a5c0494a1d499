//! What the ranks waited for at one moment, and who of them can never go on.

use core::sync::atomic::Ordering::{Acquire, Relaxed};
use std::fmt::Write as _;

use mpi_tool_layer::FunctionId;

use super::locks::{self, Lock};
use super::{How, NEEDS, Need, NeedState, RankState, state};
use crate::collectives;
use crate::exposures;
use crate::findings::{Class, Other, Place, ranks_text, report_of};
use crate::hosts;
use crate::messages::{self, Channel, Wanted};
use crate::names;
use crate::places::{self, Mark};
use crate::remotes;
use crate::shared::shared;

/// A rank.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SeenRank {
    pub(super) state: u32,
    pub(super) sequence: u64,
    pub(super) function: u32,
    pub(super) mark: Mark,
    pub(super) is_any: bool,
    pub(super) needs: Vec<Need>,
    pub(super) open: u32,
    pub(super) sent: u64,
    pub(super) taken: u64,
    /// Identities of communicators, the last collective operation on each, and how many processes it has.
    pub(super) entered: Vec<[u64; 3]>,
    pub(super) has_forgotten: bool,
    /// Windows that it has locked. Not told to other hosts.
    pub(super) locks: Vec<Lock>,
}

impl SeenRank {
    pub(super) fn of(rank: &RankState) -> Self {
        let count = (rank.count.load(Relaxed) as usize).min(NEEDS);
        let state = match rank.state.load(Acquire) {
            // Another thread may do what it waits for.
            state::BLOCKED | state::POLLING if !rank.tasks.has_one_caller() => state::RUNNING,
            state => state,
        };
        let entered = rank.entered.iter().map(|it| {
            let number = it.number.load(Acquire);
            [it.identity.load(Relaxed), number, it.size.load(Relaxed)]
        });
        Self {
            state,
            sequence: rank.sequence.load(Acquire),
            function: rank.function.load(Relaxed),
            mark: Mark { module: rank.module.load(Relaxed), offset: rank.offset.load(Relaxed) },
            is_any: rank.is_any.load(Relaxed),
            needs: rank.needs[..count].iter().map(NeedState::get).collect(),
            open: rank.open.load(Acquire),
            taken: rank.taken.load(Acquire),
            sent: rank.sent.load(Relaxed),
            entered: entered.filter(|[identity, ..]| *identity != 0).collect(),
            has_forgotten: rank.has_forgotten.load(Relaxed),
            locks: locks::of(&rank.locks),
        }
    }

    fn is_blocked(&self) -> bool {
        self.state == state::BLOCKED
    }

    /// May it get any message of a rank, for all that is known of what it asks for?
    fn may_get_from(&self, rank: u32) -> bool {
        let is_for = |need: &Need| {
            matches!(need, Need::Message(wanted)
            if wanted.source.is_none_or(|source| source == rank))
        };
        self.open > 0 || self.needs.iter().any(is_for)
    }

    /// Has it entered a collective operation? Yes if nobody knows.
    fn may_have_entered(&self, identity: u64, number: u64) -> bool {
        let known = self.entered.iter().find(|[known, ..]| *known == identity);
        known.map_or(self.has_forgotten, |[_, last, _]| *last >= number)
    }
}

/// All ranks at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// By their ranks in the world.
    pub(super) ranks: Vec<SeenRank>,
    /// Messages that have been sent and not received.
    pub(super) under_way: Vec<Channel>,
    /// The keys of those that nobody has asked for.
    pub(super) unasked: Vec<u64>,
    /// The keys of others that are known where they are received.
    pub(super) asked: Vec<u64>,
    /// The ranks are of several hosts, and so are the messages.
    pub(super) is_of_all: bool,
}

impl Seen {
    /// The ranks of this host.
    pub(super) fn of_host(size: usize) -> Self {
        let ranks = shared().ranks[..size].iter().map(SeenRank::of).collect();
        let (unasked, asked) = messages::keys();
        Self { ranks, under_way: messages::under_way(), unasked, asked, is_of_all: false }
    }

    /// The ranks that can never go on.
    pub(super) fn stuck(&self, how: &How) -> Vec<usize> {
        let ranks = &self.ranks;
        let mut can_go: Vec<bool> = (0..ranks.len())
            .map(|at| match ranks[at].state {
                state::RUNNING => true,
                state::POLLING => !how.polling.contains(&at),
                _ => false,
            })
            .collect();
        let waits = |rank: &SeenRank| matches!(rank.state, state::BLOCKED | state::POLLING);
        loop {
            let mut changed = false;
            for (at, rank) in ranks.iter().enumerate() {
                if !can_go[at] && waits(rank) && self.may_go(at, how, &can_go) {
                    can_go[at] = true;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        (0..ranks.len()).filter(|rank| !can_go[*rank] && waits(&ranks[*rank])).collect()
    }

    /// May a rank that waits go on, once some others can?
    fn may_go(&self, at: usize, how: &How, can_go: &[bool]) -> bool {
        let rank = &self.ranks[at];
        let mut needs = (0..rank.needs.len()).map(|number| {
            let need = rank.needs[number];
            // Each of several receives that ask for the same needs a message of its own.
            let same = rank.needs[..number].iter().filter(|other| **other == need).count();
            self.may_come(need, same, at, how, can_go)
        });
        if rank.is_any {
            return needs.any(|may| may);
        }
        needs.all(|may| may) && self.has_message_for_each(at, can_go)
    }

    /// May somebody who can go on send what a rank asks for?
    fn may_be_sent(&self, wanted: Wanted, rank: usize, can_go: &[bool]) -> bool {
        let goes = |rank: u32| can_go.get(rank as usize).copied().unwrap_or(true);
        let others = || can_go.iter().enumerate().any(|(other, goes)| *goes && other != rank);
        wanted.source.map_or_else(others, goes)
    }

    /// Is a message one that a rank asks for?
    fn is_for(message: &Channel, wanted: Wanted, rank: usize) -> bool {
        message.target as usize == rank
            && message.identity == wanted.identity
            && wanted.source.is_none_or(|source| source == message.source)
            && wanted.tag.is_none_or(|tag| tag == message.tag)
    }

    /// Is there a message of its own for each receive of a rank that nobody can send one to any more? One that asks for any
    /// message must not be given the one that another receive needs.
    fn has_message_for_each(&self, at: usize, can_go: &[bool]) -> bool {
        let (needed, there) = self.count_messages(at, can_go);
        there == needed
    }

    /// How many messages a rank needs that nobody can send any more, and how many of them there are.
    fn count_messages(&self, at: usize, can_go: &[bool]) -> (usize, usize) {
        let needs = self.ranks[at].needs.iter().filter_map(|need| match need {
            Need::Message(wanted) if !self.may_be_sent(*wanted, at, can_go) => Some(*wanted),
            _ => None,
        });
        let needs: Vec<Wanted> = needs.collect();
        if needs.len() < 2 {
            // Looked at by itself.
            return (needs.len(), needs.len());
        }
        let messages: Vec<&Channel> =
            self.under_way.iter().filter(|message| message.target as usize == at).collect();
        // Which receive has which message.
        let mut given: Vec<Option<usize>> = vec![None; messages.len()];
        let has_one = |need: &usize| {
            let mut tried = vec![false; messages.len()];
            Self::give(*need, &needs, &messages, at, &mut given, &mut tried)
        };
        (needs.len(), (0..needs.len()).filter(has_one).count())
    }

    /// Gives a receive a message, and those that lose theirs another one.
    fn give(
        need: usize,
        needs: &[Wanted],
        messages: &[&Channel],
        at: usize,
        given: &mut [Option<usize>],
        tried: &mut [bool],
    ) -> bool {
        for (number, message) in messages.iter().enumerate() {
            if tried[number] || !Self::is_for(message, needs[need], at) {
                continue;
            }
            tried[number] = true;
            let is_free = match given[number] {
                None => true,
                Some(other) => Self::give(other, needs, messages, at, given, tried),
            };
            if is_free {
                given[number] = Some(need);
                return true;
            }
        }
        false
    }

    /// Is there what a rank needs, besides what as many other needs are for that are the same, or may it still come?
    fn may_come(&self, need: Need, same: usize, rank: usize, how: &How, can_go: &[bool]) -> bool {
        let others = || can_go.iter().enumerate().any(|(other, goes)| *goes && other != rank);
        let goes = |rank: u32| can_go.get(rank as usize).copied().unwrap_or(true);
        match need {
            Need::Nothing => true,
            Need::Message(wanted) => {
                let is_wanted = |message: &&Channel| Self::is_for(message, wanted, rank);
                self.under_way.iter().filter(is_wanted).nth(same).is_some()
                    || self.may_be_sent(wanted, rank, can_go)
            }
            Need::Receiver { key, target } => {
                let Some(of_target) = self.ranks.get(target as usize) else { return true };
                let may_get = if self.unasked.contains(&key) {
                    of_target.open > 0
                } else {
                    !self.is_record_under_way(rank, need) || of_target.may_get_from(rank as u32)
                };
                may_get || goes(target)
            }
            Need::Collective { identity, number, root } => {
                let root = root.filter(|_| !how.is_strict);
                self.is_over(rank, identity, number, root) || others()
            }
            Need::Attendance { identity, number } if how.is_strict => {
                self.is_over(rank, identity, number, None) || others()
            }
            Need::Attendance { identity, number } => {
                let mut others = self.ranks.iter().enumerate().filter(|(other, _)| *other != rank);
                self.is_over(rank, identity, number, None)
                    || others.any(|(_, of)| of.state != state::OVER)
            }
            Need::Post { key, count, rank } | Need::Completion { key, count, rank } => {
                exposures::has_happened(key, count) || goes(rank)
            }
            Need::Entered { identity, number, rank } => {
                let of_rank = self.ranks.get(rank as usize);
                of_rank.is_none_or(|of| of.may_have_entered(identity, number)) || goes(rank)
            }
            Need::Unlocked(lock) => self.holders(rank, lock).all(|holder| can_go[holder]),
            Need::Unready => false,
            Need::OtherGroup { identity, number } => {
                let other = remotes::other(identity, number).filter(|_| !self.is_of_all);
                other.is_none_or(|(identity, number)| self.is_over(rank, identity, number, None))
                    || others()
            }
        }
    }

    /// The other ranks that have a lock which excludes one.
    fn holders(&self, rank: usize, lock: Lock) -> impl Iterator<Item = usize> {
        let others = self.ranks.iter().enumerate().filter(move |(other, _)| *other != rank);
        let holders = others.filter(move |(_, of)| of.locks.iter().any(|it| it.excludes(lock)));
        holders.map(|(holder, _)| holder)
    }

    /// Does a rank wait for the receiver of a message on another host that does not know of it?
    fn is_record_under_way(&self, rank: usize, need: Need) -> bool {
        let Need::Receiver { key, target } = need else { return false };
        self.is_of_all
            && hosts::are_apart(rank as u32, target)
            && !self.unasked.contains(&key)
            && !self.asked.contains(&key)
    }

    /// How many of those there are.
    pub(super) fn records_under_way(&self) -> u64 {
        let blocked = self.ranks.iter().enumerate().filter(|(_, rank)| rank.is_blocked());
        let needs = blocked.flat_map(|(at, rank)| rank.needs.iter().map(move |need| (at, *need)));
        needs.filter(|(at, need)| self.is_record_under_way(*at, *need)).count() as u64
    }

    /// Have all that a rank waits for in a collective operation come to it?
    fn is_over(&self, rank: usize, identity: u64, number: u64, root: Option<u32>) -> bool {
        if !self.is_of_all {
            return collectives::is_over(identity, number, root.is_some());
        }
        if let Some(root) = root {
            let root = self.ranks.get(root as usize);
            return root.is_none_or(|root| root.may_have_entered(identity, number));
        }
        let own = self.ranks[rank].entered.iter().find(|[known, ..]| *known == identity);
        let Some([_, _, size]) = own else { return true };
        let here = self.ranks.iter().filter(|rank| rank.may_have_entered(identity, number));
        here.count() as u64 >= *size
    }

    /// Where a rank is, in words, if nothing else is said of it.
    fn whereabouts(&self, rank: u32, told: &[usize]) -> String {
        let Some(of) = self.ranks.get(rank as usize).filter(|_| !told.contains(&(rank as usize)))
        else {
            return String::new();
        };
        match of.state {
            state::OVER => ", which is in MPI_Finalize".into(),
            state::BLOCKED => {
                let name =
                    FunctionId::from_index(of.function as usize).map_or("MPI", |it| it.name());
                let place = places::of_mark(of.mark);
                let at = if place.is_empty() { String::new() } else { format!(" at {place}") };
                format!(", which is in {name}{at}")
            }
            _ => String::new(),
        }
    }

    /// A call and its place, behind the call that waits for it: ` (MPI_Irecv at a.c:7 main)`.
    fn behind(function: FunctionId, waiting: FunctionId, mark: Mark) -> String {
        if function == waiting {
            return String::new();
        }
        let place = places::of_mark(mark);
        let at = if place.is_empty() { String::new() } else { format!(" at {place}") };
        format!(" ({function}{at})")
    }

    /// What a rank waits for in a collective operation.
    fn collective(
        &self,
        rank: usize,
        waiting: FunctionId,
        [identity, number]: [u64; 2],
        told: &[usize],
    ) -> String {
        let on = names::on(identity);
        let under_way = collectives::under_way(identity, number).filter(|_| !self.is_of_all);
        let Some(of) = under_way else {
            return format!("{on} waits for other ranks to call it");
        };
        let mark = if of.first.0 as usize == rank { of.first.1 } else { Mark::default() };
        let behind = Self::behind(of.function, waiting, mark);
        let has_come = |rank: &u32| *rank < 64 && of.here >> rank & 1 != 0;
        let missing: Option<Vec<u32>> = names::members(identity)
            .map(|all| all.into_iter().filter(|rank| !has_come(rank)).collect());
        match missing.as_deref() {
            None | Some([]) => {
                format!("{behind}{on} waits for other ranks to call {}", of.function)
            }
            Some(missing @ [first, ..]) => {
                let at = self.whereabouts(*first, told);
                let at = at.replacen(", which", &format!("; rank {first}"), 1);
                let has = if missing.len() == 1 { "has" } else { "have" };
                let missing = ranks_text(missing);
                format!(
                    "{behind}{on} waits for {missing}, which {has} not called {}{at}",
                    of.function
                )
            }
        }
    }

    /// What a rank waits for, in words, beside others that something is said of.
    fn sentence(&self, rank: usize, told: &[usize]) -> (FunctionId, Mark, String) {
        let of = &self.ranks[rank];
        let function = FunctionId::from_index(of.function as usize).unwrap_or(FunctionId::MPI_Wait);
        let place = places::of_mark(of.mark);
        let mut text = match of.state {
            state::POLLING => format!("rank {rank} polling with {function}"),
            _ => format!("rank {rank} in {function}"),
        };
        if !place.is_empty() {
            let _ = write!(text, " at {place}");
        }
        let nobody = vec![false; self.ranks.len()];
        let (needed, there) = self.count_messages(rank, &nobody);
        if there > 0 && there < needed && !of.is_any {
            let is = if there == 1 { "is" } else { "are" };
            let _ = write!(text, " waits for {needed} messages, of which {there} {is} there");
        }
        let need = self.first_unmet(rank);
        let at = |rank: u32| self.whereabouts(rank, told);
        let _ = match need {
            Some(Need::Message(wanted)) => {
                let tag = wanted.tag.map_or_else(String::new, |tag| format!(" with tag {tag}"));
                let on = names::on(wanted.identity);
                let posted = messages::posted_by(rank as u32, wanted).filter(|_| !self.is_of_all);
                let behind =
                    posted.map_or_else(String::new, |(by, mark)| Self::behind(by, function, mark));
                let from = match wanted.source {
                    Some(source) => format!("rank {source}{}", at(source)),
                    None => "anybody".into(),
                };
                let near = match self.is_of_all {
                    true => String::new(),
                    false => messages::nearly(rank as u32, wanted),
                };
                let waits = if there > 0 && there < needed { ", among them" } else { " waits for" };
                write!(text, "{behind}{waits} a message{tag}{on} from {from}{near}")
            }
            Some(Need::Receiver { key, target }) => {
                let sent = messages::sent_as(key).filter(|_| !self.is_of_all);
                let (behind, what) = sent.map_or_else(Default::default, |sent| {
                    let what = format!(" with tag {}{}", sent.tag, names::on(sent.identity));
                    (Self::behind(sent.function, function, sent.mark), what)
                });
                write!(
                    text,
                    "{behind} waits for rank {target} to receive its message{what}{}",
                    at(target)
                )
            }
            Some(
                Need::Collective { identity, number, .. } | Need::Attendance { identity, number },
            ) => {
                let what = self.collective(rank, function, [identity, number], told);
                write!(text, "{what}")
            }
            Some(Need::OtherGroup { .. }) => {
                write!(text, " waits for the other group to call it, too")
            }
            Some(Need::Post { rank, .. }) => {
                write!(text, " waits for rank {rank} to post its window{}", at(rank))
            }
            Some(Need::Completion { rank, .. }) => {
                write!(text, " waits for rank {rank} to complete its epoch{}", at(rank))
            }
            Some(Need::Entered { rank: other, identity, .. }) => {
                let on = names::on(identity);
                write!(text, "{on} waits for rank {other} to call it, too{}", at(other))
            }
            Some(Need::Unlocked(lock)) => match self.holders(rank, lock).next() {
                Some(holder) => {
                    let at = at(holder as u32);
                    write!(text, " waits for the lock that rank {holder} has{at}")
                }
                None => Ok(()),
            },
            Some(Need::Unready) => {
                write!(text, " waits for partitions that are not ready (MPI_Pready)")
            }
            Some(Need::Nothing) | None => Ok(()),
        };
        (function, of.mark, text)
    }

    /// The first need of a rank that is not met, as far as it is known; else the first one.
    fn first_unmet(&self, rank: usize) -> Option<Need> {
        let needs = &self.ranks[rank].needs;
        let nobody = vec![false; self.ranks.len()];
        let how = How { is_strict: true, polling: Vec::new() };
        let is_unmet = |(number, need): &(usize, &Need)| {
            let same = needs[..*number].iter().filter(|other| other == need).count();
            **need != Need::Nothing && !self.may_come(**need, same, rank, &how, &nobody)
        };
        let unmet = needs.iter().enumerate().find(is_unmet).map(|(_, need)| need);
        unmet.or_else(|| needs.iter().find(|need| **need != Need::Nothing)).copied()
    }

    pub(super) fn tell(&self, stuck: &[usize]) {
        let told = &stuck[..stuck.len().min(8)];
        let sentences: Vec<_> = told.iter().map(|rank| self.sentence(*rank, told)).collect();
        let polls = stuck.iter().any(|rank| self.ranks[*rank].state == state::POLLING);
        let mut text = String::from(match stuck {
            _ if polls => "nobody goes on unless one of these ranks stops polling: ",
            [_] => "this rank waits for ever: ",
            _ => "these ranks wait for ever: ",
        });
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
}
