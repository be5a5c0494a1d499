//! The hosts of a run, and how the work is spread within and between them.

use core::mem::MaybeUninit;
use std::collections::BTreeMap;

use super::merged::{RunTimes, Spread};
use crate::host::options::host_name;

/// So many hosts are told apart: further ones are one host without a name.
const MOST_HOSTS: usize = 1 << 16;

/// So many ranks have their times in a report: of more, only the extremes are kept.
pub(crate) const MOST_RANKS: usize = 1 << 16;

/// The ranks of each host, by its name.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Hosts(pub(crate) BTreeMap<String, Host>);

/// The ranks of a host.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Host {
    /// Their useful time.
    pub(crate) useful: Spread,
    /// Each of them; none on any host if there are too many.
    pub(crate) ranks: Vec<RankTimes>,
}

/// The times of a rank, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RankTimes {
    pub(crate) rank: u64,
    pub(crate) wall: u64,
    pub(crate) inside: u64,
}

/// The load balance of ranks in two factors: within the hosts and between them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct HostBalance {
    /// The greatest mean useful time of a host's ranks as a part of the most useful time of a rank.
    pub(crate) within: f64,
    /// The mean useful time of all ranks as a part of the greatest mean of a host's ranks.
    pub(crate) between: f64,
}

impl Hosts {
    /// Of one rank, on this host.
    pub(crate) fn of(times: RunTimes) -> Self {
        let RunTimes { wall, inside, useful, .. } = times;
        let rank = RankTimes { rank: wall.most.rank, wall: wall.sum, inside: inside.sum };
        Self(BTreeMap::from([(host_name(), Host { useful, ranks: vec![rank] })]))
    }

    /// Adds other ranks'.
    pub(crate) fn add(&mut self, other: Self) {
        let is_short = self.has_each_rank() && other.has_each_rank();
        for (mut name, host) in other.0 {
            if self.0.len() >= MOST_HOSTS && !self.0.contains_key(&name) {
                name.clear();
            }
            match self.0.get_mut(&name) {
                None => {
                    self.0.insert(name, host);
                }
                Some(here) => {
                    here.useful = here.useful.and(host.useful);
                    here.ranks.extend(host.ranks);
                }
            }
        }
        let known: usize = self.0.values().map(|host| host.ranks.len()).sum();
        if !is_short || known > MOST_RANKS {
            self.0.values_mut().for_each(|host| host.ranks = Vec::new());
        }
    }

    /// Is each rank known, so that no other one was left out?
    fn has_each_rank(&self) -> bool {
        self.0.values().all(|host| host.ranks.len() as u64 == host.useful.ranks)
    }

    /// How many hosts there are, with those of no name as one.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Load balance within and between hosts; none on one host, or if no rank has done anything of its own.
    pub(crate) fn balance(&self) -> Option<HostBalance> {
        balance(self.0.values().map(|host| host.useful))
    }
}

/// The same of hosts whose ranks have this useful time.
pub(crate) fn balance(useful: impl Iterator<Item = Spread> + Clone) -> Option<HostBalance> {
    let all = useful.clone().reduce(Spread::and)?;
    if useful.clone().nth(1).is_none() || all.most.value == 0 {
        return None;
    }
    let greatest = useful.map(|useful| useful.mean()).fold(0.0, f64::max);
    let most = all.most.value as f64;
    Some(HostBalance { within: greatest / most, between: all.mean() / greatest })
}

/// How often the system has taken the processor away from this process's threads while they had work.
pub(crate) fn preemptions() -> u64 {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the call wants a place for the answer. If it says 0, it has written all of that.
    let usage = unsafe {
        if libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()) != 0 {
            return 0;
        }
        usage.assume_init()
    };
    u64::try_from(usage.ru_nivcsw).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A rank on a host, which was in MPI for as many nanoseconds as its number is.
    fn host(useful: u64, rank: u64) -> Host {
        let ranks = vec![RankTimes { rank, wall: useful + rank, inside: rank }];
        Host { useful: Spread::of(useful, rank), ranks }
    }

    fn hosts(useful: &[(&str, u64)]) -> Hosts {
        let mut hosts = Hosts::default();
        for ((name, useful), rank) in useful.iter().zip(0..) {
            hosts.add(Hosts(BTreeMap::from([((*name).into(), host(*useful, rank))])));
        }
        hosts
    }

    #[test]
    fn each_rank_is_on_its_host() {
        let hosts = hosts(&[("one", 6), ("two", 8), ("one", 2)]);
        let times = |rank, wall, inside| RankTimes { rank, wall, inside };
        assert_eq!(hosts.0["one"].ranks, [times(0, 6, 0), times(2, 4, 2)]);
        assert_eq!(hosts.0["two"].ranks, [times(1, 9, 1)]);
    }

    /// Then nobody's times are kept: not those of later ranks either.
    #[test]
    fn too_many_ranks_are_not_told_apart() {
        let many = |first: u64, count: u64| {
            let mut all = host(1, first);
            for rank in first + 1..first + count {
                all.useful = all.useful.and(Spread::of(1, rank));
                all.ranks.push(RankTimes { rank, wall: 1, inside: 0 });
            }
            Hosts(BTreeMap::from([("one".into(), all)]))
        };
        let most = MOST_RANKS as u64;
        let mut all = many(0, most - 1);
        all.add(many(most - 1, 1));
        assert_eq!(all.0["one"].ranks.len(), MOST_RANKS);
        all.add(many(most, 1));
        all.add(many(most + 1, 1));
        assert_eq!((all.0["one"].ranks.len(), all.0["one"].useful.ranks), (0, most + 2));
    }

    /// By hand: ranks of 6 and 2 on one host are 4 in the mean, those of 8 and 8 on another one 8, all are 6. So the
    /// second host is balanced in itself (8 / 8), and between the hosts it is 6 / 8.
    #[test]
    fn balances_of_known_times() {
        let hosts = hosts(&[("one", 6), ("two", 8), ("one", 2), ("two", 8)]);
        assert_eq!(hosts.count(), 2);
        assert_eq!(hosts.balance(), Some(HostBalance { within: 1.0, between: 0.75 }));
    }

    /// The other way round: two equal hosts, each with one rank that works and one that does not.
    #[test]
    fn hosts_may_be_equal_and_ranks_not() {
        let hosts = hosts(&[("one", 8), ("one", 0), ("two", 0), ("two", 8)]);
        assert_eq!(hosts.balance(), Some(HostBalance { within: 0.5, between: 1.0 }));
    }

    #[test]
    fn one_host_and_idle_hosts_have_no_balance() {
        assert_eq!(hosts(&[("one", 6), ("one", 8)]).balance(), None);
        assert_eq!(hosts(&[("one", 0), ("two", 0)]).balance(), None);
        assert_eq!(Hosts::default().balance(), None);
    }

    #[test]
    fn too_many_hosts_lose_their_names_and_no_rank() {
        let some = |ranks: core::ops::Range<u64>| {
            Hosts(ranks.map(|rank| (rank.to_string(), host(1, rank))).collect())
        };
        let most = MOST_HOSTS as u64;
        let mut all = some(0..most);
        all.add(some(most..most + 10));
        assert_eq!(all.count(), MOST_HOSTS + 1);
        assert_eq!(all.0[""].useful.ranks, 10);
        assert_eq!(all.0.values().map(|host| host.useful.ranks).sum::<u64>(), most + 10);
    }
}
