//! Slices whose elements a datatype picks.

use super::super::buffer::{TypeDynamicBufferMut, TypeDynamicBufferRef};
use super::super::datatype::DatatypeRef;
use super::super::error::{Error, ErrorClass, RmpiResult};
use crate::{MpiDatatype, SendDatatype};

pub(in super::super) fn no_padding<T: SendDatatype>() -> RmpiResult {
    if T::TYPE_MAP.size() != size_of::<T>() {
        return Err(Error::refused(
            ErrorClass::TYPE,
            "the type has padding, which a datatype might name",
        ));
    }
    Ok(())
}

impl<'b> TypeDynamicBufferRef<'b> {
    /// A slice's memory as `count` elements of a datatype, such as every other of its numbers.
    ///
    /// # Errors
    /// [`COUNT`](ErrorClass::COUNT) if so many elements do not lie within;
    /// [`TYPE`](ErrorClass::TYPE) if `T` has padding.
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef, TypeDynamicBufferRef};
    /// # fn example(context: &rmpi::RmpiContext, to: rmpi::Process<'_>) -> rmpi::RmpiResult {
    /// let old = DatatypeRef::of::<i32>(context)?;
    /// let every_other = Datatype::vector(context, 5, 1, 2, &old)?.commit()?;
    /// let numbers = [7_i32; 10];
    /// let buffer = TypeDynamicBufferRef::of_slice(&numbers, 1, every_other.as_ref())?;
    /// to.send(buffer, rmpi::Tag::new(0))
    /// # }
    /// ```
    pub fn of_slice<T: SendDatatype>(
        slice: &'b [T],
        count: usize,
        datatype: DatatypeRef<'b>,
    ) -> RmpiResult<Self> {
        no_padding::<T>()?;
        // SAFETY: `from_raw_parts` asks for so many initialised bytes to which nobody writes while the slice
        // lives: they are those of `slice`, which `'b` borrows. `no_padding` says that all of them are data,
        // which is initialised.
        let bytes =
            unsafe { core::slice::from_raw_parts(slice.as_ptr().cast(), size_of_val(slice)) };
        Self::from_bytes(bytes, count, datatype)
    }
}

impl<'b> TypeDynamicBufferMut<'b> {
    /// A slice's memory as `count` elements of a datatype, such as every other of its numbers.
    ///
    /// # Errors
    /// As [`TypeDynamicBufferRef::of_slice`].
    ///
    /// ```no_run
    /// use rmpi::{Datatype, DatatypeRef, TypeDynamicBufferMut};
    /// # fn example(context: &rmpi::RmpiContext, from: rmpi::Process<'_>) -> rmpi::RmpiResult {
    /// let old = DatatypeRef::of::<i32>(context)?;
    /// let every_other = Datatype::vector(context, 5, 1, 2, &old)?.commit()?;
    /// let mut numbers = [7_i32; 10];
    /// let buffer = TypeDynamicBufferMut::of_slice(&mut numbers, 1, every_other.as_ref())?;
    /// from.recv(buffer, rmpi::Tag::new(0))
    /// # }
    /// ```
    pub fn of_slice<T: MpiDatatype>(
        slice: &'b mut [T],
        count: usize,
        datatype: DatatypeRef<'b>,
    ) -> RmpiResult<Self> {
        no_padding::<T>()?;
        // SAFETY: `from_raw_parts_mut` asks for so many initialised bytes that nobody else uses while the slice
        // lives: they are those of `slice`, which `'b` borrows mutably. `no_padding` says that all of them are
        // data, which is initialised, and which may become any bytes, as `T` is an `MpiDatatype`.
        let bytes = unsafe {
            core::slice::from_raw_parts_mut(slice.as_mut_ptr().cast(), size_of_val(slice))
        };
        Self::from_bytes(bytes, count, datatype)
    }
}
