//! Where in another process's memory an operation reads or writes.

use core::marker::PhantomData;
use core::ops::Range;
use core::ptr;

use super::super::buffer::RawBuffer;
use super::super::datatype::DatatypeRef;
use super::super::derived::{Datatype, no_padding};
use super::super::error::{Error, ErrorClass, RmpiResult};
use super::super::runtime::Runtime;
use super::super::strided::{self};
use super::super::sys::{MPI_Count, MPI_Datatype};
use super::origin::{contiguous, values_in};
use crate::MpiDatatype;

/// Where some values lie in a process's memory, from a displacement on, if not one after the other:
/// `(displacement, &TargetLayout)` is a [`Place`].
///
/// ```no_run
/// use rmpi::{Assertion, TargetLayout};
/// # fn example(
/// #     context: &rmpi::RmpiContext,
/// #     mut window: rmpi::Window<'_, f64, rmpi::Active>,
/// # ) -> rmpi::RmpiResult {
/// // Column 2 of the matrix of 10 rows and 20 columns that each process has.
/// let column = TargetLayout::strided(context, 10, 1, 20)?;
/// window.fence(Assertion::NONE, |epoch| epoch.process(0).put(&[1.0; 10], (2, &column)))
/// # }
/// ```
#[derive(Debug)]
pub struct TargetLayout<'d, T> {
    datatype: Kept<'d>,
    count: MPI_Count,
    /// So many elements lie between the displacement and the end of the last value.
    span: usize,
    values: usize,
    typed: bool,
    _type: PhantomData<T>,
}

#[derive(Debug)]
enum Kept<'d> {
    Own(Datatype<'d>),
    Borrowed(DatatypeRef<'d>),
}

impl<'d, T: MpiDatatype> TargetLayout<'d, T> {
    /// `count` blocks of `blocklength` values; from the start of one to that of the next are `stride`.
    /// C: `MPI_Type_vector` and `MPI_Type_commit`. Local.
    ///
    /// # Errors
    /// [`ARG`](ErrorClass::ARG) if blocks overlap, [`COUNT`](ErrorClass::COUNT) if they are too far
    /// apart; what MPI says.
    pub fn strided(
        runtime: &'d impl Runtime,
        count: usize,
        blocklength: usize,
        stride: usize,
    ) -> RmpiResult<Self> {
        if stride < blocklength {
            return Err(Error::refused(ErrorClass::ARG, "the blocks overlap"));
        }
        let large = Error::refused(ErrorClass::COUNT, "the layout is too large");
        let last = count.saturating_sub(1).checked_mul(stride).ok_or(large)?;
        let span = if count == 0 { 0 } else { last.checked_add(blocklength).ok_or(large)? };
        let datatype = strided::vector::<T>(runtime, span, count, blocklength, stride)?;
        let values = count.checked_mul(blocklength).ok_or(large)?;
        let datatype = Kept::Own(datatype);
        Ok(Self { datatype, count: 1, span, values, typed: true, _type: PhantomData })
    }

    /// `count` elements of a datatype, of which none lies before the displacement. Local. C, where rmpi did not
    /// make the datatype: `MPI_Type_size_x`, `MPI_Type_get_extent_x` and `MPI_Type_get_true_extent_x`.
    ///
    /// # Errors
    /// [`TYPE`](ErrorClass::TYPE) if `T` has padding, which the datatype might name;
    /// [`ARG`](ErrorClass::ARG) if an element has data before its displacement,
    /// [`COUNT`](ErrorClass::COUNT) if its data is no whole values of `T`; what MPI says.
    pub fn of(datatype: DatatypeRef<'d>, count: usize) -> RmpiResult<Self> {
        no_padding::<T>()?;
        let large = Error::refused(ErrorClass::COUNT, "the layout is too large");
        let elements = count;
        let count = MPI_Count::try_from(count).map_err(|_| large)?;
        let raw = RawBuffer { pointer: ptr::null_mut(), count, datatype: datatype.into_raw() };
        // SAFETY: it wants a datatype, and that MPI may be called: a `DatatypeRef` says so.
        let values = unsafe { values_in::<T>(&raw)? };
        let end = datatype.known_layout()?.end_of(elements).ok_or(Error::refused(
            ErrorClass::ARG,
            "the datatype reaches before its start, or too far",
        ))?;
        let span = end.div_ceil(size_of::<T>().max(1));
        let datatype = Kept::Borrowed(datatype);
        Ok(Self { datatype, count, span, values, typed: false, _type: PhantomData })
    }

    /// How many values it has.
    pub const fn values(&self) -> usize {
        self.values
    }

    fn datatype(&self) -> MPI_Datatype {
        match &self.datatype {
            Kept::Own(datatype) => datatype.as_raw(),
            Kept::Borrowed(datatype) => datatype.into_raw(),
        }
    }
}

/// Where in a process's memory an operation reads or writes, in elements: a displacement, from which
/// on as many lie as the origin has; a range of just as many; or `(displacement, &`[`TargetLayout`]`)`.
pub trait Place<T>: sealed::Place<T> {}
impl<T: MpiDatatype> Place<T> for usize {}
impl<T: MpiDatatype> Place<T> for Range<usize> {}
impl<T: MpiDatatype> Place<T> for (usize, &TargetLayout<'_, T>) {}

pub(super) mod sealed {
    use super::{MPI_Count, MPI_Datatype, RmpiResult};

    /// A place, and what C has of it but the displacement.
    #[derive(Clone, Copy)]
    pub struct Extent {
        pub start: usize,
        pub span: usize,
        pub count: MPI_Count,
        pub datatype: MPI_Datatype,
        pub typed: bool,
    }

    pub trait Place<T> {
        fn extent(self, values: usize) -> RmpiResult<Extent>;
    }
}
use sealed::Extent;

pub(super) fn another_count() -> Error {
    Error::refused(ErrorClass::COUNT, "the place has another number of values than the origin")
}

impl<T: MpiDatatype> sealed::Place<T> for usize {
    #[inline]
    fn extent(self, values: usize) -> RmpiResult<Extent> {
        let RawBuffer { count, datatype, .. } = contiguous::<T>(ptr::null_mut(), values)?;
        Ok(Extent { start: self, span: values, count, datatype, typed: true })
    }
}

impl<T: MpiDatatype> sealed::Place<T> for Range<usize> {
    #[inline]
    fn extent(self, values: usize) -> RmpiResult<Extent> {
        if self.len() != values {
            return Err(another_count());
        }
        sealed::Place::<T>::extent(self.start, values)
    }
}

impl<T: MpiDatatype> sealed::Place<T> for (usize, &TargetLayout<'_, T>) {
    fn extent(self, values: usize) -> RmpiResult<Extent> {
        let (start, layout) = self;
        if layout.values != values {
            return Err(another_count());
        }
        let TargetLayout { span, count, typed, .. } = *layout;
        Ok(Extent { start, span, count, datatype: layout.datatype(), typed })
    }
}
