//! Sets of ranks. The ranks of a grid of up to three dimensions that have a neighbour in some direction are one
//! [`Block`], however large the grid is.

/// Runs of ranks at equal distances: `length` ranks from `first` on, the same again `stride` further, and so on, `count`
/// times in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) first: u64,
    pub(crate) length: u64,
    /// 0 if there is one run.
    pub(crate) stride: u64,
    pub(crate) count: u64,
}

impl Block {
    /// One run.
    pub(crate) const fn run(first: u64, length: u64) -> Self {
        Self { first, length, stride: 0, count: 1 }
    }

    /// How many ranks.
    fn ranks(self) -> u64 {
        self.length.saturating_mul(self.count)
    }

    /// The rank behind the last one.
    fn end(self) -> u64 {
        self.first
            .saturating_add(self.stride.saturating_mul(self.count.saturating_sub(1)))
            .saturating_add(self.length)
    }

    /// Without its first run, and without its last one.
    fn without_one(self, first: bool) -> Option<Self> {
        let Self { first: begin, length, stride, count } = self;
        let begin = if first { begin.saturating_add(stride) } else { begin };
        match count {
            0 | 1 => None,
            2 => Some(Self::run(begin, length)),
            _ => Some(Self { first: begin, length, stride, count: count - 1 }),
        }
    }

    /// Both as one block, if `next`, which is behind this one, goes on in the same way.
    fn and(self, next: Self) -> Option<Self> {
        let stride = next.first.checked_sub(self.first)?;
        let fits = |block: Self, stride: u64| block.count == 1 || block.stride == stride;
        let stride = stride.checked_div(self.count).filter(|each| each * self.count == stride)?;
        let one = self.length == next.length && fits(self, stride) && fits(next, stride);
        one.then(|| Self { stride, count: self.count.saturating_add(next.count), ..self })
    }
}

/// A set of ranks, as blocks in ascending order that do not interleave.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ranks(Vec<Block>);

impl Ranks {
    /// One rank.
    pub(crate) fn of(rank: u64) -> Self {
        Self(vec![Block::run(rank, 1)])
    }

    /// Of blocks as [`blocks`](Self::blocks) returns them; `None` if they are not in order.
    pub(crate) fn from_blocks(blocks: Vec<Block>) -> Option<Self> {
        let mut end = 0;
        for block in &blocks {
            let Block { first, length, stride, count } = *block;
            if first < end || length == 0 || count == 0 || count > 1 && stride <= length {
                return None;
            }
            end = block.end();
        }
        Some(Self(blocks))
    }

    /// The blocks, in order.
    pub(crate) fn blocks(&self) -> &[Block] {
        &self.0
    }

    /// How many ranks.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().fold(0, |sum, block| sum.saturating_add(block.ranks()))
    }

    /// Adds ranks that are not in the set. Merging in a tree adds higher ones, which costs no more than there are blocks.
    pub(crate) fn add(&mut self, other: Self) {
        let first = other.0.first().map_or(u64::MAX, |block| block.first);
        if self.0.last().is_none_or(|block| block.end() <= first) {
            other.0.into_iter().for_each(|block| self.push(block));
            return;
        }
        let all = core::mem::take(&mut self.0);
        let mut runs: Vec<Block> = all.into_iter().chain(other.0).flat_map(runs).collect();
        runs.sort_unstable_by_key(|run| run.first);
        runs.into_iter().for_each(|run| self.push(run));
    }

    /// Adds a block behind all others.
    fn push(&mut self, block: Block) {
        if let Some(last) = self.0.last().copied()
            && last.end() == block.first
        {
            // The last run and the first one are one run.
            self.0.pop();
            self.0.extend(last.without_one(false));
            let begin = last.end() - last.length;
            self.fold(Block::run(begin, last.length + block.length));
            if let Some(rest) = block.without_one(true) {
                self.fold(rest);
            }
        } else {
            self.fold(block);
        }
    }

    /// Adds a block that does not touch the last one, and joins blocks as long as that is possible.
    fn fold(&mut self, mut block: Block) {
        while let Some(joined) = self.0.last().and_then(|last| last.and(block)) {
            self.0.pop();
            block = joined;
        }
        self.0.push(block);
    }
}

