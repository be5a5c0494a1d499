//! Compare-exchanges of which only those are answered that failed, and which then may try another element.

use rmpi_actors::{Actor, Context, Handler, Selector};

use crate::layout::Distribution;
use crate::message::{Attempt, Found, Wanted};
use crate::{Array, Element, Error, Indices, Operands, Writable};

/// A part whose elements are compared and exchanged.
struct Attempts<'a, T, V, F> {
    part: &'a mut [T],
    /// What each process expects in all elements.
    expected: Vec<T>,
    distribution: Distribution,
    /// What this process wants to write.
    new: V,
    retry: F,
    failures: Vec<(usize, T)>,
}

impl<T, V, F> Attempts<'_, T, V, F>
where
    T: Element,
    V: Operands<T>,
    F: FnMut(usize, T) -> Option<usize>,
{
    /// What the element at a place gets.
    #[inline]
    fn attempt(&self, ticket: u32, place: u32) -> Attempt<T> {
        Attempt { wanted: Wanted::new(ticket, place), new: self.new.at(ticket as usize) }
    }
}

impl<T, V, F> Actor for Attempts<'_, T, V, F>
where
    T: Element,
    V: Operands<T>,
    F: FnMut(usize, T) -> Option<usize>,
{
    type Mailboxes = (Attempt<T>, Found<T>);
    type Error = Error;
}

impl<T, V, F> Handler<Attempt<T>> for Attempts<'_, T, V, F>
where
    T: Element,
    V: Operands<T>,
    F: FnMut(usize, T) -> Option<usize>,
{
    #[inline]
    fn handle(
        &mut self,
        attempt: Attempt<T>,
        context: &mut Context<'_, '_, Self>,
    ) -> Result<(), Error> {
        let Attempt { wanted, new } = attempt;
        let element = &mut self.part[wanted.place() as usize];
        let value = *element;
        if value == self.expected[context.sender()] {
            *element = new;
            return Ok(());
        }
        Ok(context.send(context.sender(), Found { ticket: wanted.ticket().into(), value })?)
    }
}

impl<T, V, F> Handler<Found<T>> for Attempts<'_, T, V, F>
where
    T: Element,
    V: Operands<T>,
    F: FnMut(usize, T) -> Option<usize>,
{
    #[inline]
    fn handle(
        &mut self,
        found: Found<T>,
        context: &mut Context<'_, '_, Self>,
    ) -> Result<(), Error> {
        let position = found.ticket as usize;
        let Some(index) = (self.retry)(position, found.value) else {
            self.failures.push((position, found.value));
            return Ok(());
        };
        let length = self.distribution.length;
        let (process, place) =
            self.distribution.find(index).ok_or(Error::NoSuchElement { index, length })?;
        Ok(context.send(process, self.attempt(found.ticket as u32, place as u32))?)
    }
}

impl<T: Element, K: Writable> Array<'_, T, K> {
    /// Gives elements that have an expected value, the same for all indices, a new one. Where an element has
    /// another value, a function gets the position in the list of indices and that value, and says which element
    /// is tried instead, or that none is. Returns those positions and values, in any order. Collective.
    ///
    /// Only failures are answered: where most succeed, half as much travels as by
    /// [`batch_compare_exchange`](Self::batch_compare_exchange).
    ///
    /// ```no_run
    /// # use rmpi_pgas::{Array, Atomic, Error};
    /// # fn example(seats: &mut Array<'_, u64, Atomic>, me: u64) -> Result<(), Error> {
    /// // The next seat, if a seat is taken, twice at most.
    /// let wanted = [30, 50, 70];
    /// let mut tried = wanted;
    /// let next = |position: usize, _taken_by| {
    ///     tried[position] += 1;
    ///     (tried[position] < wanted[position] + 3).then_some(tried[position])
    /// };
    /// let standing = seats.batch_compare_exchange_retry(&wanted, 0, me, next)?;
    /// println!("{} stand", standing.len());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`batch`](Self::batch). [`Error::NoSuchElement`] of an index that the function says: others are tried all
    /// the same.
    pub fn batch_compare_exchange_retry(
        &mut self,
        indices: impl Indices,
        expected: T,
        new: impl Operands<T>,
        retry: impl FnMut(usize, T) -> Option<usize>,
    ) -> Result<Vec<(usize, T)>, Error> {
        self.check(indices, new.count())?;
        let (team, distribution) = (self.team, self.distribution);
        let mut all_expected = vec![T::default(); team.size()];
        team.domain().communicator().allgather(&expected, &mut all_expected[..])?;
        let state = Attempts {
            part: &mut self.part,
            expected: all_expected,
            distribution,
            new,
            retry,
            failures: Vec::new(),
        };
        let mut selector = Selector::new(team.domain(), state, team.settings())?;
        selector.finish(|scope| {
            let places = indices.find(&distribution);
            for (ticket, (process, place)) in (0_u32..).zip(places) {
                let attempt = scope.state().attempt(ticket, place);
                scope.send(process, attempt)?;
            }
            Ok(())
        })?;
        Ok(selector.into_state().failures)
    }
}
