//! Buffers of this process that an operation reads or writes.

use core::ffi::c_void;

use super::super::buffer::{
    BufferMut, BufferRef, RawBuffer, TypeDynamicBufferMut, TypeDynamicBufferRef, TypedBuffer,
};
use super::super::datatype::ElementOf;
use super::super::error::{Error, ErrorClass, RmpiResult, output};
use super::super::strided::{Strided, StridedMut};
use super::super::sys;
use super::super::window::Exposed;
use crate::MpiDatatype;

/// Values of `T` of this process that an operation reads: `&[T]`, `&[T; N]`, `&T`, `&Vec<T>`, and their
/// mutable kin; `&`[`Strided`]`<T>`; [`TypeDynamicBufferRef`]; [`Exposed`], this process's own part of a
/// window. To begin a request with, also `Vec<T>` and `Box<[T]>`.
///
/// # Safety
/// `as_origin` gives memory that is readable as that many elements of that datatype, all of whose data is
/// initialised; they are as much data as so many values of `T`. It is so as long as the value exists, wherever
/// the value moves meanwhile; if that has no drop, for all of its lifetime. The datatype is committed, and not
/// freed as long.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no origin of `{T}`s",
    note = "one-sided operations take elements of the window's type: slices and values by reference"
)]
pub unsafe trait Origin<T> {
    /// The values as C has them.
    ///
    /// # Errors
    /// If MPI cannot make the datatype; if they are no whole values of `T`.
    fn as_origin(&self) -> RmpiResult<(RawBuffer, usize)>;
}

/// Values of `T` of this process that an operation writes to: `&mut [T]`, `&mut [T; N]`, `&mut T`,
/// `&mut Vec<T>`, `&mut `[`StridedMut`]`<T>`, [`TypeDynamicBufferMut`], [`Exposed`].
///
/// # Safety
/// As for [`Origin`], but the memory is writable, with any bits. There are no references to it, and only MPI,
/// and other processes where it is a window's, access it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is nothing to get `{T}`s into",
    note = "one-sided operations take elements of the window's type: slices and values by mutable reference"
)]
pub unsafe trait OriginMut<T> {
    /// The values as C has them.
    ///
    /// # Errors
    /// As [`Origin::as_origin`].
    fn as_origin_mut(&mut self) -> RmpiResult<(RawBuffer, usize)>;
}

/// Origins whose elements are for sure those of `T`: for what computes with them.
pub trait TypedOrigin<T>: Origin<T> {}
/// As [`TypedOrigin`], for writing.
pub trait TypedOriginMut<T>: OriginMut<T> {}

/// What buffers of values of `T` are, and arrays of them by reference.
macro_rules! origins {
    ($([$($generics:tt)*] $type:ty, $self:ident => $buffer:expr;)*) => {$(
        // SAFETY: the memory and the datatype are what `BufferRef` promises, and `TypedBuffer` how many values
        // of `T` they are. What has no drop is a reference, whose memory is borrowed for its lifetime.
        unsafe impl<$($generics)* T: MpiDatatype> Origin<T> for $type {
            #[inline]
            fn as_origin(&self) -> RmpiResult<(RawBuffer, usize)> {
                let $self = self;
                let buffer = $buffer;
                Ok((buffer.as_raw()?, buffer.as_elements().1))
            }
        }
        impl<$($generics)* T: MpiDatatype> TypedOrigin<T> for $type {}
    )*};
}

