//! Several strided parts of one slice at once.

use core::marker::PhantomData;
use core::ops::Range;

use super::derived::Datatype;
use super::error::{Error, ErrorClass, RmpiResult};
use super::runtime::Runtime;
use super::strided::{Kept, Strided, StridedMut, vector};
use crate::MpiDatatype;

/// Blocks of a slice at equal distances, such as a part of a row or a column of a matrix: which elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section {
    first: usize,
    count: usize,
    blocklength: usize,
    stride: usize,
}

impl Section {
    /// `count` blocks of `blocklength` elements, of which the first begins at `first`; from the start of one to that
    /// of the next are `stride` elements. C: the arguments of `MPI_Type_vector`.
    pub const fn blocks(first: usize, count: usize, blocklength: usize, stride: usize) -> Self {
        Self { first, count, blocklength, stride }
    }

    /// Elements one after the other.
    ///
    /// ```
    /// use rmpi::Section;
    /// assert_eq!(Section::range(4..10), Section::blocks(4, 1, 6, 6));
    /// ```
    pub const fn range(elements: Range<usize>) -> Self {
        let length = elements.end.saturating_sub(elements.start);
        Self::blocks(elements.start, 1, length, length)
    }

    /// A row of a matrix that lies in memory row by row, in some columns of it. A row has `width` elements.
    ///
    /// ```
    /// use rmpi::Section;
    /// // Of a matrix of 10 columns, row 2, without the first and the last element.
    /// assert_eq!(Section::row(2, 1..9, 10), Section::range(21..29));
    /// ```
    pub const fn row(row: usize, columns: Range<usize>, width: usize) -> Self {
        let first = row.saturating_mul(width);
        Self::range(first.saturating_add(columns.start)..first.saturating_add(columns.end))
    }

    /// A column of a matrix that lies in memory row by row, in some rows of it. A row has `width` elements.
    ///
    /// ```
    /// use rmpi::Section;
    /// // Of a matrix of 10 columns, column 3, in rows 1 to 4.
    /// assert_eq!(Section::column(3, 1..5, 10), Section::blocks(13, 4, 1, 10));
    /// ```
    pub const fn column(column: usize, rows: Range<usize>, width: usize) -> Self {
        let first = rows.start.saturating_mul(width).saturating_add(column);
        Self::blocks(first, rows.end.saturating_sub(rows.start), 1, width)
    }

    /// How many elements are in it.
    pub const fn len(&self) -> usize {
        self.count.saturating_mul(self.blocklength)
    }

    /// Has it no elements?
    pub const fn is_empty(&self) -> bool {
        self.count == 0 || self.blocklength == 0
    }

    /// One behind the last element. For sections that lie within a slice.
    const fn end(&self) -> usize {
        if self.is_empty() {
            self.first
        } else {
            self.first + (self.count - 1) * self.stride + self.blocklength
        }
    }

    /// Have both an element? For sections that lie within a slice.
    fn overlaps(&self, other: &Self) -> bool {
        if self.is_empty() || other.is_empty() {
            return false;
        }
        if self.end() <= other.first || other.end() <= self.first {
            return false;
        }
        let block = |section: &Self, at: usize| {
            let first = section.first + at * section.stride;
            first..first + section.blocklength
        };
        // The blocks of each begin farther and farther, and may overlap with those of their own section.
        let (mut mine, mut theirs) = (0, 0);
        while mine < self.count && theirs < other.count {
            let (one, another) = (block(self, mine), block(other, theirs));
            if one.end <= another.start {
                mine += 1;
            } else if another.end <= one.start {
                theirs += 1;
            } else {
                return true;
            }
        }
        false
    }
}

