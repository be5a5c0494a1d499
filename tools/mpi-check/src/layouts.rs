//! Where the data of a datatype lie: some pieces, each of equal blocks at equal distances. So a column of a matrix is one
//! piece. What needs more pieces than a layout may have is not known.

use smallvec::SmallVec;

/// How many pieces most layouts have at most: those that are kept where they are, and that other processes know.
pub(crate) const PIECES: usize = 4;
/// How many pieces a layout may have.
const MOST: usize = 64;
/// How many pairs of pieces and of blocks are compared at most to say whether two layouts meet.
pub(crate) const STEPS: u64 = 1 << 16;

/// Blocks of equal length at equal distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Where the first block begins.
    pub(crate) start: i64,
    /// Bytes of a block; never 0.
    pub(crate) length: u64,
    /// From one block's beginning to the next one's; positive.
    pub(crate) stride: i64,
    /// How many blocks; never 0.
    pub(crate) count: u64,
}

/// The bytes that some data take, from an address of nobody's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Layout(SmallVec<[Piece; PIECES]>);

impl Layout {
    /// So many bytes.
    pub(crate) fn bytes(length: u64) -> Self {
        let mut layout = Self::default();
        if length != 0 && length <= i64::MAX as u64 {
            layout.0.push(Piece { start: 0, length, stride: length as i64, count: 1 });
        }
        layout
    }

    /// From pieces that were a layout's.
    pub(crate) fn of(pieces: impl Iterator<Item = Piece>) -> Self {
        Self(
            pieces
                .filter(|piece| piece.length > 0 && piece.count > 0 && piece.stride > 0)
                .collect(),
        )
    }

    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.0
    }

    /// Do both consist of elements of so many bytes, those of one between those of the other? `false` if they may consist of
    /// others.
    pub(crate) fn is_askew(&self, other: &Self, size: u64) -> bool {
        let offset = |layout: &Self| {
            let size = i64::try_from(size).ok().filter(|size| *size > 0)?;
            let first = layout.0.first()?.start.rem_euclid(size);
            let is_even = |piece: &Piece| {
                piece.start.rem_euclid(size) == first
                    && piece.length.is_multiple_of(size as u64)
                    && (piece.count == 1 || piece.stride % size == 0)
            };
            layout.0.iter().all(is_even).then_some(first)
        };
        offset(self).zip(offset(other)).is_some_and(|(own, theirs)| own != theirs)
    }

    /// The same so many times, one at each multiple of a distance; `None` if that is too much.
    pub(crate) fn repeated(&self, count: u64, distance: i64) -> Option<Self> {
        let mut result = Self::default();
        if count == 0 {
            return Some(result);
        }
        if count == 1 {
            return Some(self.clone());
        }
        let last = i64::try_from(count - 1).ok()?.checked_mul(distance)?;
        for piece in &self.0 {
            let width = piece.stride.checked_mul(i64::try_from(piece.count).ok()?)?;
            let start = piece.start.checked_add(last.min(0))?;
            if piece.count == 1 && distance == piece.length as i64 {
                let length = piece.length.checked_mul(count)?;
                result.push(Piece {
                    start,
                    length,
                    stride: i64::try_from(length).ok()?,
                    count: 1,
                })?;
            } else if piece.count == 1 && distance != 0 {
                result.push(Piece { start, count, stride: distance.checked_abs()?, ..*piece })?;
            } else if distance == width {
                result.push(Piece { count: piece.count.checked_mul(count)?, ..*piece })?;
            } else {
                for number in 0..count {
                    let start = piece.start.checked_add(distance.checked_mul(number as i64)?)?;
                    result.push(Piece { start, ..*piece })?;
                }
            }
        }
        Some(result)
    }

    /// The same elsewhere.
    pub(crate) fn moved(mut self, distance: i64) -> Option<Self> {
        for piece in &mut self.0 {
            piece.start = piece.start.checked_add(distance)?;
        }
        Some(self)
    }

    /// Another one in addition.
    pub(crate) fn and(mut self, other: &Self) -> Option<Self> {
        other.0.iter().try_for_each(|piece| self.push(*piece))?;
        Some(self)
    }

    /// `None` if there is no room.
    fn push(&mut self, piece: Piece) -> Option<()> {
        if let Some(last) = self.0.last_mut()
            && last.count == 1
            && piece.count == 1
            && last.start.checked_add(last.length as i64) == Some(piece.start)
        {
            last.length = last.length.checked_add(piece.length)?;
            last.stride = i64::try_from(last.length).ok()?;
            return Some(());
        }
        if self.0.len() == MOST {
            return None;
        }
        self.0.push(piece);
        Some(())
    }

    /// Have both a byte in common? `false` if that cannot be said.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.meets_within(other, &mut { STEPS })
    }

    /// The same in so many steps.
    pub(crate) fn meets_within(&self, other: &Self, steps: &mut u64) -> bool {
        self.0.iter().any(|one| other.0.iter().any(|two| one.meets(two, steps) == Some(true)))
    }

    /// All blocks: where each begins, and how many bytes it has.
    pub(crate) fn blocks(&self) -> impl DoubleEndedIterator<Item = (i64, u64)> {
        let of = |piece: &Piece| {
            let Piece { start, length, stride, count } = *piece;
            (0..count).map(move |number| (start + number as i64 * stride, length))
        };
        self.0.iter().flat_map(of)
    }

    /// How many blocks there are.
    pub(crate) fn count(&self) -> u64 {
        self.0.iter().fold(0, |sum, piece| sum.saturating_add(piece.count))
    }

    /// The first byte and the one behind the last, if there are any.
    pub(crate) fn hull(&self) -> Option<(i64, i64)> {
        let mut hulls = self.0.iter().map(Piece::hull);
        let first = hulls.next()??;
        hulls.try_fold(first, |all, one| Some((all.0.min(one?.0), all.1.max(one?.1))))
    }

    /// How many bytes it takes, if no two of its blocks overlap.
    pub(crate) fn size(&self) -> u64 {
        self.0
            .iter()
            .fold(0, |sum, piece| sum.saturating_add(piece.length.saturating_mul(piece.count)))
    }
}

