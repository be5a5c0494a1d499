//! Batches of element operations that return values.

use crate::message::{Change, CompareExchange};
use crate::{Array, Element, Error, Indices, Kind, Operands, Operation, Writable};

impl<T: Element, K: Kind> Array<'_, T, K> {
    /// Reads the elements of indices. Collective.
    ///
    /// # Errors
    /// [`Error::NoSuchElement`], on all processes before anything is sent, and what MPI says.
    pub fn batch_load(&self, indices: impl Indices) -> Result<Vec<T>, Error> {
        self.check(indices, None)?;
        let places = indices.find(&self.distribution);
        let load = |place: u32, _| self.part[place as usize];
        Ok(self.team.domain().ask(self.team.settings(), places, load)?)
    }
}

impl<T: Element, K: Writable> Array<'_, T, K> {
    /// Applies an operation to the elements of indices, and returns what was there before, by index. Collective.
    ///
    /// # Errors
    /// As [`batch`](Self::batch).
    pub fn batch_fetch<O: Operation<T>>(
        &mut self,
        _operation: O,
        indices: impl Indices,
        operands: impl Operands<T>,
    ) -> Result<Vec<T>, Error> {
        self.check(indices, operands.count())?;
        let singles = self.singles(operands.single())?;
        let (domain, settings, distribution) =
            (self.team.domain(), self.team.settings(), self.distribution);
        let part = &mut self.part;
        let mut exchange = |place: usize, operand| {
            let value = part[place];
            part[place] = O::apply(value, operand);
            value
        };
        let found = if let Some(singles) = singles {
            let places = indices.find(&distribution);
            domain.ask(settings, places, |place: u32, from| exchange(place as usize, singles[from]))
        } else {
            let places = indices.find(&distribution);
            let changes = places.enumerate().map(|(position, (process, place))| {
                (process, Change { place: place.into(), operand: operands.at(position) })
            });
            domain.ask(settings, changes, |change: Change<T>, _| {
                exchange(change.place as usize, change.operand)
            })
        };
        Ok(found?)
    }

    /// Gives elements that have an expected value a new one. Returns for each index the value that was there: `Ok`
    /// if it was the expected one, and the element is the new one now. Collective.
    ///
    /// # Errors
    /// As [`batch`](Self::batch).
    pub fn batch_compare_exchange(
        &mut self,
        indices: impl Indices,
        expected: impl Operands<T>,
        new: impl Operands<T>,
    ) -> Result<Vec<Result<T, T>>, Error> {
        self.check(indices, expected.count())?;
        self.check(indices, new.count())?;
        let (domain, settings, distribution) =
            (self.team.domain(), self.team.settings(), self.distribution);
        let part = &mut self.part;
        let places = indices.find(&distribution);
        let exchanges = places.enumerate().map(|(position, (process, place))| {
            let (expected, new) = (expected.at(position), new.at(position));
            (process, CompareExchange { place: place.into(), expected, new })
        });
        let exchange = |exchange: CompareExchange<T>, _| {
            let element = &mut part[exchange.place as usize];
            let value = *element;
            if value == exchange.expected {
                *element = exchange.new;
            }
            value
        };
        let found = domain.ask(settings, exchanges, exchange)?.into_iter().enumerate();
        Ok(found
            .map(|(at, value)| if value == expected.at(at) { Ok(value) } else { Err(value) })
            .collect())
    }
}
