//! Indices, and where their elements are.

use crate::layout::Distribution;
use crate::{Array, Element, Error, Kind};

/// The indices of a batch: a slice, a vector or an array of them, or [`Places`].
pub trait Indices: Find {}

impl<I: Find> Indices for I {}

/// Finds the processes that have elements.
pub trait Find: Copy {
    /// How many indices there are.
    fn count(self) -> usize;
    /// Has the array all of these elements?
    fn check(self, distribution: &Distribution) -> Result<(), Error>;
    /// The process and the place there of each index, after the check.
    fn find(self, distribution: &Distribution) -> impl ExactSizeIterator<Item = (usize, u32)>;
}

macro_rules! slices {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<$($generics)*> Find for $type {
            fn count(self) -> usize {
                self.len()
            }
            fn check(self, distribution: &Distribution) -> Result<(), Error> {
                check(self.iter().copied(), distribution)
            }
            fn find(
                self,
                distribution: &Distribution,
            ) -> impl ExactSizeIterator<Item = (usize, u32)> {
                Finding::new(self.iter().copied(), distribution)
            }
        }
    )*};
}
slices! {
    [] &[usize];
    [] &Vec<usize>;
    [const N: usize] &[usize; N];
}

/// Indices that an iterator gives each time anew.
#[derive(Clone, Copy)]
pub(crate) struct Each<F>(pub(crate) F);

impl<F: Fn() -> I + Copy, I: ExactSizeIterator<Item = usize> + Clone> Find for Each<F> {
    fn count(self) -> usize {
        self.0().len()
    }
    fn check(self, distribution: &Distribution) -> Result<(), Error> {
        check(self.0(), distribution)
    }
    fn find(self, distribution: &Distribution) -> impl ExactSizeIterator<Item = (usize, u32)> {
        Finding::new(self.0(), distribution)
    }
}

fn check(
    indices: impl Iterator<Item = usize> + Clone,
    distribution: &Distribution,
) -> Result<(), Error> {
    let length = distribution.length;
    if distribution.has_all(indices.clone()) {
        return Ok(());
    }
    match indices.max() {
        Some(index) if index >= length => Err(Error::NoSuchElement { index, length }),
        _ => Ok(()),
    }
}

/// Indices that were checked, and whose elements were found: for batches that are made again and again with the same
/// ones.
///
/// They are right for all arrays of the same length and layout on as many processes.
///
/// ```no_run
/// # use rmpi_pgas::{Array, Atomic, Error};
/// # fn example(table: &mut Array<'_, u64, Atomic>, indices: &[usize]) -> Result<(), Error> {
/// let places = table.places(indices)?;
/// for step in 0..1000 {
///     table.batch_add(&places, step)?;
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct Places {
    distribution: Distribution,
    /// Of each index. Two lists are read faster than one of pairs.
    processes: Vec<u32>,
    /// The place there, of each index.
    places: Vec<u32>,
}

impl Find for &Places {
    fn count(self) -> usize {
        self.places.len()
    }
    fn check(self, distribution: &Distribution) -> Result<(), Error> {
        if self.distribution == *distribution { Ok(()) } else { Err(Error::OtherArray) }
    }
    fn find(self, _: &Distribution) -> impl ExactSizeIterator<Item = (usize, u32)> {
        let found = self.processes.iter().zip(&self.places);
        found.map(|(&process, &place)| (process as usize, place))
    }
}

impl<T: Element, K: Kind> Array<'_, T, K> {
    /// Checks indices and finds where their elements are, once for many batches. Collective.
    ///
    /// # Errors
    /// [`Error::NoSuchElement`], on all processes, and what MPI says.
    pub fn places(&self, indices: &[usize]) -> Result<Places, Error> {
        self.check(indices, None)?;
        let found = indices.find(&self.distribution);
        let (processes, places) = found.map(|(process, place)| (process as u32, place)).unzip();
        Ok(Places { distribution: self.distribution, processes, places })
    }
}

/// How many are found at once.
const CHUNK: usize = 64;

/// The process that has an element, and its place there, of each index of an iterator.
///
/// They are found some time before they are used. Who puts what he sends into a buffer for a process that he finds in
/// the same step has the processor guess, of each buffer's length, whether the step before has changed it: it knows the
/// process too late to see.
struct Finding<I> {
    indices: I,
    distribution: Distribution,
    found: [(u32, u32); CHUNK],
    /// Those between the two are found and not yet given.
    next: usize,
    end: usize,
}

impl<I: Iterator<Item = usize>> Finding<I> {
    fn new(indices: I, distribution: &Distribution) -> Self {
        let found = [(0, 0); CHUNK];
        Self { indices, distribution: *distribution, found, next: 0, end: 0 }
    }

    #[inline]
    fn find(&mut self) {
        (self.next, self.end) = (0, 0);
        for (found, index) in self.found.iter_mut().zip(&mut self.indices) {
            let place = self.distribution.find(index);
            // Ranks are `int`s, and a part has fewer than 2^32 elements. No process has an element that there is not.
            *found = place.map_or((u32::MAX, 0), |(process, place)| (process as u32, place as u32));
            self.end += 1;
        }
    }
}

impl<I: Iterator<Item = usize>> Iterator for Finding<I> {
    type Item = (usize, u32);

    #[inline]
    fn next(&mut self) -> Option<(usize, u32)> {
        if self.next == self.end {
            self.find();
        }
        let (process, place) = *self.found[..self.end].get(self.next)?;
        self.next += 1;
        Some((process as usize, place))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let waiting = self.end - self.next;
        let (least, most) = self.indices.size_hint();
        (least.saturating_add(waiting), most.and_then(|most| most.checked_add(waiting)))
    }
}

impl<I: ExactSizeIterator<Item = usize>> ExactSizeIterator for Finding<I> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Layout;

    #[test]
    fn places_are_those_of_each_index() {
        for layout in [Layout::Block, Layout::Cyclic] {
            let distribution = Distribution::new(layout, 1000, 3);
            for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 500] {
                let indices: Vec<_> = (0..length).map(|at| at * 7919 % 1000).collect();
                let mut places = indices.find(&distribution);
                for (position, &index) in indices.iter().enumerate() {
                    assert_eq!(places.len(), length - position);
                    let (process, place) = places.next().unwrap();
                    assert_eq!(Some((process, place as usize)), distribution.find(index));
                }
                assert_eq!(places.next(), None);
                assert_eq!(places.next(), None);
            }
        }
    }
}
