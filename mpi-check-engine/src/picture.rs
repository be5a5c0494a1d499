//! What all ranks do at one moment.

use std::collections::{BTreeMap, BTreeSet};

use crate::need::{Channel, Lock, Need};

/// What a rank does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum State {
    /// It is in its own code, or in a call that waits for nobody.
    #[default]
    Running = 0,
    /// It is in a call that waits.
    Blocked = 1,
    /// It is in `MPI_Finalize`, or past it.
    Over = 2,
    /// It looks for something, again and again, and does nothing else.
    Polling = 3,
}

impl State {
    /// The state of a number. A number that is no state's counts as running, so that such a rank is never named.
    pub fn from_number(number: u32) -> Self {
        match number {
            1 => Self::Blocked,
            2 => Self::Over,
            3 => Self::Polling,
            _ => Self::Running,
        }
    }

    /// Does it wait?
    pub fn waits(self) -> bool {
        matches!(self, Self::Blocked | Self::Polling)
    }
}

/// Where a call is in the program: a file, by a number, and an offset in it. It is handed through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallSite {
    /// The file's number; 0 if it is not known.
    pub module: u64,
    /// Where in it.
    pub offset: u64,
}

/// The last collective operation of a rank on a communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entered {
    /// The communicator's.
    pub identity: u64,
    /// The operation's.
    pub number: u64,
    /// How many processes come to it.
    pub size: u64,
}

/// A rank.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rank {
    /// What it does.
    pub state: State,
    /// How many calls it has begun and ended.
    pub sequence: u64,
    /// The number of the function that it is in. It is handed through.
    pub function: u32,
    /// Where it has called it.
    pub site: CallSite,
    /// One of the needs is enough.
    pub is_any: bool,
    /// What its call needs to return, in the order of the requests.
    pub needs: Vec<Need>,
    /// How many receives are posted and not complete that may get messages of several channels, or of which nobody knows which
    /// ones they may get. Those that the call waits for count, too.
    pub open: u32,
    /// Messages that the call asks for are asked for by receives, which [`Rank::open`] counts. A probe posts none.
    pub has_posted: bool,
    /// How many records of messages it has sent to other hosts.
    pub sent: u64,
    /// How many it has taken.
    pub taken: u64,
    /// Where they are known: the last collective operations on some communicators.
    pub entered: Vec<Entered>,
    /// There were more communicators.
    pub has_forgotten: bool,
    /// What it has locked of windows. Not told to other hosts.
    pub locks: Vec<Lock>,
    /// How often it has looked for something in vain. Not told to other hosts.
    pub polls: u64,
}

impl Rank {
    /// Is it in a call that waits?
    pub(crate) fn is_blocked(&self) -> bool {
        self.state == State::Blocked
    }

    /// May it get any message of a rank, for all that is known of what it asks for?
    pub(crate) fn may_get_from(&self, rank: u32) -> bool {
        let is_for = |need: &Need| {
            matches!(need, Need::Message(wanted)
            if wanted.source.is_none_or(|source| source == rank))
        };
        self.open > 0 || self.needs.iter().any(is_for)
    }

    /// May a receive get a message of a channel that goes to this rank, of the number `own`?
    pub(crate) fn may_get(&self, channel: &Channel, own: usize) -> bool {
        let asked = || {
            self.needs.iter().filter_map(|need| match need {
                Need::Message(wanted) => Some(*wanted),
                _ => None,
            })
        };
        // Of those that the call does not wait for, nobody knows what they ask for.
        let known = asked().filter(|wanted| wanted.is_open()).count();
        let hidden = (self.open as usize).saturating_sub(known);
        !(self.is_blocked() && self.has_posted)
            || hidden > 0
            || asked().any(|wanted| wanted.is_met_by(channel, own))
    }

    /// May the rank have entered a collective operation? Yes if the picture does not know.
    pub(crate) fn may_have_entered(&self, identity: u64, number: u64) -> bool {
        let known = self.entered.iter().find(|known| known.identity == identity);
        known.map_or(self.has_forgotten, |known| known.number >= number)
    }
}

