//! Where a datatype's data lies, computed here: what buffers are checked by has to be true, whatever an
//! MPI library says of a datatype of datatypes of datatypes.

use super::error::{Error, ErrorClass, RmpiResult, output};
use super::sys::{self, MPI_Count, MPI_Datatype};
use crate::TypeMap;

/// Where an element of a datatype reaches to, in bytes from its address.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    pub(super) lower: MPI_Count,
    /// How many bytes lie between one element and the next.
    pub(super) extent: MPI_Count,
    /// How many bytes of data there are.
    pub(super) size: MPI_Count,
    /// From the first byte of data to the last; none if there is no data.
    pub(super) data: Option<Span>,
}

/// From a first byte to behind a last one. Wider than MPI's numbers, so that nothing overflows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    first: i128,
    end: i128,
}

/// Both, and what lies between them.
fn hull(one: Option<Span>, other: Option<Span>) -> Option<Span> {
    match (one, other) {
        (Some(one), Some(other)) => {
            Some(Span { first: one.first.min(other.first), end: one.end.max(other.end) })
        }
        (one, other) => one.or(other),
    }
}

/// MPI computes bounds and sizes without looking for overflows, so a datatype that reaches farther than this
/// is refused.
const LARGEST: i128 = 1 << 60;

/// No buffer has more bytes of data than a process can have memory. Blocks for reading may overlap, and so could name
/// the same memory any number of times: MPI would compute with the sum.
pub(super) const MOST_DATA: MPI_Count = 1 << 47;

fn too_large() -> Error {
    Error::refused(ErrorClass::COUNT, "the datatype is too large")
}

/// What a datatype will be that is about to be made.
///
/// What is left out of it is left out of the call, too: MPICH divides by zero in datatypes of datatypes of
/// which a part was made of blocks without elements, though not of no blocks.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Plan {
    size: i128,
    data: Option<Span>,
    /// No byte and no bound lies farther from an element's address.
    reach: i128,
}

impl Layout {
    /// The layout of a Rust type's elements.
    pub(super) fn of_map(map: &TypeMap) -> RmpiResult<Self> {
        let number = |number: usize| MPI_Count::try_from(number).map_err(|_| too_large());
        let data = map.data();
        let span = Span { first: data.start as i128, end: data.end as i128 };
        Ok(Self {
            lower: 0,
            extent: number(map.extent())?,
            size: number(map.size())?,
            data: (!data.is_empty()).then_some(span),
        })
    }

    /// What MPI says of a datatype that rmpi did not make.
    ///
    /// # Safety
    /// It is a datatype, and MPI may be called here and now.
    pub(super) unsafe fn ask(raw: MPI_Datatype) -> RmpiResult<Self> {
        // SAFETY: `MPI_Type_size_x` asks for a datatype, as the caller promises. It writes a number to what `output`
        // lends.
        let size = output(0, |size| unsafe { sys::MPI_Type_size_x(raw, size) })?;
        // SAFETY: `MPI_Type_get_extent_x` asks for a datatype, as the caller promises, and writes two numbers.
        let (lower, extent) = output((0, 0), |(lower, extent)| unsafe {
            sys::MPI_Type_get_extent_x(raw, lower, extent)
        })?;
        // SAFETY: `MPI_Type_get_true_extent_x` asks for a datatype, as the caller promises, and writes two numbers.
        let (first, length) = output((0, 0), |(lower, extent)| unsafe {
            sys::MPI_Type_get_true_extent_x(raw, lower, extent)
        })?;
        let (first, length) = (i128::from(first), i128::from(length));
        // Of nothing, MPIs say what they like.
        let data = (size != 0).then_some(Span { first, end: first + length });
        Ok(Self { lower, extent, size, data })
    }

    /// Has it neither data nor bounds? Elements of it change nothing.
    pub(super) fn is_nothing(&self) -> bool {
        self.size == 0 && self.lower == 0 && self.extent == 0
    }

    fn reach(&self) -> i128 {
        let (lower, extent) = (i128::from(self.lower), i128::from(self.extent));
        let bounds = lower.abs().max((lower + extent).abs()).max(extent.abs());
        self.data.map_or(bounds, |data| bounds.max(data.first.abs()).max(data.end.abs()))
    }

    /// Where the data of so many elements in a row lies.
    fn row(&self, displacement: i128, elements: i128) -> Option<Span> {
        let data = self.data.filter(|_| elements > 0)?;
        let last = (elements - 1).saturating_mul(self.extent.into());
        let first = displacement.saturating_add(last.min(0)).saturating_add(data.first);
        let end = displacement.saturating_add(last.max(0)).saturating_add(data.end);
        Some(Span { first, end })
    }

