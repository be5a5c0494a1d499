//! World ranks of a communicator's members: a few bytes where they are evenly spaced, as they are as a rule, so that all
//! ranks of a large world can say whom they wait for.

use std::rc::Rc;

/// World ranks, in the order of the members.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::hang) enum Members {
    /// `first`, `first + stride` and so on: all of them are ranks.
    Regular { first: u32, stride: i64, size: u32 },
    /// Any others; `None` of a process that is not in the world.
    Listed(Rc<[Option<u32>]>),
}

impl Members {
    /// Nobody.
    pub(in crate::hang) const NONE: Self = Self::Regular { first: 0, stride: 0, size: 0 };

    /// One rank.
    pub(in crate::hang) const fn one(rank: u32) -> Self {
        Self::Regular { first: rank, stride: 0, size: 1 }
    }

    /// Evenly spaced ranks; `None` if some of them would be none.
    pub(in crate::hang) fn regular(first: u64, stride: i64, size: u64) -> Option<Self> {
        let (first, size) = (u32::try_from(first).ok()?, u32::try_from(size).ok()?);
        let way = stride.checked_mul(i64::from(size.saturating_sub(1)))?;
        u32::try_from(i64::from(first).checked_add(way)?).ok()?;
        Some(Self::Regular { first, stride, size })
    }

    /// What tells it from others, in a few bytes: equal for the same ranks, but for lists that are equal and not one.
    pub(in crate::hang) fn identity(&self) -> (usize, i64, u32) {
        match self {
            Self::Regular { first, stride, size } => (*first as usize, *stride, *size),
            // No regular one has so many members.
            Self::Listed(ranks) => (ranks.as_ptr().addr(), ranks.len() as i64, u32::MAX),
        }
    }

    pub(in crate::hang) fn size(&self) -> usize {
        match self {
            Self::Regular { size, .. } => *size as usize,
            Self::Listed(ranks) => ranks.len(),
        }
    }

    /// The world rank of a member; `None` if there is no such member, or if it is not in the world.
    pub(in crate::hang) fn get(&self, rank: u32) -> Option<u32> {
        match self {
            Self::Regular { first, stride, size } => {
                let rank = (rank < *size).then_some(i64::from(rank))?;
                u32::try_from(i64::from(*first) + stride * rank).ok()
            }
            Self::Listed(ranks) => *ranks.get(rank as usize)?,
        }
    }

    /// Those that are in the world.
    pub(in crate::hang) fn iter(&self) -> impl Iterator<Item = u32> {
        (0..self.size() as u32).filter_map(|rank| self.get(rank))
    }

    /// Are all of them in the world?
    pub(in crate::hang) fn are_in_world(&self) -> bool {
        match self {
            Self::Regular { .. } => true,
            Self::Listed(ranks) => ranks.iter().all(Option::is_some),
        }
    }

    pub(in crate::hang) fn contains(&self, rank: u32) -> bool {
        match self {
            Self::Regular { size: 0, .. } => false,
            Self::Regular { first, stride: 0, .. } => rank == *first,
            Self::Regular { first, stride, size } => {
                let way = i64::from(rank) - i64::from(*first);
                way % stride == 0 && (0..i64::from(*size)).contains(&(way / stride))
            }
            Self::Listed(ranks) => ranks.contains(&Some(rank)),
        }
    }
}

impl FromIterator<Option<u32>> for Members {
    fn from_iter<T: IntoIterator<Item = Option<u32>>>(ranks: T) -> Self {
        Self::Listed(ranks.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_members_are_those_of_their_list() {
        for (first, stride, size) in [(0, 1, 5), (3, 2, 4), (9, -3, 4), (7, 0, 1), (4, 1, 0)] {
            let regular = Members::regular(first, stride, size).unwrap();
            let list: Vec<u32> =
                (0..size as i64).map(|rank| (first as i64 + stride * rank) as u32).collect();
            let listed: Members = list.iter().copied().map(Some).collect();
            assert_eq!(regular.iter().collect::<Vec<_>>(), list);
            assert_eq!(listed.iter().collect::<Vec<_>>(), list);
            assert_eq!((regular.size(), listed.size()), (list.len(), list.len()));
            for rank in 0..20 {
                assert_eq!(regular.contains(rank), list.contains(&rank), "{regular:?}, {rank}");
                assert_eq!(listed.contains(rank), list.contains(&rank), "{regular:?}, {rank}");
                assert_eq!(regular.get(rank), list.get(rank as usize).copied());
            }
        }
        assert_eq!(Members::regular(2, -1, 4), None);
        assert_eq!(Members::regular(u64::from(u32::MAX), 1, 2), None);
        assert_eq!(Members::regular(0, i64::MAX, 3), None);
        let outside: Members = [Some(1), None].into_iter().collect();
        assert!(!outside.are_in_world() && outside.contains(1));
    }
}