/// A collective operation to which not all have come.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Operation {
    /// The root is among those who have come.
    pub root_is_here: bool,
    /// How many must come.
    pub expected: u32,
    /// The ranks of the world that have come, as far as they are known.
    pub come: Vec<u32>,
}

/// All ranks at one moment. What their needs do not ask about may be left out.
///
/// Whoever takes it must look at the ranks first, and at all else afterwards: what is then missing had not happened when the rank
/// that may have done it was looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picture {
    /// By their ranks in the world.
    pub ranks: Vec<Rank>,
    /// Messages that have been sent and not received.
    pub under_way: Vec<Channel>,
    /// The keys of those that nobody has asked for.
    pub unasked: Vec<u64>,
    /// The keys of others that are known where they are received.
    pub asked: Vec<u64>,
    /// Whose those messages are, as far as it is known.
    pub channels: BTreeMap<u64, Channel>,
    /// The keys of messages of synchronous sends, which are not complete before somebody receives them.
    pub synchronous: BTreeSet<u64>,
    /// The keys of those that a probe has taken (`MPI_Mprobe`) and that nobody receives yet: only who has taken one can.
    pub probed: Vec<u64>,
    /// Channels of messages that somebody has asked for and that were not sent, once for each of them.
    pub unsent: Vec<Channel>,
    /// Collective operations under way, by the communicator's identity and their number. What is not here is over.
    pub operations: BTreeMap<(u64, u64), Operation>,
    /// The ranks of the world that are in a communicator, as far as they are known.
    pub members: BTreeMap<u64, Vec<u32>>,
    /// Of calls in which two groups meet: the other group's identity and number.
    pub meetings: BTreeMap<(u64, u64), (u64, u64)>,
    /// How often windows were posted and epochs completed, by keys. What is not here has never happened; `None` if nobody knows.
    pub exposures: Option<BTreeMap<u64, u64>>,
    /// The host of each rank, by a number; empty if there is one only.
    pub hosts: Vec<u32>,
    /// The ranks are of several hosts, and so are the messages. Of collective operations, only [`Rank::entered`] is known.
    pub is_of_all: bool,
}

impl Picture {
    /// Are two ranks on different hosts?
    pub(crate) fn are_apart(&self, one: u32, other: u32) -> bool {
        self.hosts.get(one as usize) != self.hosts.get(other as usize)
    }

    /// The other ranks that have a lock which excludes one.
    pub(crate) fn holders(&self, rank: usize, lock: Lock) -> impl Iterator<Item = usize> {
        let others = self.ranks.iter().enumerate().filter(move |(other, _)| *other != rank);
        let holders = others.filter(move |(_, of)| of.locks.iter().any(|it| it.excludes(lock)));
        holders.map(|(holder, _)| holder)
    }

    /// Who of a communicator has not come to an operation under way; `None` if that is not known.
    pub(crate) fn missing(&self, identity: u64, number: u64) -> Option<Vec<u32>> {
        let operation = self.operations.get(&(identity, number)).filter(|_| !self.is_of_all)?;
        let members = self.members.get(&identity)?;
        Some(members.iter().filter(|rank| !operation.come.contains(rank)).copied().collect())
    }

    /// Have all that a rank waits for in a collective operation come to it?
    pub(crate) fn is_over(
        &self,
        rank: usize,
        identity: u64,
        number: u64,
        root: Option<u32>,
    ) -> bool {
        if !self.is_of_all {
            let operation = self.operations.get(&(identity, number));
            return operation.is_none_or(|it| root.is_some() && it.root_is_here);
        }
        if let Some(root) = root {
            let root = self.ranks.get(root as usize);
            return root.is_none_or(|root| root.may_have_entered(identity, number));
        }
        let own = self.ranks[rank].entered.iter().find(|known| known.identity == identity);
        let Some(own) = own else { return true };
        let here = self.ranks.iter().filter(|rank| rank.may_have_entered(identity, number));
        here.count() as u64 >= own.size
    }
}
