//! The hosts of a run, and how the work is spread within and between them.

use std::collections::BTreeMap;

use super::merged::Spread;
use crate::host::options::host_name;

/// So many hosts are told apart: further ones are one host without a name.
const MOST_HOSTS: usize = 1 << 16;

/// The useful time of the ranks of each host, by its name.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Hosts(pub(crate) BTreeMap<String, Spread>);

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
    pub(crate) fn of(useful: Spread) -> Self {
        Self(BTreeMap::from([(host_name(), useful)]))
    }

    /// Adds other ranks'.
    pub(crate) fn add(&mut self, other: Self) {
        for (mut name, useful) in other.0 {
            if self.0.len() >= MOST_HOSTS && !self.0.contains_key(&name) {
                name.clear();
            }
            let all = self.0.get(&name).map_or(useful, |here| here.and(useful));
            self.0.insert(name, all);
        }
    }

    /// How many hosts there are, with those of no name as one.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Load balance within and between hosts; none on one host, or if no rank has done anything of its own.
    pub(crate) fn balance(&self) -> Option<HostBalance> {
        let all = self.0.values().copied().reduce(Spread::and)?;
        if self.0.len() < 2 || all.most.value == 0 {
            return None;
        }
        let greatest = self.0.values().map(Spread::mean).fold(0.0, f64::max);
        let most = all.most.value as f64;
        Some(HostBalance { within: greatest / most, between: all.mean() / greatest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(useful: &[(&str, u64)]) -> Hosts {
        let mut hosts = Hosts::default();
        for ((host, useful), rank) in useful.iter().zip(0..) {
            hosts.add(Hosts(BTreeMap::from([((*host).into(), Spread::of(*useful, rank))])));
        }
        hosts
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
        let mut all = Hosts::default();
        for host in 0..MOST_HOSTS as u64 + 10 {
            all.add(Hosts(BTreeMap::from([(host.to_string(), Spread::of(1, host))])));
        }
        assert_eq!(all.count(), MOST_HOSTS + 1);
        assert_eq!(all.0[""].ranks, 10);
        assert_eq!(all.0.values().map(|useful| useful.ranks).sum::<u64>(), MOST_HOSTS as u64 + 10);
    }
}