/// Parts of one slice that operations may use at the same time: `W` that are written to, and `R` that are read. Two
/// halo columns of one matrix can be received at once, and more be sent meanwhile.
///
/// It says which parts, keeps their datatypes, and can be used again and again, with any slice of its length. That
/// no part that is written overlaps another one is checked when it is made.
///
/// ```no_run
/// use rmpi::{RmpiResult, Section, Sections, Tag};
///
/// # fn example(world: &rmpi::Communicator<'_>, left: rmpi::Process<'_>, right: rmpi::Process<'_>) -> RmpiResult {
/// let (rows, width) = (10, 20);
/// let mut matrix = vec![0.0_f64; rows * width];
/// let sides = Sections::<f64, 2, 2>::new(
///     world,
///     matrix.len(),
///     [0, width - 1].map(|column| Section::column(column, 0..rows, width)),
///     [1, width - 2].map(|column| Section::column(column, 0..rows, width)),
/// )?;
/// for _step in 0..100 {
///     let ([from_left, from_right], [to_left, to_right]) = sides.of(&mut matrix)?;
///     rmpi::scope(|scope| -> RmpiResult {
///         left.irecv(scope, from_left, Tag::new(0))?;
///         right.irecv(scope, from_right, Tag::new(1))?;
///         left.isend(scope, to_left, Tag::new(1))?;
///         right.isend(scope, to_right, Tag::new(0))?;
///         Ok(())
///     })?;
///     matrix[width + 1] += 1.0;
/// }
/// # Ok(()) }
/// ```
///
/// While the parts are used, the slice cannot be:
///
/// ```compile_fail,E0502
/// # fn example(sides: &rmpi::Sections<'_, f64, 1, 0>, matrix: &mut [f64], left: rmpi::Process<'_>) -> rmpi::RmpiResult {
/// let ([from_left], []) = sides.of(matrix)?;
/// println!("{}", matrix[0]);
/// left.recv(from_left, rmpi::Tag::new(0))
/// # }
/// ```
#[derive(Debug)]
pub struct Sections<'ctx, T, const W: usize, const R: usize> {
    length: usize,
    written: [(Section, Datatype<'ctx>); W],
    read: [(Section, Datatype<'ctx>); R],
    _elements: PhantomData<fn(T)>,
}

impl<'ctx, T: MpiDatatype, const W: usize, const R: usize> Sections<'ctx, T, W, R> {
    /// Parts of slices of a length: those that are written to, and those that are read.
    /// C: `MPI_Type_vector` and `MPI_Type_commit`, for each. Local.
    ///
    /// # Errors
    /// [`COUNT`](ErrorClass::COUNT) if a part does not lie within; [`ARG`](ErrorClass::ARG) if one that is written
    /// overlaps itself or another one; what MPI says.
    pub fn new(
        runtime: &'ctx impl Runtime,
        length: usize,
        written: [Section; W],
        read: [Section; R],
    ) -> RmpiResult<Self> {
        let datatype = |section: Section| {
            let Section { first, count, blocklength, stride } = section;
            let Some(room) = length.checked_sub(first) else {
                return Err(Error::refused(
                    ErrorClass::COUNT,
                    "a section does not begin in the slice",
                ));
            };
            Ok((section, vector::<T>(runtime, room, count, blocklength, stride)?))
        };
        let (into, from) = (each(written, datatype)?, each(read, datatype)?);
        // All lie within the slice, so that no number overflows.
        for (at, section) in written.iter().enumerate() {
            let is_alone = section.count < 2 || section.stride >= section.blocklength;
            let others = written[at + 1..].iter().chain(&read);
            if !is_alone || others.into_iter().any(|other| section.overlaps(other)) {
                return Err(Error::refused(
                    ErrorClass::ARG,
                    "a section that is written to overlaps itself or another one",
                ));
            }
        }
        Ok(Self { length, written: into, read: from, _elements: PhantomData })
    }

    /// The parts of a slice, as buffers.
    ///
    /// # Errors
    /// [`COUNT`](ErrorClass::COUNT) if the slice has another length.
    #[expect(clippy::type_complexity, reason = "a tuple of what it says")]
    pub fn of<'b>(
        &'b self,
        slice: &'b mut [T],
    ) -> RmpiResult<([StridedMut<'b, T>; W], [Strided<'b, T>; R])> {
        if slice.len() != self.length {
            return Err(Error::refused(
                ErrorClass::COUNT,
                "the slice has another length than the sections are for",
            ));
        }
        // All parts come of this pointer, and no reference to the slice is made of it while `'b` borrows it.
        let start = slice.as_mut_ptr();
        let written = self.written.each_ref().map(|(section, datatype)| StridedMut {
            // `new` has found that the sections begin in the slice, or behind its last element without one of
            // their own, and that they lie within, and overlap no other.
            pointer: start.wrapping_add(section.first),
            datatype: Kept::Shared(datatype.as_ref()),
            values: section.len(),
            _borrow: PhantomData,
        });
        let read = self.read.each_ref().map(|(section, datatype)| Strided {
            pointer: start.wrapping_add(section.first).cast_const(),
            datatype: Kept::Shared(datatype.as_ref()),
            values: section.len(),
            _borrow: PhantomData,
        });
        Ok((written, read))
    }
}

/// As `map`, with errors.
fn each<A: Copy, B, const N: usize>(
    array: [A; N],
    function: impl Fn(A) -> RmpiResult<B>,
) -> RmpiResult<[B; N]> {
    let made: Vec<B> = array.into_iter().map(function).collect::<RmpiResult<_>>()?;
    made.try_into().map_err(|_| Error::refused(ErrorClass::INTERN, "as many as there were"))
}

#[cfg(test)]
mod tests {
    use super::Section;

    /// Every pair of small sections, beside the elements written down.
    #[test]
    fn overlaps_are_found() {
        let mut sections = Vec::new();
        for first in 0..5 {
            for count in 0..4 {
                for blocklength in 0..3 {
                    for stride in 0..6 {
                        sections.push(Section::blocks(first, count, blocklength, stride));
                    }
                }
            }
        }
        let elements = |section: &Section| -> u64 {
            let &Section { first, count, blocklength, stride } = section;
            let of_block = |at: usize| (0..blocklength).map(move |n| first + at * stride + n);
            (0..count).flat_map(of_block).fold(0, |all, element| all | 1 << element)
        };
        for one in &sections {
            for other in &sections {
                let expected = elements(one) & elements(other) != 0;
                assert_eq!(one.overlaps(other), expected, "{one:?} {other:?}");
            }
        }
    }
}
