//! What the ranks waited for at one moment, and who of them can never go on.

use core::sync::atomic::Ordering::{Acquire, Relaxed};
use std::fmt::Write as _;

use mpi_tool_layer::FunctionId;

use super::locks::{self, Lock};
use super::{NEEDS, Need, NeedState, RankState, state};
use crate::collectives;
use crate::exposures;
use crate::findings::{Class, Other, Place, report_of};
use crate::hosts;
use crate::messages::{self, Channel, Wanted};
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
        let entered = rank.entered.iter().map(|it| {
            let number = it.number.load(Acquire);
            [it.identity.load(Relaxed), number, it.size.load(Relaxed)]
        });
        Self {
            state: rank.state.load(Acquire),
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
    pub(super) fn stuck(&self) -> Vec<usize> {
        let ranks = &self.ranks;
        let mut can_go: Vec<bool> = ranks.iter().map(|rank| rank.state == state::RUNNING).collect();
        loop {
            let mut changed = false;
            for (at, rank) in ranks.iter().enumerate() {
                if can_go[at] || !rank.is_blocked() {
                    continue;
                }
                let mut needs = (0..rank.needs.len()).map(|number| {
                    let need = rank.needs[number];
                    // Each of several receives that ask for the same needs a message of its own.
                    let same = rank.needs[..number].iter().filter(|other| **other == need).count();
                    self.may_come(need, same, at, &can_go)
                });
                let goes = if rank.is_any { needs.any(|may| may) } else { needs.all(|may| may) };
                if goes {
                    can_go[at] = true;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        (0..ranks.len()).filter(|rank| !can_go[*rank] && ranks[*rank].is_blocked()).collect()
    }

    /// Is there what a rank needs, besides what as many other needs are for that are the same, or may it still come?
    fn may_come(&self, need: Need, same: usize, rank: usize, can_go: &[bool]) -> bool {
        let others = || can_go.iter().enumerate().any(|(other, goes)| *goes && other != rank);
        let goes = |rank: u32| can_go.get(rank as usize).copied().unwrap_or(true);
        match need {
            Need::Nothing => true,
            Need::Message(wanted) => {
                let is_wanted = |message: &&Channel| {
                    message.target as usize == rank
                        && message.identity == wanted.identity
                        && wanted.source.is_none_or(|source| source == message.source)
                        && wanted.tag.is_none_or(|tag| tag == message.tag)
                };
                self.under_way.iter().filter(is_wanted).nth(same).is_some()
                    || wanted.source.map_or_else(others, goes)
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
                self.is_over(rank, identity, number, root) || others()
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

    /// What a rank waits for, in words.
    fn sentence(&self, rank: usize) -> (FunctionId, Mark, String) {
        let of = &self.ranks[rank];
        let function = FunctionId::from_index(of.function as usize).unwrap_or(FunctionId::MPI_Wait);
        let place = places::of_mark(of.mark);
        let mut text = format!("rank {rank} in {function}");
        if !place.is_empty() {
            let _ = write!(text, " at {place}");
        }
        let need = of.needs.iter().find(|need| **need != Need::Nothing);
        let over = |rank: u32| {
            let state = self.ranks.get(rank as usize).map(|of| of.state);
            if state == Some(state::OVER) { ", which is in MPI_Finalize" } else { "" }
        };
        let _ = match need {
            Some(Need::Message(Wanted { source: Some(source), tag, .. })) => {
                let tag = tag.map_or_else(String::new, |tag| format!(" with tag {tag}"));
                write!(text, " waits for a message{tag} from rank {source}{}", over(*source))
            }
            Some(Need::Message(_)) => write!(text, " waits for a message from anybody"),
            Some(Need::Receiver { target, .. }) => {
                write!(text, " waits for rank {target} to receive its message{}", over(*target))
            }
            Some(Need::Collective { .. } | Need::Attendance { .. } | Need::OtherGroup { .. }) => {
                write!(text, " waits for the other ranks to call it, too")
            }
            Some(Need::Post { rank, .. }) => {
                write!(text, " waits for rank {rank} to post its window{}", over(*rank))
            }
            Some(Need::Completion { rank, .. }) => {
                write!(text, " waits for rank {rank} to complete its epoch{}", over(*rank))
            }
            Some(Need::Entered { rank, .. }) => {
                write!(text, " waits for rank {rank} to call it, too{}", over(*rank))
            }
            Some(Need::Unlocked(lock)) => match self.holders(rank, *lock).next() {
                Some(holder) => {
                    write!(
                        text,
                        " waits for the lock that rank {holder} has{}",
                        over(holder as u32)
                    )
                }
                None => Ok(()),
            },
            Some(Need::Unready) => {
                write!(text, " waits for partitions that are not ready (MPI_Pready)")
            }
            _ => Ok(()),
        };
        (function, of.mark, text)
    }

    pub(super) fn tell(&self, stuck: &[usize]) {
        let sentences: Vec<_> = stuck.iter().take(8).map(|rank| self.sentence(*rank)).collect();
        let mut text = String::from(match stuck {
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