impl Piece {
    /// The first byte and the one behind the last.
    fn hull(&self) -> Option<(i64, i64)> {
        let last = i64::try_from(self.count - 1).ok()?.checked_mul(self.stride)?;
        let end = self.start.checked_add(last)?.checked_add(i64::try_from(self.length).ok()?)?;
        Some((self.start, end))
    }

    /// Have both a byte in common? `None` if nobody can say so in the steps that are left.
    fn meets(&self, other: &Self, steps: &mut u64) -> Option<bool> {
        *steps = steps.checked_sub(1)?;
        let ((one, one_end), (two, two_end)) = (self.hull()?, other.hull()?);
        if one >= two_end || two >= one_end {
            return Some(false);
        }
        if self.count > 1 && other.count > 1 && self.stride == other.stride {
            return self.meets_in_step(other);
        }
        let (few, many) = if self.count <= other.count { (self, other) } else { (other, self) };
        *steps = steps.checked_sub(few.count)?;
        let length = i64::try_from(many.length).ok()?;
        for number in 0..few.count as i64 {
            let begin = few.start.checked_add(number.checked_mul(few.stride)?)?;
            let end = begin.checked_add(few.length as i64)?;
            // The first block of the other one that ends behind `begin`, and the last one that begins before `end`.
            let first =
                begin.checked_sub(many.start)?.checked_sub(length)?.div_euclid(many.stride) + 1;
            let last = end.checked_sub(many.start)?.checked_sub(1)?.div_euclid(many.stride);
            if first.max(0) <= last.min(many.count as i64 - 1) {
                return Some(true);
            }
        }
        Some(false)
    }

    /// The same of two with equal distances, as columns of a matrix have: it matters only by how many blocks one is ahead.
    fn meets_in_step(&self, other: &Self) -> Option<bool> {
        let ahead = self.start.checked_sub(other.start)?;
        let (own, theirs) = (i64::try_from(self.length).ok()?, i64::try_from(other.length).ok()?);
        let first = ahead.checked_add(own)?.checked_neg()?.div_euclid(self.stride) + 1;
        let last = theirs.checked_sub(ahead)?.checked_sub(1)?.div_euclid(self.stride);
        let (least, most) = (1 - other.count as i64, self.count as i64 - 1);
        Some(first.max(least) <= last.min(most))
    }
}
