//! Memory that other processes may access meanwhile.

use core::marker::PhantomData;
use core::ops::Range;

use super::super::error::{Error, ErrorClass, RmpiResult};
use crate::MpiDatatype;

/// Memory of a window that other processes may write to meanwhile. There are no references to it,
/// but copies.
///
/// A copy is of what the memory has at the time: where nothing synchronises the processes, of
/// elements before and after an access of another process, and of parts of them. Any bits are a
/// value.
#[derive(Debug, Clone, Copy)]
pub struct Exposed<'e, T> {
    pub(in super::super) memory: *mut T,
    pub(in super::super) length: usize,
    pub(in super::super) _window: PhantomData<&'e T>,
}

fn outside() -> Error {
    Error::refused(ErrorClass::RMA_RANGE, "not within the window's memory")
}

impl<T: MpiDatatype> Exposed<'_, T> {
    /// How many elements it has.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Has it no elements?
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Some of the elements.
    ///
    /// # Errors
    /// [`RMA_RANGE`](ErrorClass::RMA_RANGE) if it does not have them.
    pub fn range(&self, range: Range<usize>) -> RmpiResult<Self> {
        if range.start > range.end || range.end > self.length {
            return Err(outside());
        }
        // SAFETY: `add` asks for a place within the memory or at its end: `range.start` is at most its length.
        let memory = unsafe { self.memory.add(range.start) };
        Ok(Self { memory, length: range.len(), _window: PhantomData })
    }

    /// A copy of an element.
    ///
    /// # Errors
    /// [`RMA_RANGE`](ErrorClass::RMA_RANGE) if there is no such element.
    #[inline]
    pub fn get(&self, index: usize) -> RmpiResult<T> {
        if index >= self.length {
            return Err(outside());
        }
        // SAFETY: `read_volatile` asks for an aligned address within the memory, of a value: the index is less
        // than the length, and any bits are a `T`. Volatile, since other processes may write.
        Ok(unsafe { self.memory.add(index).read_volatile() })
    }

    /// Writes an element.
    ///
    /// # Errors
    /// [`RMA_RANGE`](ErrorClass::RMA_RANGE) if there is no such element.
    #[inline]
    pub fn set(&self, index: usize, value: T) -> RmpiResult {
        if index >= self.length {
            return Err(outside());
        }
        // SAFETY: `write_volatile` asks for an aligned address within the memory: the index is less than the
        // length. There are no references to the memory: of shared memory there are none, and other memory is
        // `Exposed` in an epoch only, which borrows the window mutably.
        unsafe { self.memory.add(index).write_volatile(value) };
        Ok(())
    }

    /// Copies all elements.
    ///
    /// # Errors
    /// [`COUNT`](ErrorClass::COUNT) if the slice has another length.
    pub fn copy_to(&self, slice: &mut [T]) -> RmpiResult {
        self.same_length(slice.len())?;
        (0..self.length).try_for_each(|i| self.get(i).map(|value| slice[i] = value))
    }

    /// Writes all elements.
    ///
    /// # Errors
    /// [`COUNT`](ErrorClass::COUNT) if the slice has another length.
    pub fn copy_from(&self, slice: &[T]) -> RmpiResult {
        self.same_length(slice.len())?;
        (0..self.length).try_for_each(|i| self.set(i, slice[i]))
    }

    fn same_length(&self, length: usize) -> RmpiResult {
        if length == self.length {
            return Ok(());
        }
        Err(Error::refused(ErrorClass::COUNT, "the slice has another length than the memory"))
    }
}
