//! Batches of element operations that return nothing.

use core::marker::PhantomData;

use rmpi_actors::{Actor, Context, Handler, Selector};

use crate::message::Change;
use crate::operations::{Add, And, Max, Min, Mul, Or, Store, Sub, Xor};
use crate::{Array, Bits, Element, Error, Number, Operation, Writable};

/// The operands of a batch: one for all indices, or one for each.
pub trait Operands<T> {
    /// The one for all.
    fn single(&self) -> Option<T>;
    /// The one for the index at a position; of single ones, that one.
    fn at(&self, position: usize) -> T;
    /// How many there are, if not one for all.
    fn count(&self) -> Option<usize>;
}

impl<T: Element> Operands<T> for T {
    #[inline]
    fn single(&self) -> Option<T> {
        Some(*self)
    }
    #[inline]
    fn at(&self, _: usize) -> T {
        *self
    }
    #[inline]
    fn count(&self) -> Option<usize> {
        None
    }
}

macro_rules! slices {
    ($([$($generics:tt)*] $type:ty;)*) => {$(
        impl<T: Element, $($generics)*> Operands<T> for $type {
            #[inline]
            fn single(&self) -> Option<T> {
                None
            }
            #[inline]
            fn at(&self, position: usize) -> T {
                self[position]
            }
            #[inline]
            fn count(&self) -> Option<usize> {
                Some(self.len())
            }
        }
    )*};
}
slices! {
    [] &[T];
    [] &Vec<T>;
    [const N: usize] &[T; N];
}

/// A part to which operations are applied.
struct Updates<'a, T, O> {
    part: &'a mut [T],
    /// What each process has as its operand for all indices.
    singles: Vec<T>,
    operation: PhantomData<O>,
}

impl<T: Element, O: Operation<T>> Actor for Updates<'_, T, O> {
    type Mailboxes = (u32, Change<T>);
    type Error = rmpi_actors::Error;
}

impl<T: Element, O: Operation<T>> Handler<u32> for Updates<'_, T, O> {
    #[inline]
    fn handle(
        &mut self,
        place: u32,
        context: &mut Context<'_, '_, Self>,
    ) -> Result<(), rmpi_actors::Error> {
        let element = &mut self.part[place as usize];
        *element = O::apply(*element, self.singles[context.sender()]);
        Ok(())
    }
}

impl<T: Element, O: Operation<T>> Handler<Change<T>> for Updates<'_, T, O> {
    #[inline]
    fn handle(
        &mut self,
        change: Change<T>,
        _: &mut Context<'_, '_, Self>,
    ) -> Result<(), rmpi_actors::Error> {
        let element = &mut self.part[change.place as usize];
        *element = O::apply(*element, change.operand);
        Ok(())
    }
}

impl<T: Element, K: Writable> Array<'_, T, K> {
    /// Applies an operation to the elements of indices, in any order. An index may be there often. Collective.
    ///
    /// # Errors
    /// [`Error::NoSuchElement`] and [`Error::Lengths`], on all processes before anything is sent, and what MPI says.
    pub fn batch<O: Operation<T>>(
        &mut self,
        _operation: O,
        indices: &[usize],
        operands: impl Operands<T>,
    ) -> Result<(), Error> {
        self.batch_of::<O, _>(indices.iter().copied(), operands)
    }

    pub(crate) fn batch_of<O: Operation<T>, V: Operands<T>>(
        &mut self,
        indices: impl ExactSizeIterator<Item = usize> + Clone,
        operands: V,
    ) -> Result<(), Error> {
        self.check(indices.clone(), operands.count())?;
        let (team, distribution) = (self.team, self.distribution);
        let mut singles = vec![T::default(); team.size()];
        let single = operands.single();
        let communicator = team.domain().communicator();
        communicator.allgather(&single.unwrap_or_default(), &mut singles[..])?;
        let state = Updates { part: &mut self.part, singles, operation: PhantomData::<O> };
        let mut selector = Selector::new(team.domain(), state, team.settings())?;
        selector.finish(|scope| {
            let places = indices.filter_map(|index| distribution.find(index));
            if single.is_some() {
                for (process, place) in places {
                    scope.send(process, place as u32)?;
                }
            } else {
                for (position, (process, place)) in places.enumerate() {
                    let place = place as u64;
                    scope.send(process, Change { place, operand: operands.at(position) })?;
                }
            }
            Ok(())
        })?;
        Ok(())
    }
}

macro_rules! named {
    ($($bound:ident: $($batch:ident $fetch:ident $operation:ident $what:literal),*;)*) => {$(
        impl<T: $bound, K: Writable> Array<'_, T, K> {$(
            #[doc = concat!($what, " Collective.")]
            ///
            /// # Errors
            /// As [`batch`](Array::batch).
            pub fn $batch(
                &mut self,
                indices: &[usize],
                operands: impl Operands<T>,
            ) -> Result<(), Error> {
                self.batch($operation, indices, operands)
            }

            #[doc = concat!($what, " Returns what was there before, by index. Collective.")]
            ///
            /// # Errors
            /// As [`batch`](Array::batch).
            pub fn $fetch(
                &mut self,
                indices: &[usize],
                operands: impl Operands<T>,
            ) -> Result<Vec<T>, Error> {
                self.batch_fetch($operation, indices, operands)
            }
        )*}
    )*};
}

named! {
    Element:
        batch_store batch_swap Store "Stores values in elements.";
    Number:
        batch_add batch_fetch_add Add "Adds to elements.",
        batch_sub batch_fetch_sub Sub "Subtracts from elements.",
        batch_mul batch_fetch_mul Mul "Multiplies elements.",
        batch_min batch_fetch_min Min "Makes elements the lesser of themselves and an operand.",
        batch_max batch_fetch_max Max "Makes elements the greater of themselves and an operand.";
    Bits:
        batch_bit_and batch_fetch_bit_and And "Keeps the bits of elements that an operand has.",
        batch_bit_or batch_fetch_bit_or Or "Sets the bits of elements that an operand has.",
        batch_bit_xor batch_fetch_bit_xor Xor "Flips the bits of elements that an operand has.";
}
