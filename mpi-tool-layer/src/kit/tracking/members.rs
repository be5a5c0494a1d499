//! Which processes a communicator has: their ranks in `MPI_COMM_WORLD`.

use core::ffi::c_int;
use core::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};

/// In a list: a process that is not in the world.
const NOBODY: u32 = u32::MAX;

/// The world ranks of a group's processes, in the group's order. Regular groups, which are the most, take no memory
/// that grows with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Members {
    /// `first`, `first + stride`, `first + 2 * stride` and so on.
    Regular {
        /// The first one's.
        first: u32,
        /// How far they are apart.
        stride: i64,
        /// How many.
        size: u32,
    },
    /// Any others; `u32::MAX` is a process that is not in the world.
    Listed(Box<[u32]>),
}

impl Members {
    /// Of the ranks that `MPI_Group_translate_ranks` gives: what is negative is not in the world.
    pub fn of(ranks: &[c_int]) -> Self {
        let ranks: Vec<u32> =
            ranks.iter().map(|rank| u32::try_from(*rank).unwrap_or(NOBODY)).collect();
        let size = ranks.len() as u32;
        let (Some(&first), false) = (ranks.first(), ranks.contains(&NOBODY)) else {
            return Self::Listed(ranks.into_boxed_slice());
        };
        let stride = ranks.get(1).map_or(0, |second| i64::from(*second) - i64::from(first));
        let regular = Self::Regular { first, stride, size };
        if (0..size).all(|rank| regular.world_rank(rank) == Some(ranks[rank as usize])) {
            regular
        } else {
            Self::Listed(ranks.into_boxed_slice())
        }
    }

    /// How many processes.
    pub fn size(&self) -> u32 {
        match self {
            Self::Regular { size, .. } => *size,
            Self::Listed(ranks) => ranks.len() as u32,
        }
    }

    /// Are all of them in the world?
    pub(crate) fn are_in_world(&self) -> bool {
        match self {
            Self::Regular { .. } => true,
            Self::Listed(ranks) => !ranks.contains(&NOBODY),
        }
    }

    /// The world rank of a process by its rank in the group; `None` if there is no such rank, or if it is not in the
    /// world.
    pub fn world_rank(&self, rank: u32) -> Option<u32> {
        match self {
            Self::Regular { first, stride, size } => {
                let offset = (rank < *size).then(|| stride.checked_mul(rank.into()))??;
                u32::try_from(i64::from(*first) + offset).ok()
            }
            Self::Listed(ranks) => ranks.get(rank as usize).copied().filter(|rank| *rank != NOBODY),
        }
    }

    /// A number that is the same for the same members in the same order, however they are kept.
    pub fn hash(&self) -> u64 {
        let ranks = (0..self.size()).map(|rank| self.world_rank(rank).unwrap_or(NOBODY).into());
        hash(ranks)
    }
}

/// Peers as [`Members::Regular`] has them, to be read without a lock. Zeros are nobody.
#[derive(Debug, Default)]
pub(super) struct Spaced {
    /// The first one, and above it how many there are: written last.
    peers: AtomicU64,
    stride: AtomicU64,
}

impl Spaced {
    /// Keeps who the peers are, if they are evenly spaced. A number is always of the same communicator, whose peers do not
    /// change: so they are written once, or again as they are.
    pub(super) fn keep(&self, peers: &Members) {
        if let Members::Regular { first, stride, size } = peers {
            self.stride.store(stride.cast_unsigned(), Relaxed);
            self.peers.store(u64::from(*first) | u64::from(*size) << 32, Release);
        }
    }

    /// The world rank of a peer by its rank; `None` if that is not known here.
    pub(super) fn world_rank(&self, rank: u32) -> Option<u32> {
        let peers = self.peers.load(Acquire);
        let stride = self.stride.load(Relaxed).cast_signed();
        Members::Regular { first: peers as u32, stride, size: (peers >> 32) as u32 }
            .world_rank(rank)
    }
}

/// Mixes numbers, the same way in each process: the finalizer of SplitMix64 after each of them.
pub(crate) fn hash(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(0x9e37_79b9_7f4a_7c15, |state, number| {
        let mut mixed = (state ^ number).wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)).rotate_left(23)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_groups_are_short_and_all_are_right() {
        for (ranks, is_regular) in [
            (vec![0, 1, 2, 3], true),
            (vec![7], true),
            (vec![9, 6, 3, 0], true),
            (vec![0, 2, 5], false),
            (vec![1, mpi_sys::MPI_UNDEFINED, 3], false),
            (vec![], false),
        ] {
            let members = Members::of(&ranks);
            assert_eq!(matches!(members, Members::Regular { .. }), is_regular, "{ranks:?}");
            assert_eq!(members.size() as usize, ranks.len());
            assert_eq!(members.are_in_world(), !ranks.contains(&mpi_sys::MPI_UNDEFINED));
            for (rank, world) in (0..).zip(&ranks) {
                assert_eq!(members.world_rank(rank), u32::try_from(*world).ok(), "{ranks:?}");
            }
            assert_eq!(members.world_rank(members.size()), None);
        }
    }

    #[test]
    fn members_and_their_order_make_the_hash() {
        let hash = |ranks: &[c_int]| Members::of(ranks).hash();
        assert_eq!(hash(&[1, 3, 5]), Members::Listed(Box::new([1, 3, 5])).hash());
        let all =
            [hash(&[]), hash(&[0]), hash(&[0, 1]), hash(&[1, 0]), hash(&[0, 1, 2]), hash(&[1])];
        for (position, one) in all.iter().enumerate() {
            assert!(!all[..position].contains(one));
        }
    }

    /// As `Members` says it, whoever they are.
    #[test]
    fn spaced_peers_are_the_members() {
        for ranks in [&[0, 1, 2][..], &[7], &[9, 6, 3, 0], &[0, 2, 5], &[]] {
            let members = Members::of(ranks);
            let spaced = Spaced::default();
            assert_eq!(spaced.world_rank(0), None);
            spaced.keep(&members);
            let is_regular = matches!(members, Members::Regular { .. });
            for rank in 0..5 {
                let expected = members.world_rank(rank).filter(|_| is_regular);
                assert_eq!(spaced.world_rank(rank), expected, "{rank} of {ranks:?}");
            }
        }
    }
}
