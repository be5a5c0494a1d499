//! Who can never go on: the least set of ranks that can, and all that wait besides.

use crate::need::{Channel, Need, Wanted};
use crate::picture::{Picture, State};

/// What counts as waiting.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct How {
    /// All must come to a collective operation in which somebody stands.
    pub is_strict: bool,
    /// Those who poll, and have done so often.
    pub polling: Vec<usize>,
}

impl Picture {
    /// The ranks that can never go on.
    pub fn stuck(&self, how: &How) -> Vec<usize> {
        let ranks = &self.ranks;
        let mut can_go: Vec<bool> = (0..ranks.len())
            .map(|at| match ranks[at].state {
                State::Running => true,
                State::Polling => !how.polling.contains(&at),
                State::Blocked | State::Over => false,
            })
            .collect();
        loop {
            let mut changed = false;
            for (at, rank) in ranks.iter().enumerate() {
                if !can_go[at] && rank.state.waits() && self.may_go(at, how, &can_go) {
                    can_go[at] = true;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        (0..ranks.len()).filter(|rank| !can_go[*rank] && ranks[*rank].state.waits()).collect()
    }

    /// May a rank that waits go on, once some others can?
    fn may_go(&self, at: usize, how: &How, can_go: &[bool]) -> bool {
        let rank = &self.ranks[at];
        let may = |number: usize| {
            let need = rank.needs[number];
            // Each of several receives that ask for the same needs a message of its own.
            let same = rank.needs[..number].iter().filter(|other| **other == need).count();
            self.may_come(need, same, at, how, can_go)
        };
        if rank.is_any {
            return (0..rank.needs.len()).any(may);
        }
        // MPI may have a copy of what a standard send sends (MPI-5.0, section 3.4): then the call waits for all else. That it
        // stands shows no more than that one of them is not through, if all else is.
        let (sends, others): (Vec<usize>, Vec<usize>) =
            (0..rank.needs.len()).partition(|number| self.may_be_buffered(rank.needs[*number]));
        let may_others =
            others.iter().all(|number| may(*number)) && self.has_message_for_each(at, can_go);
        let are_others_there =
            || others.iter().all(|number| self.is_there(at, rank.needs[*number]));
        may_others
            && (sends.is_empty() || !are_others_there() || sends.iter().any(|number| may(*number)))
    }

    /// Is it the receiver of a message that MPI may have a copy of?
    pub(crate) fn may_be_buffered(&self, need: Need) -> bool {
        matches!(need, Need::Receiver { key, .. } if !self.synchronous.contains(&key))
    }

    /// Is there what a rank needs, for sure? Not if nobody knows.
    fn is_there(&self, at: usize, need: Need) -> bool {
        let Need::Message(wanted) = need else { return false };
        // It is the message of another receive if that was posted first.
        !wanted.is_open()
            && self.under_way.iter().any(|message| wanted.is_met_by(message, at))
            && self.ranks[at].open == 0
            && !self.unsent.iter().any(|channel| wanted.is_met_by(channel, at))
    }

    /// May somebody who can go on send what a rank asks for?
    fn may_be_sent(&self, wanted: Wanted, rank: usize, can_go: &[bool]) -> bool {
        match wanted.source {
            Some(source) => goes(can_go, source),
            None => match self.members.get(&wanted.identity) {
                Some(members) => {
                    members.iter().any(|other| *other as usize != rank && goes(can_go, *other))
                }
                None => any_other_goes(can_go, rank),
            },
        }
    }

    /// Is there a message of its own for each receive of a rank that nobody can send one to any more? One that asks for any
    /// message must not be given the one that another receive needs.
    fn has_message_for_each(&self, at: usize, can_go: &[bool]) -> bool {
        let (needed, there) = self.count_messages(at, can_go);
        there == needed
    }

    /// How many messages a rank needs that nobody can send any more, and how many of them there are.
    pub(crate) fn count_messages(&self, at: usize, can_go: &[bool]) -> (usize, usize) {
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
            give(*need, &needs, &messages, at, &mut given, &mut tried)
        };
        (needs.len(), (0..needs.len()).filter(has_one).count())
    }

    /// Is there what a rank needs, besides what as many other needs are for that are the same, or may it still come?
    pub(crate) fn may_come(
        &self,
        need: Need,
        same: usize,
        at: usize,
        how: &How,
        can_go: &[bool],
    ) -> bool {
        match need {
            Need::Nothing => true,
            Need::Message(wanted) => {
                let is_wanted = |message: &&Channel| wanted.is_met_by(message, at);
                self.under_way.iter().filter(is_wanted).nth(same).is_some()
                    || self.may_be_sent(wanted, at, can_go)
            }
            // A synchronous send ends when a matching receive has started. A probe does not receive (MPI-5.0, section 3.4).
            Need::Receiver { key, target } if self.probed.contains(&key) => goes(can_go, target),
            Need::Receiver { key, target } => {
                let Some(of_target) = self.ranks.get(target as usize) else { return true };
                let may_get = if self.unasked.contains(&key) {
                    let channel = self.channels.get(&key);
                    of_target.open > 0
                        && channel.is_none_or(|it| of_target.may_get(it, target as usize))
                } else {
                    !self.is_record_under_way(at, need) || of_target.may_get_from(at as u32)
                };
                may_get || goes(can_go, target)
            }
            Need::Collective { identity, number, root: None } => {
                self.is_over(at, identity, number, None)
                    || self.may_gather(at, identity, number, can_go)
            }
            Need::Collective { identity, number, root: Some(root) } => {
                let has_root = self.is_over(at, identity, number, Some(root));
                let may_have_root = has_root || goes(can_go, root);
                if how.is_strict {
                    // It has stood there for long: its MPI waits for others, too.
                    self.is_over(at, identity, number, None)
                        || may_have_root && any_other_goes(can_go, at)
                } else {
                    may_have_root
                }
            }
            Need::Attendance { identity, number } if how.is_strict => {
                self.is_over(at, identity, number, None) || any_other_goes(can_go, at)
            }
            Need::Attendance { identity, number } => {
                let mut others = self.ranks.iter().enumerate().filter(|(other, _)| *other != at);
                self.is_over(at, identity, number, None)
                    || others.any(|(_, of)| of.state != State::Over)
            }
            Need::Post { key, count, rank } | Need::Completion { key, count, rank } => {
                self.has_happened(key, count) || goes(can_go, rank)
            }
            Need::Entered { identity, number, rank } => {
                let of_rank = self.ranks.get(rank as usize);
                of_rank.is_none_or(|of| of.may_have_entered(identity, number)) || goes(can_go, rank)
            }
            Need::Unlocked(lock) => self.holders(at, lock).all(|holder| can_go[holder]),
            Need::Unready => false,
            Need::OtherGroup { identity, number } => {
                let other = self.meetings.get(&(identity, number)).filter(|_| !self.is_of_all);
                other.is_none_or(|(identity, number)| {
                    self.is_over(at, *identity, *number, None)
                        || self.may_gather(at, *identity, *number, can_go)
                })
            }
        }
    }

    /// May all come to a collective operation who have not? Where they are not known, somebody else may.
    fn may_gather(&self, at: usize, identity: u64, number: u64, can_go: &[bool]) -> bool {
        let operation = self.operations.get(&(identity, number));
        let is_all = |missing: &Vec<u32>| {
            operation.is_some_and(|it| missing.len() + it.come.len() == it.expected as usize)
        };
        match self.missing(identity, number).filter(is_all) {
            Some(missing) => missing.iter().all(|rank| *rank as usize == at || goes(can_go, *rank)),
            None => any_other_goes(can_go, at),
        }
    }

    /// Was a window posted, or an epoch completed, so often? Yes if the picture does not know.
    fn has_happened(&self, key: u64, count: u64) -> bool {
        let Some(counts) = &self.exposures else { return true };
        counts.get(&key).is_some_and(|known| *known >= count)
    }

    /// Does a rank wait for the receiver of a message on another host that does not know of it?
    fn is_record_under_way(&self, rank: usize, need: Need) -> bool {
        let Need::Receiver { key, target } = need else { return false };
        self.is_of_all
            && self.are_apart(rank as u32, target)
            && !self.unasked.contains(&key)
            && !self.asked.contains(&key)
    }

    /// How many of those there are.
    pub(crate) fn records_under_way(&self) -> u64 {
        let blocked = self.ranks.iter().enumerate().filter(|(_, rank)| rank.is_blocked());
        let needs = blocked.flat_map(|(at, rank)| rank.needs.iter().map(move |need| (at, *need)));
        needs.filter(|(at, need)| self.is_record_under_way(*at, *need)).count() as u64
    }
}

/// May a rank go on? Yes if the picture does not have the rank.
fn goes(can_go: &[bool], rank: u32) -> bool {
    can_go.get(rank as usize).copied().unwrap_or(true)
}

fn any_other_goes(can_go: &[bool], rank: usize) -> bool {
    can_go.iter().enumerate().any(|(other, goes)| *goes && other != rank)
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
        if tried[number] || !needs[need].is_met_by(message, at) {
            continue;
        }
        tried[number] = true;
        let is_free = match given[number] {
            None => true,
            Some(other) => give(other, needs, messages, at, given, tried),
        };
        if is_free {
            given[number] = Some(need);
            return true;
        }
    }
    false
}
