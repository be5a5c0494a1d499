//! Orders of ranks on hosts with few bytes between hosts.
//!
//! To find the best one is hard (graph partitioning). A few ranks are tried in all ways. Of more, pairs of ranks
//! change places as in simulated annealing, from the best of some simple orders on; what comes out is never worse than these.

use std::collections::BTreeMap;

/// Ranks of which all ways are tried.
const ALL_WAYS: usize = 8;

/// How many exchanges of two ranks are tried: for each rank, and at most.
const TRIES_OF_RANK: usize = 6_000;
const MOST_TRIES: usize = 3_000_000;

/// How many times the search begins anew.
const STARTS: u64 = 3;

/// Which ranks send to each other, in both directions together.
#[derive(Default)]
pub(super) struct Graph {
    pairs: BTreeMap<(usize, usize), u64>,
    peers: Vec<Vec<(usize, u64)>>,
}

impl Graph {
    /// Of so many ranks, which send nothing yet.
    pub(super) fn new(ranks: usize) -> Self {
        Self { pairs: BTreeMap::new(), peers: vec![Vec::new(); ranks] }
    }

    /// Adds what a rank sends to another one. What it sends to itself goes nowhere.
    pub(super) fn add(&mut self, one: usize, other: usize, bytes: u64) {
        let ranks = self.peers.len();
        if one != other && one < ranks && other < ranks {
            let sum = self.pairs.entry((one.min(other), one.max(other))).or_default();
            *sum = sum.saturating_add(bytes);
        }
    }

    pub(super) fn finished(mut self) -> Self {
        for ((one, other), bytes) in &self.pairs {
            self.peers[*one].push((*other, *bytes));
            self.peers[*other].push((*one, *bytes));
        }
        self
    }

    /// The bytes of all pairs.
    pub(super) fn all(&self) -> u64 {
        self.pairs.values().fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }

    /// The bytes of those on different hosts.
    pub(super) fn between(&self, hosts: &[usize]) -> u64 {
        let apart = self.pairs.iter().filter(|((one, other), _)| hosts[*one] != hosts[*other]);
        apart.fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
    }

    /// The bytes of a rank with ranks on a host, without another rank.
    fn with_host(&self, rank: usize, host: usize, hosts: &[usize], without: usize) -> f64 {
        let there =
            self.peers[rank].iter().filter(|(peer, _)| *peer != without && hosts[*peer] == host);
        there.map(|(_, bytes)| *bytes as f64).sum()
    }

    /// How many bytes more are between hosts if two ranks change places.
    fn exchanged(&self, one: usize, other: usize, hosts: &[usize]) -> f64 {
        let (here, there) = (hosts[one], hosts[other]);
        self.with_host(one, here, hosts, other) - self.with_host(one, there, hosts, other)
            + self.with_host(other, there, hosts, one)
            - self.with_host(other, here, hosts, one)
    }
}

/// How many ranks each host has.
fn sizes(now: &[usize], hosts: usize) -> Vec<usize> {
    let mut sizes = vec![0; hosts];
    now.iter().for_each(|host| sizes[*host] += 1);
    sizes
}

/// Ranks in order: the first host full, then the next one.
pub(super) fn blocks(now: &[usize], hosts: usize) -> Vec<usize> {
    let sizes = sizes(now, hosts);
    sizes.iter().enumerate().flat_map(|(host, size)| std::iter::repeat_n(host, *size)).collect()
}

/// A rank to each host in turn, as long as there is room.
pub(super) fn round_robin(now: &[usize], hosts: usize) -> Vec<usize> {
    let mut room = sizes(now, hosts);
    let mut order = Vec::new();
    while order.len() < now.len() {
        for (host, room) in room.iter_mut().enumerate().filter(|(_, room)| **room > 0) {
            *room -= 1;
            order.push(host);
        }
    }
    order
}

