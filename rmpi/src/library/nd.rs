//! Arrays and views of `ndarray` as buffers. Feature `ndarray`.

use core::marker::PhantomData;

use ndarray::{Array, ArrayBase, ArrayView, ArrayViewMut, Data, DataMut, Dimension};

use super::buffer::{BufferMut, BufferRef, RawBuffer, TypedBuffer};
use super::datatype::{DatatypeRef, ElementOf};
use super::derived::Datatype;
use super::error::{Error, ErrorClass, RmpiResult};
use super::layout::MOST_DATA;
use super::runtime::Runtime;
use super::strided::{Kept, Strided, StridedMut};
use crate::{MpiDatatype, SendDatatype};

fn apart() -> Error {
    Error::refused(
        ErrorClass::TYPE,
        "the elements of the array do not lie one after the other in their order: send it by \
         `Strided::of_view`, receive by `StridedMut::of_view`",
    )
}

/// The elements of an array that lie one after the other in their order, as a slice.
fn elements<S: Data<Elem: SendDatatype>, D: Dimension>(
    array: &ArrayBase<S, D>,
) -> Option<&[S::Elem]> {
    array.as_slice()
}

macro_rules! arrays {
    ($([$($generics:tt)*] $type:ty, $element:ty;)*) => {$(
        // SAFETY: the trait requires memory that is readable as long as the value exists, wherever it moves: a
        // slice of all elements, which is borrowed, or on the heap, where it stays when the array moves. Nobody
        // writes to it meanwhile. The datatype lives as long as MPI runs.
        unsafe impl<$($generics)*> BufferRef for $type {
            fn as_raw(&self) -> RmpiResult<RawBuffer> {
                elements(self).ok_or_else(apart)?.as_raw()
            }
        }

        // SAFETY: the trait requires a pointer that is aligned and not null, to so many values, which are those of
        // `as_raw` and `as_raw_mut`: it is a slice's. Where the elements lie apart, there are none here, and
        // `as_raw` gives an error.
        unsafe impl<$($generics)*> TypedBuffer for $type {
            type Element = $element;
            fn as_elements(&self) -> (*const $element, usize) {
                elements(self).unwrap_or_default().as_elements()
            }
        }
    )*};
}

