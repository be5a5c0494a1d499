use core::marker::PhantomData;

use super::buffer::{BufferMut, BufferRef, RawBuffer};
use super::datatype::{DatatypeRef, ElementOf};
use super::derived::Datatype;
use super::error::{Error, ErrorClass, RmpiResult};
use super::layout::MOST_DATA;
use super::runtime::Runtime;
use crate::{MpiDatatype, SendDatatype};

/// Blocks of a slice at equal distances, for reading, such as a column of a matrix. It keeps the
/// datatype that says so.
///
/// ```no_run
/// use rmpi::{Strided, Tag};
/// # fn example(context: &rmpi::RmpiContext, to: rmpi::Process<'_>) -> rmpi::RmpiResult {
/// // The column 2 of a matrix of 10 rows and 20 columns.
/// let matrix = vec![0.0_f64; 10 * 20];
/// let column = Strided::new(context, &matrix[2..], 10, 1, 20)?;
/// to.send(&column, Tag::new(0))
/// # }
/// ```
#[derive(Debug)]
pub struct Strided<'b, T> {
    /// Where the first element of the datatype begins. All of its data is in memory that `'b` borrows.
    pub(super) pointer: *const T,
    pub(super) datatype: Kept<'b>,
    /// How many values of `T` are in its blocks.
    pub(super) values: usize,
    pub(super) _borrow: PhantomData<&'b [T]>,
}

/// Blocks of a slice at equal distances, for writing. It keeps the datatype that says so.
///
/// ```no_run
/// use rmpi::{StridedMut, Tag};
/// # fn example(context: &rmpi::RmpiContext, from: rmpi::Process<'_>) -> rmpi::RmpiResult {
/// let mut matrix = vec![0.0_f64; 10 * 20];
/// from.recv(StridedMut::new(context, &mut matrix[2..], 10, 1, 20)?, Tag::new(0))
/// # }
/// ```
#[derive(Debug)]
pub struct StridedMut<'b, T> {
    /// Where the first element of the datatype begins. All of its data is in memory that `'b` borrows, and that
    /// nobody else has access to.
    pub(super) pointer: *mut T,
    pub(super) datatype: Kept<'b>,
    /// How many values of `T` are in its blocks.
    pub(super) values: usize,
    pub(super) _borrow: PhantomData<&'b mut [T]>,
}

/// The datatype of blocks.
#[derive(Debug)]
pub(super) enum Kept<'b> {
    Own(Datatype<'b>),
    Shared(DatatypeRef<'b>),
}

impl Kept<'_> {
    const fn as_ref(&self) -> DatatypeRef<'_> {
        match self {
            Self::Own(datatype) => datatype.as_ref(),
            Self::Shared(datatype) => *datatype,
        }
    }
}

impl<'b, T: SendDatatype> Strided<'b, T> {
    /// `count` blocks of `blocklength` elements; from the start of one to that of the next are
    /// `stride` elements. C: `MPI_Type_vector` and `MPI_Type_commit`. Local.
    ///
    /// # Errors
    /// [`COUNT`](ErrorClass::COUNT) if they do not lie within the slice, or overlap so often that they are more than
    /// 2<sup>47</sup> bytes; what MPI says.
    pub fn new(
        runtime: &'b impl Runtime,
        slice: &'b [T],
        count: usize,
        blocklength: usize,
        stride: usize,
    ) -> RmpiResult<Self> {
        let datatype = Kept::Own(vector::<T>(runtime, slice.len(), count, blocklength, stride)?);
        let (pointer, values) = (slice.as_ptr(), count.saturating_mul(blocklength));
        Ok(Self { pointer, datatype, values, _borrow: PhantomData })
    }

    /// Its datatype, of which the buffer is one element.
    pub const fn datatype(&self) -> DatatypeRef<'_> {
        self.datatype.as_ref()
    }
}