/// Fills one host after the other, each time with the rank that has most bytes with those that are there already.
fn grown(graph: &Graph, now: &[usize], hosts: usize) -> Vec<usize> {
    let mut order = vec![usize::MAX; now.len()];
    let mut next = 0;
    for (host, size) in sizes(now, hosts).into_iter().enumerate() {
        let mut bytes: BTreeMap<usize, u64> = BTreeMap::new();
        for _ in 0..size {
            let nearest = bytes.iter().max_by_key(|(rank, bytes)| (**bytes, usize::MAX - **rank));
            let rank = nearest.map_or_else(
                || {
                    while order[next] != usize::MAX {
                        next += 1;
                    }
                    next
                },
                |(rank, _)| *rank,
            );
            bytes.remove(&rank);
            order[rank] = host;
            for (peer, more) in
                graph.peers[rank].iter().filter(|(peer, _)| order[*peer] == usize::MAX)
            {
                let sum = bytes.entry(*peer).or_default();
                *sum = sum.saturating_add(*more);
            }
        }
    }
    order
}

/// The best order that was found, with as many ranks on each host as now.
pub(super) fn improved(graph: &Graph, now: &[usize], hosts: usize) -> Vec<usize> {
    if hosts < 2 || graph.between(now) == 0 {
        return now.to_vec();
    }
    if now.len() <= ALL_WAYS {
        return best_of_all(graph, now, hosts);
    }
    let mut orders =
        vec![now.to_vec(), blocks(now, hosts), round_robin(now, hosts), grown(graph, now, hosts)];
    // The first of equal ones: better no change than one for nothing.
    let simple =
        orders.iter().min_by_key(|order| graph.between(order)).cloned().unwrap_or_default();
    orders = vec![simple.clone()];
    for start in 0..STARTS {
        orders.push(annealed(graph, simple.clone(), start));
    }
    orders.into_iter().min_by_key(|order| graph.between(order)).unwrap_or_else(|| now.to_vec())
}

/// Tries all orders of a few ranks.
fn best_of_all(graph: &Graph, now: &[usize], hosts: usize) -> Vec<usize> {
    fn place(
        graph: &Graph,
        room: &mut [usize],
        order: &mut Vec<usize>,
        count: usize,
        best: &mut (u64, Vec<usize>),
    ) {
        if order.len() == count {
            let bytes = graph.between(order);
            if bytes < best.0 {
                *best = (bytes, order.clone());
            }
            return;
        }
        for host in 0..room.len() {
            if room[host] > 0 {
                room[host] -= 1;
                order.push(host);
                place(graph, room, order, count, best);
                order.pop();
                room[host] += 1;
            }
        }
    }
    let mut best = (graph.between(now), now.to_vec());
    place(graph, &mut sizes(now, hosts), &mut Vec::new(), now.len(), &mut best);
    best.1
}