origins! {
    ['b,] &'b [T], it => it;
    ['b,] &'b T, it => it;
    ['b,] &'b Vec<T>, it => it;
    ['b, const N: usize,] &'b [T; N], it => it.as_slice();
    ['b,] &'b mut [T], it => it;
    ['b,] &'b mut T, it => it;
    ['b,] &'b mut Vec<T>, it => it;
    ['b, const N: usize,] &'b mut [T; N], it => it.as_slice();
    [] Vec<T>, it => it;
    [] Box<[T]>, it => it;
    [] Box<T>, it => it;
}

macro_rules! origins_mut {
    ($([$($generics:tt)*] $type:ty, $self:ident => $buffer:expr;)*) => {$(
        // SAFETY: the memory is what `BufferMut` promises, writable and nobody else's, and `TypedBuffer` says
        // how many values of `T` it has. What has no drop is a reference, whose memory is borrowed for its
        // lifetime.
        unsafe impl<$($generics)* T: MpiDatatype> OriginMut<T> for $type {
            #[inline]
            fn as_origin_mut(&mut self) -> RmpiResult<(RawBuffer, usize)> {
                let $self = self;
                #[allow(unused_mut, reason = "some are references to references")]
                let mut buffer = $buffer;
                let values = buffer.as_elements().1;
                Ok((buffer.as_raw_mut()?, values))
            }
        }
        impl<$($generics)* T: MpiDatatype> TypedOriginMut<T> for $type {}
    )*};
}

origins_mut! {
    ['b,] &'b mut [T], it => it;
    ['b,] &'b mut T, it => it;
    ['b,] &'b mut Vec<T>, it => it;
    ['b, const N: usize,] &'b mut [T; N], it => it.as_mut_slice();
    [] Vec<T>, it => it;
    [] Box<[T]>, it => it;
    [] Box<T>, it => it;
}

// SAFETY: the memory is what `BufferRef` promises of strided blocks, which have `values` values. Slice and
// datatype are borrowed as long as the reference lives.
unsafe impl<T: MpiDatatype> Origin<T> for &Strided<'_, T> {
    fn as_origin(&self) -> RmpiResult<(RawBuffer, usize)> {
        Ok((self.as_raw()?, self.values))
    }
}
impl<T: MpiDatatype> TypedOrigin<T> for &Strided<'_, T> {}

// SAFETY: the memory is what `BufferMut` promises of strided blocks, which have `values` values. Slice and
// datatype are borrowed mutably as long as the reference lives.
unsafe impl<T: MpiDatatype> OriginMut<T> for &mut StridedMut<'_, T> {
    fn as_origin_mut(&mut self) -> RmpiResult<(RawBuffer, usize)> {
        let values = self.values;
        Ok((self.as_raw_mut()?, values))
    }
}
impl<T: MpiDatatype> TypedOriginMut<T> for &mut StridedMut<'_, T> {}

// SAFETY: `length` elements of a window's memory, which are initialised, and which the lifetime's borrow of the
// window keeps. There are no references to them, so that MPI may read what others write meanwhile.
unsafe impl<T: MpiDatatype> Origin<T> for Exposed<'_, T> {
    #[inline]
    fn as_origin(&self) -> RmpiResult<(RawBuffer, usize)> {
        Ok((contiguous::<T>(self.memory.cast(), self.length)?, self.length))
    }
}
impl<T: MpiDatatype> TypedOrigin<T> for Exposed<'_, T> {}

// SAFETY: `length` elements of a window's memory, which the lifetime's borrow of the window keeps; there are no
// references to them, and any bits are values.
unsafe impl<T: MpiDatatype> OriginMut<T> for Exposed<'_, T> {
    #[inline]
    fn as_origin_mut(&mut self) -> RmpiResult<(RawBuffer, usize)> {
        self.as_origin()
    }
}
impl<T: MpiDatatype> TypedOriginMut<T> for Exposed<'_, T> {}

// SAFETY: the memory and the datatype are what the buffer's maker promised for its lifetime; `values_in` says
// how many values of `T` are as much data. It has no drop.
unsafe impl<T: MpiDatatype> Origin<T> for TypeDynamicBufferRef<'_> {
    fn as_origin(&self) -> RmpiResult<(RawBuffer, usize)> {
        let raw = self.as_raw()?;
        // SAFETY: it wants a datatype, and that MPI may be called: the buffer's maker promised it for its lifetime.
        Ok((raw, unsafe { values_in::<T>(&raw)? }))
    }
}

// SAFETY: the memory and the datatype are what the buffer's maker promised for its lifetime, writable and
// nobody else's; `values_in` says how many values of `T` are as much data. It has no drop.
unsafe impl<T: MpiDatatype> OriginMut<T> for TypeDynamicBufferMut<'_> {
    fn as_origin_mut(&mut self) -> RmpiResult<(RawBuffer, usize)> {
        let raw = self.as_raw_mut()?;
        // SAFETY: it wants a datatype, and that MPI may be called: the buffer's maker promised it for its lifetime.
        Ok((raw, unsafe { values_in::<T>(&raw)? }))
    }
}

#[inline]
pub(super) fn contiguous<T: MpiDatatype>(
    pointer: *mut c_void,
    values: usize,
) -> RmpiResult<RawBuffer> {
    let element = ElementOf::<T>::get()?;
    let count = values.checked_mul(element.per_value).and_then(|count| count.try_into().ok());
    let count = count.ok_or(Error::refused(ErrorClass::COUNT, "more elements than MPI counts"))?;
    Ok(RawBuffer { pointer, count, datatype: element.datatype })
}

/// How many values of `T` are as much data.
///
/// # Safety
/// The buffer's datatype is one, and MPI may be called here and now.
pub(super) unsafe fn values_in<T: MpiDatatype>(raw: &RawBuffer) -> RmpiResult<usize> {
    // SAFETY: `MPI_Type_size_x` asks for a datatype, as the caller promises. It writes a number to what `output` lends.
    let size = output(0, |size| unsafe { sys::MPI_Type_size_x(raw.datatype, size) })?;
    let bytes = size.checked_mul(raw.count).and_then(|bytes| usize::try_from(bytes).ok());
    let one = T::TYPE_MAP.size();
    match bytes {
        Some(0) => Ok(0),
        Some(bytes) if one > 0 && bytes % one == 0 => Ok(bytes / one),
        _ => Err(Error::refused(ErrorClass::COUNT, "no whole values of the window's type")),
    }
}

/// Refuses an origin that shares memory with the result: of a window's memory there may be several [`Exposed`].
/// Borrowed memory is within no other buffer's.
pub(super) fn disjoint<T>(origin: &RawBuffer, result: &RawBuffer, values: usize) -> RmpiResult {
    // What has a datatype of its own, such as strided blocks, is borrowed, and has its values elsewhere than one after
    // the other.
    let of_elements = origin.datatype == result.datatype;
    let bytes = values.saturating_mul(size_of::<T>());
    if of_elements
        && origin.count > 0
        && origin.pointer.addr().abs_diff(result.pointer.addr()) < bytes
    {
        return Err(Error::refused(ErrorClass::BUFFER, "origin and result share memory"));
    }
    Ok(())
}