impl<'b, T: MpiDatatype> StridedMut<'b, T> {
    /// As [`Strided::new`].
    ///
    /// # Errors
    /// As [`Strided::new`], and [`ARG`](ErrorClass::ARG) if blocks overlap.
    pub fn new(
        runtime: &'b impl Runtime,
        slice: &'b mut [T],
        count: usize,
        blocklength: usize,
        stride: usize,
    ) -> RmpiResult<Self> {
        if stride < blocklength {
            return Err(Error::refused(ErrorClass::ARG, "the blocks overlap"));
        }
        let datatype = Kept::Own(vector::<T>(runtime, slice.len(), count, blocklength, stride)?);
        let (pointer, values) = (slice.as_mut_ptr(), count.saturating_mul(blocklength));
        Ok(Self { pointer, datatype, values, _borrow: PhantomData })
    }

    /// Its datatype, of which the buffer is one element.
    pub const fn datatype(&self) -> DatatypeRef<'_> {
        self.datatype.as_ref()
    }
}

/// The datatype of blocks of `T`s, if they lie within so many.
pub(super) fn vector<'ctx, T: SendDatatype>(
    runtime: &'ctx impl Runtime,
    length: usize,
    count: usize,
    blocklength: usize,
    stride: usize,
) -> RmpiResult<Datatype<'ctx>> {
    let outside = Error::refused(ErrorClass::COUNT, "the blocks do not lie within the slice");
    let end = match count.checked_sub(1) {
        None => Some(0),
        Some(last) => last.checked_mul(stride).and_then(|last| last.checked_add(blocklength)),
    };
    if end.is_none_or(|end| end > length) {
        return Err(outside);
    }
    let values = count.checked_mul(blocklength);
    let data = values.and_then(|values| values.checked_mul(T::TYPE_MAP.size()));
    if data.is_none_or(|data| data > MOST_DATA as usize) {
        return Err(Error::refused(
            ErrorClass::COUNT,
            "the blocks overlap so often that they are more data than memory can be",
        ));
    }
    let element = ElementOf::<T>::get()?;
    let blocklength = blocklength.checked_mul(element.per_value).ok_or(outside)?;
    let stride = stride.checked_mul(element.per_value).and_then(|stride| stride.try_into().ok());
    let element = DatatypeRef::of_elements::<T>(runtime)?;
    Datatype::vector(runtime, count, blocklength, stride.ok_or(outside)?, &element)?.commit()
}

macro_rules! readable {
    ($($type:ty)*) => {$(
        // SAFETY: the trait requires memory that is readable as one element of the datatype as long as
        // the value exists: whoever made the value has found that all blocks lie within memory of values
        // of `T` that `'b` borrows, of which they have the data only; what the type map names is
        // initialised; and `datatype` is freed with the value, or lives for `'b`.
        unsafe impl<T: SendDatatype> BufferRef for $type {
            fn as_raw(&self) -> RmpiResult<RawBuffer> {
                let pointer = self.pointer.cast_mut().cast();
                Ok(RawBuffer { pointer, count: 1, datatype: self.datatype().into_raw() })
            }
        }
    )*};
}
readable! { Strided<'_, T> &Strided<'_, T> }

macro_rules! writable {
    ($($type:ty)*) => {$(
        // SAFETY: as for `Strided`.
        unsafe impl<T: MpiDatatype> BufferRef for $type {
            fn as_raw(&self) -> RmpiResult<RawBuffer> {
                let pointer = self.pointer.cast();
                Ok(RawBuffer { pointer, count: 1, datatype: self.datatype().into_raw() })
            }
        }
    )*};
}
writable! { StridedMut<'_, T> &StridedMut<'_, T> &mut StridedMut<'_, T> }

macro_rules! written {
    ($($type:ty)*) => {$(
        // SAFETY: the trait requires memory that is writable, with any bits, to which nobody else has
        // access: whoever made the value has found that all blocks lie within memory of values of `T` that
        // `'b` borrows exclusively, that they do not overlap, and that nobody else has them; any bits are
        // a `T`.
        unsafe impl<T: MpiDatatype> BufferMut for $type {
            fn as_raw_mut(&mut self) -> RmpiResult<RawBuffer> {
                self.as_raw()
            }
        }
    )*};
}
written! { StridedMut<'_, T> &mut StridedMut<'_, T> }
