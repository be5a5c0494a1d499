//! Iterators: each process goes through its own elements.

use core::iter::Enumerate;
use core::slice;

use crate::layout::Distribution;
use crate::reduce::{combine, total};
use crate::{Array, Element, Error, Kind, Number, Team, Writable};

/// The elements of a process, with their indices in the array.
#[derive(Clone, Debug)]
pub struct LocalElements<I> {
    elements: Enumerate<I>,
    distribution: Distribution,
    rank: usize,
}

impl<I: Iterator> Iterator for LocalElements<I> {
    type Item = (usize, I::Item);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (place, element) = self.elements.next()?;
        Some((self.distribution.index(self.rank, place), element))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.elements.size_hint()
    }
}

/// Goes through the elements of an array on all processes at once, each through its own. Items come with the index
/// of the element.
#[derive(Clone, Debug)]
#[must_use = "iterators do nothing until something asks for items"]
pub struct DistributedIter<'t, I> {
    team: &'t Team<'t>,
    items: I,
}

impl<'t, T: Element, K: Kind> Array<'t, T, K> {
    /// The elements of this process with their indices, for this process alone.
    pub fn local_iter(&self) -> LocalElements<slice::Iter<'_, T>> {
        LocalElements {
            elements: self.part.iter().enumerate(),
            distribution: self.distribution,
            rank: self.team.rank(),
        }
    }

    /// Goes through all elements. What comes of it is collective.
    pub fn dist_iter(&self) -> DistributedIter<'t, impl Iterator<Item = (usize, T)> + '_> {
        let items = self.local_iter().map(|(index, element)| (index, *element));
        DistributedIter { team: self.team, items }
    }
}

impl<'t, T: Element, K: Writable> Array<'t, T, K> {
    /// Goes through all elements, to change them. What comes of it is collective.
    pub fn dist_iter_mut(
        &mut self,
    ) -> DistributedIter<'t, impl Iterator<Item = (usize, &mut T)> + '_> {
        let items = LocalElements {
            elements: self.part.iter_mut().enumerate(),
            distribution: self.distribution,
            rank: self.team.rank(),
        };
        DistributedIter { team: self.team, items }
    }
}

impl<'t, X, I: Iterator<Item = (usize, X)>> DistributedIter<'t, I> {
    fn with<J>(self, items: impl FnOnce(I) -> J) -> DistributedIter<'t, J> {
        DistributedIter { team: self.team, items: items(self.items) }
    }

    /// Makes another item of each.
    pub fn map<Y>(
        self,
        mut function: impl FnMut(X) -> Y,
    ) -> DistributedIter<'t, impl Iterator<Item = (usize, Y)>> {
        self.with(|items| items.map(move |(index, item)| (index, function(item))))
    }

    /// Gives the index to each item.
    pub fn enumerate(self) -> DistributedIter<'t, impl Iterator<Item = (usize, (usize, X))>> {
        self.with(|items| items.map(|(index, item)| (index, (index, item))))
    }

    /// Only items for which a function says so.
    pub fn filter(
        self,
        mut function: impl FnMut(&X) -> bool,
    ) -> DistributedIter<'t, impl Iterator<Item = (usize, X)>> {
        self.with(|items| items.filter(move |(_, item)| function(item)))
    }

    /// Only items from an index of the array on.
    pub fn skip(self, first: usize) -> DistributedIter<'t, impl Iterator<Item = (usize, X)>> {
        self.with(|items| items.filter(move |(index, _)| *index >= first))
    }

    /// Only items under an index of the array.
    pub fn take(self, end: usize) -> DistributedIter<'t, impl Iterator<Item = (usize, X)>> {
        self.with(|items| items.filter(move |(index, _)| *index < end))
    }

    /// Only items whose index is a multiple of a step, which is at least 1.
    pub fn step_by(self, step: usize) -> DistributedIter<'t, impl Iterator<Item = (usize, X)>> {
        self.with(|items| items.filter(move |(index, _)| index.is_multiple_of(step.max(1))))
    }

    /// Does something with each item, and waits for all processes. Collective.
    ///
    /// # Errors
    /// What MPI says.
    pub fn for_each(self, mut function: impl FnMut(X)) -> Result<(), Error> {
        self.items.for_each(|(_, item)| function(item));
        self.team.barrier()
    }

    /// How many items there are, on all processes. Collective.
    ///
    /// # Errors
    /// What MPI says.
    pub fn count(self) -> Result<u64, Error> {
        total(self.team, self.items.count() as u64)
    }

    /// The items of this process. Collective.
    ///
    /// # Errors
    /// What MPI says.
    pub fn collect_local<C: FromIterator<X>>(self) -> Result<C, Error> {
        let collection = self.items.map(|(_, item)| item).collect();
        self.team.barrier()?;
        Ok(collection)
    }
}

impl<X: Element, I: Iterator<Item = (usize, X)>> DistributedIter<'_, I> {
    /// Combines all items, on each process first; `None` if there are none. Collective.
    ///
    /// # Errors
    /// What MPI says.
    pub fn reduce(self, mut function: impl FnMut(X, X) -> X) -> Result<Option<X>, Error> {
        let mine = self.items.map(|(_, item)| item).reduce(&mut function);
        combine(self.team, mine, function)
    }

    /// All items of all processes, in the order of their indices, on each process. Collective.
    ///
    /// # Errors
    /// What MPI says.
    pub fn collect(self) -> Result<Vec<X>, Error> {
        let team = self.team;
        let communicator = team.domain().communicator();
        let (indices, items): (Vec<u64>, Vec<X>) =
            self.items.map(|(index, item)| (index as u64, item)).unzip();
        let mut lengths = vec![0_u64; team.size()];
        communicator.allgather(&(items.len() as u64), &mut lengths[..])?;
        // Each process in turn: no list of all processes' items by process is needed.
        let mut all = Vec::new();
        for (root, &length) in lengths.iter().enumerate() {
            let (mut theirs, mut at) = if root == team.rank() {
                (items.clone(), indices.clone())
            } else {
                (vec![X::default(); length as usize], vec![0; length as usize])
            };
            communicator.process(root).bcast(&mut at[..])?;
            communicator.process(root).bcast(&mut theirs[..])?;
            all.extend(at.into_iter().zip(theirs));
        }
        all.sort_by_key(|(index, _)| *index);
        Ok(all.into_iter().map(|(_, item)| item).collect())
    }
}

impl<X: Number, I: Iterator<Item = (usize, X)>> DistributedIter<'_, I> {
    /// The sum of all items. Collective.
    ///
    /// # Errors
    /// What MPI says.
    pub fn sum(self) -> Result<X, Error> {
        Ok(self.reduce(X::add)?.unwrap_or(X::ZERO))
    }
}