/// The runs of a block.
fn runs(block: Block) -> impl Iterator<Item = Block> {
    let Block { first, length, stride, count } = block;
    (0..count).map(move |number| Block::run(first + number * stride, length))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn all(ranks: &Ranks) -> Vec<u64> {
        let runs = ranks.blocks().iter().copied().flat_map(runs);
        runs.flat_map(|run| run.first..run.first + run.length).collect()
    }

    /// Merges the ranks of a world that fulfil a condition, in a binomial tree, and returns the most blocks on the way.
    fn merged(ranks: u64, is_in: impl Fn(u64) -> bool) -> (Ranks, usize) {
        let one = |rank| if is_in(rank) { Ranks::of(rank) } else { Ranks::default() };
        let mut all: Vec<Ranks> = (0..ranks).map(one).collect();
        let mut most = 0;
        let mut distance = 1;
        while distance < all.len() {
            for rank in (0..all.len() - distance).step_by(2 * distance) {
                let other = core::mem::take(&mut all[rank + distance]);
                all[rank].add(other);
                most = most.max(all[rank].blocks().len());
            }
            distance *= 2;
        }
        (all.swap_remove(0), most)
    }

    #[test]
    fn neighbours_in_grids_are_one_block() {
        let (x, y, z) = (12, 10, 9);
        let world = x * y * z;
        for (name, is_in) in [
            ("right", &(|rank| rank % x < x - 1) as &dyn Fn(u64) -> bool),
            ("left", &|rank| rank % x > 0),
            ("up", &|rank| rank / x % y < y - 1),
            ("down", &|rank| rank / x % y > 0),
            ("front", &|rank| rank / x / y < z - 1),
            ("all", &|_| true),
            ("even", &|rank| rank % 2 == 0),
        ] {
            let (ranks, most) = merged(world, is_in);
            let expected: Vec<u64> = (0..world).filter(|rank| is_in(*rank)).collect();
            assert_eq!(all(&ranks), expected, "{name}");
            assert_eq!(ranks.blocks().len(), 1, "{name}: {ranks:?}");
            assert!(most <= 5, "{name}: {most}");
        }
    }

    /// Of any pattern, in any order, the set is right.
    #[test]
    fn any_ranks_come_back() {
        let mut seed = 7_u64;
        let mut random = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        for _ in 0..300 {
            let density = 1 + random(9);
            let expected: BTreeSet<u64> = (0..150).filter(|_| random(10) < density).collect();
            let (ranks, _) = merged(150, |rank| expected.contains(&rank));
            let sorted: Vec<u64> = expected.iter().copied().collect();
            assert_eq!(all(&ranks), sorted);
            assert_eq!(ranks.count(), sorted.len() as u64);
            assert_eq!(Ranks::from_blocks(ranks.blocks().to_vec()), Some(ranks));
            // Lower ranks to higher ones, and one between the others.
            let (mut some, mut others) = (Ranks::default(), Ranks::default());
            for rank in sorted.iter().rev() {
                let set = if random(2) == 0 { &mut some } else { &mut others };
                set.add(Ranks::of(*rank));
            }
            some.add(others);
            assert_eq!(all(&some), sorted);
        }
    }

    #[test]
    fn what_is_no_set_is_refused() {
        for blocks in [
            vec![Block::run(3, 0)],
            vec![Block::run(3, 2), Block::run(4, 1)],
            vec![Block { first: 0, length: 2, stride: 1, count: 2 }],
            vec![Block { first: 0, length: 2, stride: 3, count: 0 }],
        ] {
            assert_eq!(Ranks::from_blocks(blocks), None);
        }
    }
}