    /// How many bytes a buffer has at least in which so many elements lie, from its start on; none if there is
    /// data before the start, or more than [`MOST_DATA`].
    pub(super) fn end_of(&self, elements: usize) -> Option<usize> {
        let elements = MPI_Count::try_from(elements).ok()?;
        // Bytes of data, though they lie one upon the other.
        elements.checked_mul(self.size).filter(|data| *data <= MOST_DATA)?;
        match self.row(0, elements.into()) {
            None => Some(0),
            Some(span) if span.first < 0 || self.extent < 0 => None,
            Some(span) => usize::try_from(span.end).ok(),
        }
    }
}

impl Plan {
    /// The same data.
    pub(super) fn same(old: &Layout) -> Self {
        Self { size: old.size.into(), data: old.data, reach: old.reach() }
    }

    /// Is there anything in so many elements?
    pub(super) fn counts(old: &Layout, elements: MPI_Count) -> bool {
        elements > 0 && !old.is_nothing()
    }

    /// Adds a block of so many elements.
    pub(super) fn block(&mut self, old: &Layout, displacement: i128, elements: MPI_Count) {
        let elements = i128::from(elements);
        self.size = self.size.saturating_add(elements.saturating_mul(old.size.into()));
        self.data = hull(self.data, old.row(displacement, elements));
        let reach = old.reach().saturating_mul(elements.saturating_add(1));
        self.reach = self.reach.max(displacement.saturating_abs().saturating_add(reach));
    }

    /// Blocks of the same length, at equal distances.
    pub(super) fn blocks(
        &mut self,
        old: &Layout,
        count: MPI_Count,
        stride: i128,
        elements: MPI_Count,
    ) {
        if count == 0 {
            return;
        }
        let size = self.size;
        self.block(old, 0, elements);
        self.block(old, stride.saturating_mul(i128::from(count) - 1), elements);
        let all = i128::from(count).saturating_mul(elements.into());
        self.size = size.saturating_add(all.saturating_mul(old.size.into()));
    }

    /// Elements of an array of several dimensions, of which the first and the last one are known in each:
    /// `(first, last, stride)`, with the stride in elements.
    pub(super) fn elements_of_array(
        &mut self,
        old: &Layout,
        dimensions: &[(i128, i128, i128)],
        elements: i128,
        all: i128,
    ) {
        self.reach = self.reach.max(old.reach().saturating_mul(all.saturating_add(1)));
        self.size = elements.saturating_mul(old.size.into());
        if elements == 0 {
            return;
        }
        let extent = i128::from(old.extent);
        let index = |of: fn(&(i128, i128, i128)) -> i128| {
            dimensions
                .iter()
                .fold(0_i128, |sum, one| sum.saturating_add(of(one).saturating_mul(one.2)))
                .saturating_mul(extent)
        };
        self.data = hull(old.row(index(|one| one.0), 1), old.row(index(|one| one.1), 1));
    }

    /// Is there any data in it?
    pub(super) fn has_data(&self) -> bool {
        self.size > 0
    }

    /// Refuses what MPI could not compute with.
    pub(super) fn check(&self) -> RmpiResult {
        let ends = self.data.map_or(0, |data| data.first.abs().max(data.end.abs()));
        if self.reach.max(self.size).max(ends) > LARGEST { Err(too_large()) } else { Ok(()) }
    }

    /// The layout of the datatype that MPI made. The bounds, by which MPI places elements of it, are MPI's; the
    /// data lies where both say that it does.
    ///
    /// # Safety
    /// As of [`Layout::ask`].
    pub(super) unsafe fn made(&self, raw: MPI_Datatype) -> RmpiResult<Layout> {
        // SAFETY: the caller promises the same.
        let told = unsafe { Layout::ask(raw)? };
        if i128::from(told.size) != self.size || told.reach() > LARGEST {
            return Err(Error::refused(ErrorClass::INTERN, "MPI made another datatype"));
        }
        if told.extent < 0 {
            return Err(negative());
        }
        Ok(Layout { data: hull(self.data, told.data), ..told })
    }
}

/// Elements that go backwards in memory: MPICH writes them elsewhere than it says.
pub(super) fn negative() -> Error {
    Error::refused(
        ErrorClass::ARG,
        "an extent is at least 0: not every MPI places others where they belong",
    )
}