arrays! {
    ['b, S: Data<Elem: SendDatatype>, D: Dimension] &'b ArrayBase<S, D>, S::Elem;
    ['b, S: Data<Elem: SendDatatype>, D: Dimension] &'b mut ArrayBase<S, D>, S::Elem;
    ['b, T: SendDatatype, D: Dimension] ArrayView<'b, T, D>, T;
    ['b, T: SendDatatype, D: Dimension] ArrayViewMut<'b, T, D>, T;
    [T: SendDatatype, D: Dimension] Array<T, D>, T;
}

macro_rules! arrays_mut {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        // SAFETY: the trait requires memory that is writable, with any bits, to which nobody else has access, as
        // long as the value exists, wherever it moves: a mutable slice of all elements, which is borrowed mutably,
        // or on the heap of an array that owns it. Any bits are a value of an `MpiDatatype`.
        unsafe impl<$($generics)*> BufferMut for $type {
            fn as_raw_mut(&mut self) -> RmpiResult<RawBuffer> {
                let mut elements = self.as_slice_mut().ok_or_else(apart)?;
                (&mut elements).as_raw_mut()
            }
        }
    )*};
}

arrays_mut! {
    ['b, S: DataMut<Elem: MpiDatatype>, D: Dimension] &'b mut ArrayBase<S, D>;
    ['b, T: MpiDatatype, D: Dimension] ArrayViewMut<'b, T, D>;
    [T: MpiDatatype, D: Dimension] Array<T, D>;
}

impl<'b, T: SendDatatype> Strided<'b, T> {
    /// The elements of a view of `ndarray`, in its order, wherever they lie: a column, every other row, or a matrix
    /// that was transposed. C: `MPI_Type_create_hvector` for each dimension, and `MPI_Type_commit`. Local. Feature
    /// `ndarray`.
    ///
    /// An array whose elements lie one after the other in their order is a buffer itself.
    ///
    /// # Errors
    /// [`COUNT`](ErrorClass::COUNT) if the elements of a broadcast view are more than 2<sup>47</sup> bytes; what MPI
    /// says.
    ///
    /// ```no_run
    /// use ndarray::{Array2, s};
    /// use rmpi::{Strided, Tag};
    /// # fn example(world: &rmpi::Communicator<'_>, to: rmpi::Process<'_>) -> rmpi::RmpiResult {
    /// let matrix = Array2::<f64>::zeros((10, 20));
    /// to.send(&matrix, Tag::new(0))?;
    /// to.send(&Strided::of_view(world, matrix.column(3))?, Tag::new(1))?;
    /// to.send(&Strided::of_view(world, matrix.slice(s![2..4, ..;2]))?, Tag::new(2))
    /// # }
    /// ```
    pub fn of_view<D: Dimension>(
        runtime: &'b impl Runtime,
        view: ArrayView<'b, T, D>,
    ) -> RmpiResult<Self> {
        let datatype = Kept::Own(datatype(runtime, &view)?);
        let (pointer, values) = (view.as_ptr(), view.len());
        Ok(Self { pointer, datatype, values, _borrow: PhantomData })
    }
}

impl<'b, T: MpiDatatype> StridedMut<'b, T> {
    /// As [`Strided::of_view`], for writing.
    ///
    /// # Errors
    /// As [`Strided::of_view`].
    ///
    /// ```no_run
    /// use ndarray::{Array2, s};
    /// use rmpi::{StridedMut, Tag};
    /// # fn example(world: &rmpi::Communicator<'_>, from: rmpi::Process<'_>) -> rmpi::RmpiResult {
    /// let mut matrix = Array2::<f64>::zeros((10, 20));
    /// // Two columns of one matrix at once.
    /// let (left, right) = matrix.multi_slice_mut((s![.., 0], s![.., 19]));
    /// let left = StridedMut::of_view(world, left)?;
    /// let right = StridedMut::of_view(world, right)?;
    /// rmpi::scope(|scope| -> rmpi::RmpiResult {
    ///     from.irecv(scope, left, Tag::new(0))?;
    ///     from.irecv(scope, right, Tag::new(1))?;
    ///     Ok(())
    /// })
    /// # }
    /// ```
    pub fn of_view<D: Dimension>(
        runtime: &'b impl Runtime,
        mut view: ArrayViewMut<'b, T, D>,
    ) -> RmpiResult<Self> {
        // The elements of a view for writing are places of their own: its maker has seen to that.
        let datatype = Kept::Own(datatype(runtime, &view)?);
        let (pointer, values) = (view.as_mut_ptr(), view.len());
        Ok(Self { pointer, datatype, values, _borrow: PhantomData })
    }
}

/// The datatype of all elements of an array, from the address of the first one.
fn datatype<'ctx, S: Data<Elem: SendDatatype>, D: Dimension>(
    runtime: &'ctx impl Runtime,
    array: &ArrayBase<S, D>,
) -> RmpiResult<Datatype<'ctx>> {
    let too_large = Error::refused(ErrorClass::COUNT, "the array is more data than memory can be");
    let data = array.len().checked_mul(S::Elem::TYPE_MAP.size());
    if data.is_none_or(|data| data > MOST_DATA as usize) {
        return Err(too_large);
    }
    let element = DatatypeRef::of_elements::<S::Elem>(runtime)?;
    let per_value = ElementOf::<S::Elem>::FLAT.1;
    if array.is_empty() {
        return Datatype::contiguous(runtime, 0, &element)?.commit();
    }
    // Of the last dimensions, those whose elements lie one after the other are one block.
    let (lengths, strides) = (array.shape(), array.strides());
    let (mut block, mut dimensions) = (1, lengths.len());
    while let Some(last) = dimensions.checked_sub(1) {
        if lengths[last] != 1 && strides[last] != block as isize {
            break;
        }
        (block, dimensions) = (block * lengths[last], last);
    }
    let elements = block.checked_mul(per_value).ok_or(too_large)?;
    let mut made = Datatype::contiguous(runtime, elements, &element)?;
    for (&length, &stride) in lengths[..dimensions].iter().zip(strides).rev() {
        let bytes = stride.checked_mul(size_of::<S::Elem>() as isize).ok_or(too_large)?;
        made = Datatype::hvector(runtime, length, 1, bytes, &made)?;
    }
    made.commit()
}
