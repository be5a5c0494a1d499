//! The peers of several ranks together.
//!
//! A peer is kept as its distance from the own rank, and ranks that have exchanged the same with a peer at the same
//! distance are one entry. So a grid of any size in which all do the same takes as many entries as each rank has
//! neighbours.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use super::ranks::{Block, Ranks};
use super::{Exchanged, Peer};
use crate::kit::shard::Sum;
use crate::kit::table::AnyTable;

/// So many blocks of ranks are kept apart: of what comes then, only the sum is known.
pub(crate) const MOST_BLOCKS: usize = 1 << 18;

/// A peer, as it means the same on all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Relative {
    /// A process of the world, by its rank less the own one.
    Distance(i64),
    /// See [`Peer`].
    None,
    Outside,
    Unknown,
    Others,
}

impl Relative {
    /// Of a rank's peer.
    pub(crate) fn of(peer: Peer, rank: u64) -> Self {
        match peer {
            Peer::NONE => Self::None,
            Peer::OUTSIDE => Self::Outside,
            Peer::OTHERS => Self::Others,
            peer => peer.world_rank().map_or(Self::Unknown, |peer| {
                Self::Distance(i64::from(peer) - i64::try_from(rank).unwrap_or(0))
            }),
        }
    }
}

/// What each rank of a set has exchanged with a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pair {
    pub(crate) function: u32,
    pub(crate) received: bool,
    pub(crate) peer: Relative,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

/// What some ranks together have exchanged with peers that are not told apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Coarse {
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

/// The peers of one rank or of several.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct MergedPeers {
    pairs: BTreeMap<Pair, Ranks>,
    /// By function, and whether it was received.
    coarse: BTreeMap<(u32, bool), Coarse>,
    /// How many blocks there are in all pairs.
    blocks: usize,
}

impl MergedPeers {
    /// Of this process, whose rows are together in `rows`.
    pub(crate) fn of(table: &AnyTable, rows: Sum, rank: u64) -> Self {
        let mut merged = Self::default();
        for row in rows.rows() {
            let Exchanged { function, received, peer, messages, bytes } = Exchanged::of(table, row);
            let peer = Relative::of(peer, rank);
            merged.insert(Pair { function, received, peer, messages, bytes }, Ranks::of(rank));
        }
        merged
    }