/// Exchanges ranks at random: also such that makes it worse, less and less.
fn annealed(graph: &Graph, mut order: Vec<usize>, start: u64) -> Vec<usize> {
    let ranks = order.len();
    let tries = ranks.saturating_mul(TRIES_OF_RANK).min(MOST_TRIES);
    let mut state = start.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1);
    // Splitmix64: the same numbers each time.
    let mut chance = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    let pairs = graph.pairs.len().max(1) as f64;
    let mean = graph.all() as f64 / pairs;
    // The ranks of each host, and where each rank is among them.
    let mut members: Vec<Vec<usize>> = Vec::new();
    let mut place = vec![0; ranks];
    for (rank, host) in order.iter().enumerate() {
        if members.len() <= *host {
            members.resize(*host + 1, Vec::new());
        }
        place[rank] = members[*host].len();
        members[*host].push(rank);
    }
    let mut best = (graph.between(&order), order.clone());
    let mut bytes = best.0 as f64;
    for attempt in 0..tries {
        // A rank goes where one of its peers is, in exchange for any rank there.
        let one = (chance() % ranks as u64) as usize;
        let peers = &graph.peers[one];
        if peers.is_empty() {
            continue;
        }
        let (peer, _) = peers[(chance() % peers.len() as u64) as usize];
        let there = &members[order[peer]];
        let other = there[(chance() % there.len() as u64) as usize];
        if order[one] == order[other] {
            continue;
        }
        let more = graph.exchanged(one, other, &order);
        // From about a pair's mean bytes down to a fiftieth of that.
        let heat = 1.5 * mean * 0.02_f64.powf(attempt as f64 / tries as f64);
        let luck = (chance() >> 11) as f64 / (1_u64 << 53) as f64;
        if more <= 0.0 || luck < (-more / heat).exp() {
            members[order[one]][place[one]] = other;
            members[order[other]][place[other]] = one;
            place.swap(one, other);
            order.swap(one, other);
            bytes += more;
            if bytes < best.0 as f64 {
                best = (graph.between(&order), order.clone());
                bytes = best.0 as f64;
            }
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid in which each rank sends to those to the right and below, with ranks renamed.
    fn grid(side: usize, name: &[usize]) -> Graph {
        let mut graph = Graph::new(side * side);
        for row in 0..side {
            for column in 0..side {
                let rank = row * side + column;
                if column + 1 < side {
                    graph.add(name[rank], name[rank + 1], 1000);
                }
                if row + 1 < side {
                    graph.add(name[rank], name[rank + side], 1000);
                }
            }
        }
        graph.finished()
    }

    /// Numbers in a random order.
    fn shuffled(count: usize, seed: u64) -> Vec<usize> {
        let mut state = seed;
        let mut numbers: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            numbers.swap(last, (state >> 33) as usize % (last + 1));
        }
        numbers
    }

    /// Four quarters of 4 × 4 have 16 pairs between them: less is not possible, and stripes of two rows have 24.
    #[test]
    fn a_shuffled_stencil_finds_its_blocks() {
        let now: Vec<usize> = (0..64).map(|rank| rank / 16).collect();
        for seed in 1..4 {
            let graph = grid(8, &shuffled(64, seed));
            assert!(graph.between(&now) > 40_000);
            let found = improved(&graph, &now, 4);
            assert_eq!(sizes(&found, 4), [16; 4]);
            assert!(graph.between(&found) <= 16_800, "{}", graph.between(&found));
        }
    }

    /// All permutations of ranks over places, by another way than that of the search.
    #[test]
    fn few_ranks_are_placed_as_well_as_can_be() {
        fn permutations(count: usize) -> Vec<Vec<usize>> {
            let mut all = vec![Vec::new()];
            for item in 0..count {
                all = all
                    .into_iter()
                    .flat_map(|order: Vec<usize>| {
                        (0..=order.len()).map(move |place| {
                            let mut order = order.clone();
                            order.insert(place, item);
                            order
                        })
                    })
                    .collect();
            }
            all
        }
        for (ranks, hosts, seed) in [(4, 2, 1), (6, 3, 2), (7, 2, 3), (8, 2, 4), (8, 3, 5)] {
            let numbers = shuffled(ranks * ranks, seed);
            let mut graph = Graph::new(ranks);
            for (place, number) in numbers.iter().enumerate() {
                graph.add(place / ranks, place % ranks, *number as u64);
            }
            let graph = graph.finished();
            let now: Vec<usize> = (0..ranks).map(|rank| rank % hosts).collect();
            let best = permutations(ranks).into_iter().map(|order| {
                let placed: Vec<usize> = order.iter().map(|place| now[*place]).collect();
                graph.between(&placed)
            });
            let found = improved(&graph, &now, hosts);
            assert_eq!(graph.between(&found), best.min().unwrap());
            assert_eq!(sizes(&found, hosts), sizes(&now, hosts));
        }
    }

    #[test]
    fn what_is_best_stays() {
        let graph = grid(4, &(0..16).collect::<Vec<_>>());
        let now: Vec<usize> = (0..16).map(|rank| rank / 8).collect();
        assert_eq!(improved(&graph, &now, 2), now);
        assert_eq!(improved(&graph, &[0; 16], 1), [0; 16]);
    }

    #[test]
    fn simple_orders_keep_the_room_of_hosts() {
        let now = [0, 1, 1, 2, 1];
        assert_eq!(blocks(&now, 3), [0, 1, 1, 1, 2]);
        assert_eq!(round_robin(&now, 3), [0, 1, 2, 1, 1]);
        assert_eq!(sizes(&grown(&grid(2, &[0, 1, 2, 3]), &[0, 1, 1, 0], 2), 2), [2, 2]);
    }
}
