//! Batches of element operations that return values.

use core::marker::PhantomData;

use rmpi_actors::{Actor, Context, Handler, Selector};

use crate::message::{CompareExchange, Exchange, Found, Wanted};
use crate::{Array, Element, Error, Kind, Operands, Operation, Writable};

type Result<T = (), E = rmpi_actors::Error> = core::result::Result<T, E>;

/// A part that is read, and what this process asked for.
struct Loads<'a, T> {
    part: &'a [T],
    found: Vec<T>,
}

/// A part to which operations are applied, and what was there before.
struct Exchanges<'a, T, O> {
    part: &'a mut [T],
    found: Vec<T>,
    operation: PhantomData<O>,
}

/// A part whose elements are compared and exchanged.
struct Compared<'a, T> {
    part: &'a mut [T],
    found: Vec<T>,
}

impl<T: Element> Actor for Loads<'_, T> {
    type Mailboxes = (Wanted, Found<T>);
    type Error = rmpi_actors::Error;
}

impl<T: Element, O: Operation<T>> Actor for Exchanges<'_, T, O> {
    type Mailboxes = (Exchange<T>, Found<T>);
    type Error = rmpi_actors::Error;
}

impl<T: Element> Actor for Compared<'_, T> {
    type Mailboxes = (CompareExchange<T>, Found<T>);
    type Error = rmpi_actors::Error;
}

impl<T: Element> Handler<Wanted> for Loads<'_, T> {
    #[inline]
    fn handle(&mut self, wanted: Wanted, context: &mut Context<'_, '_, Self>) -> Result {
        let value = self.part[wanted.place as usize];
        context.send(context.sender(), Found { ticket: wanted.ticket.into(), value })
    }
}

impl<T: Element, O: Operation<T>> Handler<Exchange<T>> for Exchanges<'_, T, O> {
    #[inline]
    fn handle(&mut self, exchange: Exchange<T>, context: &mut Context<'_, '_, Self>) -> Result {
        let Exchange { wanted, operand } = exchange;
        let element = &mut self.part[wanted.place as usize];
        let value = *element;
        *element = O::apply(value, operand);
        context.send(context.sender(), Found { ticket: wanted.ticket.into(), value })
    }
}

impl<T: Element> Handler<CompareExchange<T>> for Compared<'_, T> {
    #[inline]
    fn handle(
        &mut self,
        exchange: CompareExchange<T>,
        context: &mut Context<'_, '_, Self>,
    ) -> Result {
        let CompareExchange { wanted, expected, new } = exchange;
        let element = &mut self.part[wanted.place as usize];
        let value = *element;
        if value == expected {
            *element = new;
        }
        context.send(context.sender(), Found { ticket: wanted.ticket.into(), value })
    }
}

macro_rules! answers {
    ($([$($operation:ident)?] $state:ty;)*) => {$(
        impl<T: Element $(, $operation: Operation<T>)?> Handler<Found<T>> for $state {
            #[inline]
            fn handle(&mut self, found: Found<T>, _: &mut Context<'_, '_, Self>) -> Result {
                self.found[found.ticket as usize] = found.value;
                Ok(())
            }
        }
    )*};
}
answers! {
    [] Loads<'_, T>;
    [O] Exchanges<'_, T, O>;
    [] Compared<'_, T>;
}

impl<T: Element, K: Kind> Array<'_, T, K> {
    /// Reads the elements of indices. Collective.
    ///
    /// # Errors
    /// [`Error::NoSuchElement`], on all processes before anything is sent, and what MPI says.
    pub fn batch_load(&self, indices: &[usize]) -> Result<Vec<T>, Error> {
        self.load_of(indices.iter().copied())
    }

    pub(crate) fn load_of(
        &self,
        indices: impl Iterator<Item = usize> + Clone,
    ) -> Result<Vec<T>, Error> {
        self.check(indices.clone(), None)?;
        let (team, distribution) = (self.team, self.distribution);
        let state = Loads { part: &self.part, found: vec![T::default(); indices.clone().count()] };
        let mut selector = Selector::new(team.domain(), state, team.settings())?;
        selector.finish(|scope| {
            let places = indices.filter_map(|index| distribution.find(index));
            for (ticket, (process, place)) in (0_u32..).zip(places) {
                scope.send(process, Wanted { ticket, place: place as u32 })?;
            }
            Ok(())
        })?;
        Ok(selector.into_state().found)
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
        indices: &[usize],
        operands: impl Operands<T>,
    ) -> Result<Vec<T>, Error> {
        self.check(indices.iter().copied(), operands.count())?;
        let (team, distribution) = (self.team, self.distribution);
        let found = vec![T::default(); indices.len()];
        let state = Exchanges { part: &mut self.part, found, operation: PhantomData::<O> };
        let mut selector = Selector::new(team.domain(), state, team.settings())?;
        selector.finish(|scope| {
            let places = indices.iter().filter_map(|&index| distribution.find(index));
            for (ticket, (process, place)) in (0_u32..).zip(places) {
                let wanted = Wanted { ticket, place: place as u32 };
                let operand = operands.at(ticket as usize);
                scope.send(process, Exchange { wanted, operand })?;
            }
            Ok(())
        })?;
        Ok(selector.into_state().found)
    }

    /// Gives elements that have an expected value a new one. Returns for each index the value that was there: `Ok`
    /// if it was the expected one, and the element is the new one now. Collective.
    ///
    /// # Errors
    /// As [`batch`](Self::batch).
    pub fn batch_compare_exchange(
        &mut self,
        indices: &[usize],
        expected: impl Operands<T>,
        new: impl Operands<T>,
    ) -> Result<Vec<Result<T, T>>, Error> {
        self.check(indices.iter().copied(), expected.count())?;
        self.check(indices.iter().copied(), new.count())?;
        let (team, distribution) = (self.team, self.distribution);
        let state = Compared { part: &mut self.part, found: vec![T::default(); indices.len()] };
        let mut selector = Selector::new(team.domain(), state, team.settings())?;
        selector.finish(|scope| {
            let places = indices.iter().filter_map(|&index| distribution.find(index));
            for (ticket, (process, place)) in (0_u32..).zip(places) {
                let wanted = Wanted { ticket, place: place as u32 };
                let (expected, new) = (expected.at(ticket as usize), new.at(ticket as usize));
                scope.send(process, CompareExchange { wanted, expected, new })?;
            }
            Ok(())
        })?;
        let found = selector.into_state().found.into_iter().enumerate();
        Ok(found
            .map(|(at, value)| if value == expected.at(at) { Ok(value) } else { Err(value) })
            .collect())
    }
}