    /// The pairs, and which ranks they are of.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (Pair, &[Block])> {
        self.pairs.iter().map(|(pair, ranks)| (*pair, ranks.blocks()))
    }

    /// What is not told apart any more, by function and whether it was received.
    pub(crate) fn coarse(&self) -> impl Iterator<Item = ((u32, bool), Coarse)> {
        self.coarse.iter().map(|(key, coarse)| (*key, *coarse))
    }

    /// Adds the peers of other ranks.
    pub(crate) fn add(&mut self, other: Self) {
        for (pair, ranks) in other.pairs {
            self.insert(pair, ranks);
        }
        for ((function, received), Coarse { messages, bytes }) in other.coarse {
            self.add_coarse(function, received, messages, bytes);
        }
    }

    fn insert(&mut self, pair: Pair, ranks: Ranks) {
        match self.pairs.entry(pair) {
            Entry::Vacant(place) if self.blocks + ranks.blocks().len() <= MOST_BLOCKS => {
                self.blocks += ranks.blocks().len();
                place.insert(ranks);
            }
            Entry::Vacant(_) => self.forget(pair, &ranks),
            Entry::Occupied(mut place) => {
                let before = place.get().blocks().len();
                place.get_mut().add(ranks);
                self.blocks = self.blocks - before + place.get().blocks().len();
                if self.blocks > MOST_BLOCKS {
                    let ranks = place.remove();
                    self.blocks -= ranks.blocks().len();
                    self.forget(pair, &ranks);
                }
            }
        }
    }

    /// Keeps only the sum of what ranks have exchanged. With nobody in particular, nothing is lost but the ranks.
    fn forget(&mut self, pair: Pair, ranks: &Ranks) {
        let Pair { function, received, messages, bytes, .. } = pair;
        let count = ranks.count();
        let [messages, bytes] = [messages, bytes].map(|number| number.wrapping_mul(count));
        self.add_coarse(function, received, messages, bytes);
    }

    fn add_coarse(&mut self, function: u32, received: bool, messages: u64, bytes: u64) {
        let sum = self.coarse.entry((function, received)).or_default();
        sum.messages = sum.messages.wrapping_add(messages);
        sum.bytes = sum.bytes.wrapping_add(bytes);
    }

    /// All numbers, in an order that [`from_numbers`](Self::from_numbers) knows: a message to another rank.
    pub(crate) fn to_numbers(&self) -> Vec<u64> {
        let mut numbers = vec![self.pairs.len() as u64];
        for (pair, ranks) in &self.pairs {
            let Pair { function, received, peer, messages, bytes } = *pair;
            let (kind, distance) = match peer {
                Relative::Distance(distance) => (0, distance),
                Relative::None => (1, 0),
                Relative::Outside => (2, 0),
                Relative::Unknown => (3, 0),
                Relative::Others => (4, 0),
            };
            let pair = [function.into(), received.into(), kind, distance.cast_unsigned()];
            numbers.extend(pair);
            numbers.extend([messages, bytes, ranks.blocks().len() as u64]);
            for Block { first, length, stride, count } in ranks.blocks() {
                numbers.extend([*first, *length, *stride, *count]);
            }
        }
        for ((function, received), Coarse { messages, bytes }) in &self.coarse {
            numbers.extend([(*function).into(), (*received).into(), *messages, *bytes]);
        }
        numbers
    }

    /// The peers of numbers; `None` if they are of none.
    pub(crate) fn from_numbers(numbers: &[u64]) -> Option<Self> {
        let mut numbers = numbers.iter().copied();
        let mut peers = Self::default();
        for _ in 0..numbers.next()? {
            let mut next = || numbers.next();
            let function = next()?.try_into().ok()?;
            let received = next()? == 1;
            let peer = match (next()?, next()?) {
                (0, distance) => Relative::Distance(distance.cast_signed()),
                (1, _) => Relative::None,
                (2, _) => Relative::Outside,
                (3, _) => Relative::Unknown,
                (4, _) => Relative::Others,
                _ => return None,
            };
            let (messages, bytes, length) = (next()?, next()?, next()?);
            let mut block = || {
                let (first, length) = (next()?, next()?);
                Some(Block { first, length, stride: next()?, count: next()? })
            };
            let blocks = (0..length).map(|_| block()).collect::<Option<Vec<_>>>()?;
            let pair = Pair { function, received, peer, messages, bytes };
            peers.insert(pair, Ranks::from_blocks(blocks)?);
        }
        while let Some(function) = numbers.next() {
            let received = numbers.next()? == 1;
            let (messages, bytes) = (numbers.next()?, numbers.next()?);
            peers.add_coarse(function.try_into().ok()?, received, messages, bytes);
        }
        Some(peers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(function: u32, peer: Relative, bytes: u64) -> Pair {
        Pair { function, received: false, peer, messages: 1, bytes }
    }

    /// What a rank of a grid in two dimensions sends to its neighbours.
    fn stencil(rank: u64, width: u64, height: u64) -> MergedPeers {
        let (x, y) = (rank % width, rank / width);
        let mut peers = MergedPeers::default();
        for (exists, distance) in [
            (x > 0, -1),
            (x < width - 1, 1),
            (y > 0, -width.cast_signed()),
            (y < height - 1, width.cast_signed()),
        ] {
            if exists {
                peers.insert(sent(1, Relative::Distance(distance), 800), Ranks::of(rank));
            }
        }
        peers.insert(sent(2, Relative::None, 8), Ranks::of(rank));
        peers
    }

    /// All messages and bytes.
    fn total(peers: &MergedPeers) -> Coarse {
        let pairs = peers.pairs.iter().map(|(pair, ranks)| Coarse {
            messages: pair.messages * ranks.count(),
            bytes: pair.bytes * ranks.count(),
        });
        pairs.chain(peers.coarse().map(|(_, coarse)| coarse)).fold(Coarse::default(), |sum, one| {
            Coarse { messages: sum.messages + one.messages, bytes: sum.bytes + one.bytes }
        })
    }

    /// Merges in a binomial tree, as ranks do, and returns the most blocks that any of them had.
    fn merged(ranks: u64, one: impl Fn(u64) -> MergedPeers) -> (MergedPeers, usize) {
        // By a stack of parts that are merged already: part `n` of it is of twice as many ranks as part `n + 1`, or more.
        let mut parts: Vec<(u32, MergedPeers)> = Vec::new();
        let mut most = 0;
        for rank in 0..ranks {
            parts.push((0, one(rank)));
            while let [.., (one, _), (other, _)] = parts[..]
                && one == other
            {
                let (_, higher) = parts.pop().unwrap();
                let (level, lower) = parts.last_mut().unwrap();
                if *level > 5 {
                    let numbers = higher.to_numbers();
                    assert_eq!(MergedPeers::from_numbers(&numbers).as_ref(), Some(&higher));
                }
                lower.add(higher);
                *level += 1;
                most = most.max(lower.blocks);
            }
        }
        let all = parts.into_iter().map(|(_, part)| part).reduce(|mut all, part| {
            all.add(part);
            all
        });
        (all.unwrap(), most)
    }

    /// A grid of 2^20 ranks: five entries of one block each at the root, and few more on the way.
    #[test]
    fn a_grid_takes_no_more_memory_at_the_root() {
        let (width, height) = (1000, 1049);
        assert!(width * height > 1 << 20);
        let (all, most) = merged(width * height, |rank| stencil(rank, width, height));
        assert_eq!((all.pairs.len(), all.blocks), (5, 5));
        assert!(most < 30, "{most}");
        let messages = 2 * ((width - 1) * height + width * (height - 1));
        let expected = Coarse {
            messages: messages + width * height,
            bytes: 800 * messages + 8 * width * height,
        };
        assert_eq!(total(&all), expected);
    }

    /// All ranks send something else to all: more than there is room for, and the totals stay.
    #[test]
    fn different_ranks_are_bounded_and_lose_no_total() {
        let ranks = 600;
        let bytes = |rank: u64, peer: u64| 1 + rank * ranks + peer;
        let (all, most) = merged(ranks, |rank| {
            let mut peers = MergedPeers::default();
            for peer in 0..ranks {
                let distance = Relative::Distance(peer.cast_signed() - rank.cast_signed());
                peers.insert(sent(1, distance, bytes(rank, peer)), Ranks::of(rank));
            }
            peers
        });
        assert!(most <= MOST_BLOCKS && all.blocks == MOST_BLOCKS, "{most}");
        let pairs = ranks * ranks;
        assert_eq!(total(&all), Coarse { messages: pairs, bytes: pairs * (pairs + 1) / 2 });
        assert_eq!(all.coarse().next().unwrap().1.messages, pairs - MOST_BLOCKS as u64);
    }

    /// Ranks that are alike, and wherever they stand in the world irregular.
    #[test]
    fn irregular_ranks_are_bounded_too() {
        let mut peers = MergedPeers::default();
        let pair = sent(1, Relative::Distance(1), 3);
        let mut ranks = 0;
        for rank in 0..4 * MOST_BLOCKS as u64 {
            // Squares and their successors' gaps: no two are equal in a row.
            if rank.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 0 {
                peers.insert(pair, Ranks::of(rank));
                ranks += 1;
            }
        }
        assert!(peers.blocks <= MOST_BLOCKS);
        assert_eq!(total(&peers), Coarse { messages: ranks, bytes: 3 * ranks });
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let (peers, _) = merged(4, |rank| stencil(rank, 2, 2));
        let numbers = peers.to_numbers();
        for length in 0..numbers.len() {
            assert_eq!(MergedPeers::from_numbers(&numbers[..length]), None, "{length} numbers");
        }
    }
}
