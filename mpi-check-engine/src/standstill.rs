//! What is found: who waits for ever, for what, and for whom.

use crate::judge::How;
use crate::need::Need;
use crate::picture::{Picture, State};

/// For whom a rank waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whom {
    /// For each of these, by ranks of the world; with [`Wait::is_any`] and a lock, too.
    Ranks(Vec<u32>),
    /// For anybody who sends what it asks for.
    Anybody,
    /// For some others, of which it is not known who they are.
    Others,
    /// For nobody but itself.
    Itself,
}

/// What a rank waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// Who waits, by its rank in the world.
    pub rank: u32,
    /// It polls.
    pub is_polling: bool,
    /// Something else than `need` would be enough, too.
    pub is_any: bool,
    /// How many messages it needs.
    pub messages: usize,
    /// How many of these are there, each for a receive of its own.
    pub messages_there: usize,
    /// The first need that is not met, as far as it is known; else the first one.
    pub need: Option<Need>,
    /// Who could meet it.
    pub whom: Whom,
}

/// Ranks that can never go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standstill {
    /// By their ranks in the world: at least one.
    pub waits: Vec<Wait>,
}

impl Standstill {
    /// The ranks that can never go on.
    pub fn ranks(&self) -> impl Iterator<Item = u32> {
        self.waits.iter().map(|wait| wait.rank)
    }

    /// Does one of them poll, which may stop that?
    pub fn has_polling(&self) -> bool {
        self.waits.iter().any(|wait| wait.is_polling)
    }

    /// From a rank on, who waits for whom: to one who is in the chain already, with whom it ends, or to one who waits for nobody that
    /// is known, or does not wait.
    pub fn chain(&self, from: u32) -> Vec<u32> {
        let mut chain = vec![from];
        let next = |rank: u32| {
            let of = self.waits.iter().find(|wait| wait.rank == rank)?;
            let Whom::Ranks(ranks) = &of.whom else { return None };
            // Who waits for ever says more than who has finalized.
            let stuck = ranks.iter().find(|rank| self.ranks().any(|stuck| stuck == **rank));
            stuck.or(ranks.first()).copied()
        };
        while let Some(rank) = next(chain[chain.len() - 1]) {
            let is_cycle = chain.contains(&rank);
            chain.push(rank);
            if is_cycle {
                break;
            }
        }
        chain
    }

    /// The first cycle of ranks that wait for each other, each for the next one and the last one for the first.
    pub fn cycle(&self) -> Option<Vec<u32>> {
        self.ranks().find_map(|from| {
            let mut chain = self.chain(from);
            let last = chain.pop()?;
            let begin = chain.iter().position(|rank| *rank == last)?;
            Some(chain.split_off(begin))
        })
    }
}

impl Picture {
    /// What is found of ranks that can never go on, if there are any.
    pub fn standstill(&self, how: &How) -> Option<Standstill> {
        let stuck = self.stuck(how);
        let waits: Vec<Wait> = stuck.into_iter().map(|rank| self.wait_of(rank)).collect();
        (!waits.is_empty()).then_some(Standstill { waits })
    }

    fn wait_of(&self, rank: usize) -> Wait {
        let of = &self.ranks[rank];
        let nobody = vec![false; self.ranks.len()];
        let (messages, messages_there) = self.count_messages(rank, &nobody);
        let need = self.first_unmet(rank);
        Wait {
            rank: rank as u32,
            is_polling: of.state == State::Polling,
            is_any: of.is_any,
            messages,
            messages_there,
            need,
            whom: need.map_or(Whom::Others, |need| self.whom(rank, need)),
        }
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
        let unmet = || needs.iter().enumerate().filter(is_unmet).map(|(_, need)| need);
        // MPI may have a copy of what is sent. Of all else it is sure that the call waits for it.
        let certain = unmet().find(|need| !self.may_be_buffered(**need));
        certain
            .or_else(|| unmet().next())
            .or_else(|| needs.iter().find(|need| **need != Need::Nothing))
            .copied()
    }

    fn whom(&self, rank: usize, need: Need) -> Whom {
        match need {
            Need::Message(wanted) => match wanted.source {
                Some(source) => Whom::Ranks(vec![source]),
                None => Whom::Anybody,
            },
            Need::Receiver { target, .. } => Whom::Ranks(vec![target]),
            Need::Collective { identity, number, .. } | Need::Attendance { identity, number } => {
                match self.missing(identity, number).filter(|missing| !missing.is_empty()) {
                    Some(missing) => Whom::Ranks(missing),
                    None => Whom::Others,
                }
            }
            Need::Post { rank, .. }
            | Need::Completion { rank, .. }
            | Need::Entered { rank, .. } => Whom::Ranks(vec![rank]),
            Need::Unlocked(lock) => {
                Whom::Ranks(self.holders(rank, lock).map(|holder| holder as u32).collect())
            }
            Need::Unready => Whom::Itself,
            Need::OtherGroup { identity, number } => {
                let other = self.meetings.get(&(identity, number)).filter(|_| !self.is_of_all);
                let missing = other.and_then(|(identity, number)| self.missing(*identity, *number));
                match missing.filter(|missing| !missing.is_empty()) {
                    Some(missing) => Whom::Ranks(missing),
                    None => Whom::Others,
                }
            }
            Need::Nothing => Whom::Others,
        }
    }
}
