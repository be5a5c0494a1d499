//! Ranges of elements, and parts of arrays.

use core::ops::Range;

use crate::indices::Each;
use crate::operations::Store;
use crate::{Array, Element, Error, Indices, Kind, Operands, Operation, Writable};

impl<T: Element, K: Kind> Array<'_, T, K> {
    /// Reads the elements of a range, which may be another one on each process, or empty. Collective.
    ///
    /// # Errors
    /// As [`batch_load`](Self::batch_load).
    pub fn get(&self, range: Range<usize>) -> Result<Vec<T>, Error> {
        self.batch_load(Each(|| range.clone()))
    }

    /// A range of the elements as an array of its own, to read.
    ///
    /// # Errors
    /// [`Error::NoSuchElement`] if the array has no such range.
    pub fn sub_array(&self, range: Range<usize>) -> Result<SubArray<'_, Self>, Error> {
        let start = within(&range, self.len())?;
        Ok(SubArray { array: self, start, length: range.len() })
    }
}

impl<T: Element, K: Writable> Array<'_, T, K> {
    /// Writes elements from an index on: others on each process, or none. Collective.
    ///
    /// # Errors
    /// As [`batch`](Self::batch).
    pub fn put(&mut self, at: usize, values: &[T]) -> Result<(), Error> {
        self.batch(Store, Each(|| at..at.saturating_add(values.len())), values)
    }

    /// A range of the elements as an array of its own.
    ///
    /// # Errors
    /// [`Error::NoSuchElement`] if the array has no such range.
    pub fn sub_array_mut(&mut self, range: Range<usize>) -> Result<SubArrayMut<'_, Self>, Error> {
        let start = within(&range, self.len())?;
        Ok(SubArrayMut { array: self, start, length: range.len() })
    }
}

fn within(range: &Range<usize>, length: usize) -> Result<usize, Error> {
    if range.end > length {
        return Err(Error::NoSuchElement { index: range.end - 1, length });
    }
    Ok(range.start)
}

/// A range of an array, to read.
#[derive(Debug)]
pub struct SubArray<'a, A> {
    array: &'a A,
    start: usize,
    length: usize,
}

/// A range of an array.
#[derive(Debug)]
pub struct SubArrayMut<'a, A> {
    array: &'a mut A,
    start: usize,
    length: usize,
}

/// The array's indices of those of the range; for others, one that no array has.
fn outer(indices: &[usize], start: usize, length: usize) -> impl Indices {
    let outer = move |&index| if index < length { start + index } else { usize::MAX };
    Each(move || indices.iter().map(outer))
}

/// Errors speak of the range, not of the array.
fn of_range<R>(result: Result<R, Error>, indices: &[usize], length: usize) -> Result<R, Error> {
    result.map_err(|error| match (error, indices.iter().copied().max()) {
        (Error::NoSuchElement { .. }, Some(index)) => Error::NoSuchElement { index, length },
        (error, _) => error,
    })
}

impl<T: Element, K: Kind> SubArray<'_, Array<'_, T, K>> {
    /// How many elements it has.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Has it no elements?
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Reads the elements of indices, which begin with the range. Collective.
    ///
    /// # Errors
    /// As [`Array::batch_load`].
    pub fn batch_load(&self, indices: &[usize]) -> Result<Vec<T>, Error> {
        let outer = outer(indices, self.start, self.length);
        of_range(self.array.batch_load(outer), indices, self.length)
    }
}

impl<T: Element, K: Writable> SubArrayMut<'_, Array<'_, T, K>> {
    /// How many elements it has.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Has it no elements?
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Reads the elements of indices, which begin with the range. Collective.
    ///
    /// # Errors
    /// As [`Array::batch_load`].
    pub fn batch_load(&self, indices: &[usize]) -> Result<Vec<T>, Error> {
        let outer = outer(indices, self.start, self.length);
        of_range(self.array.batch_load(outer), indices, self.length)
    }

    /// Applies an operation to the elements of indices, which begin with the range. Collective.
    ///
    /// # Errors
    /// As [`Array::batch`].
    pub fn batch<O: Operation<T>>(
        &mut self,
        operation: O,
        indices: &[usize],
        operands: impl Operands<T>,
    ) -> Result<(), Error> {
        let outer = outer(indices, self.start, self.length);
        of_range(self.array.batch(operation, outer, operands), indices, self.length)
    }
}
