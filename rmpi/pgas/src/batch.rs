//! Batches of element operations that return nothing.

use core::marker::PhantomData;
use core::ops::Range;

use rmpi_actors::{Actor, Context, Handler, Selector};

use crate::message::Change;
use crate::operations::{Add, And, Max, Min, Mul, Or, Store, Sub, Xor};
use crate::{Array, Bits, Element, Error, Indices, Number, Operation, Writable};

/// The operands of a batch: one for all indices, or one for each, of which a range such as `10..20` makes a list of
/// numbers that is nowhere in memory.
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

macro_rules! ranges {
    ($($type:ty)*) => {$(
        impl Operands<$type> for Range<$type> {
            #[inline]
            fn single(&self) -> Option<$type> {
                None
            }
            #[inline]
            fn at(&self, position: usize) -> $type {
                self.start.wrapping_add(position as $type)
            }
            #[inline]
            fn count(&self) -> Option<usize> {
                Some(self.clone().count())
            }
        }
    )*};
}
ranges! { i8 i16 i32 i64 isize u8 u16 u32 u64 usize }

/// A part to which operations are applied, with an operand of each process for all of its indices.
struct Singles<'a, T, O> {
    part: &'a mut [T],
    singles: Vec<T>,
    operation: PhantomData<O>,
}

impl<T: Element, O: Operation<T>> Actor for Singles<'_, T, O> {
    type Mailboxes = (u32,);
    type Error = rmpi_actors::Error;
}

impl<T: Element, O: Operation<T>> Handler<u32> for Singles<'_, T, O> {
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

/// A part to which operations are applied, with an operand for each index.
struct Changes<'a, T, O> {
    part: &'a mut [T],
    operation: PhantomData<O>,
}

impl<T: Element, O: Operation<T>> Actor for Changes<'_, T, O> {
    type Mailboxes = (Change<T>,);
    type Error = rmpi_actors::Error;
}

impl<T: Element, O: Operation<T>> Handler<Change<T>> for Changes<'_, T, O> {
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
        indices: impl Indices,
        operands: impl Operands<T>,
    ) -> Result<(), Error> {
        self.check(indices, operands.count())?;
        let singles = self.singles(operands.single())?;
        let team = self.team;
        let (part, operation) = (&mut self.part[..], PhantomData::<O>);
        let mut places = indices.find(&self.distribution);
        if let Some(singles) = singles {
            let state = Singles { part, singles, operation };
            let mut selector = Selector::new(team.domain(), state, team.settings())?;
            selector.finish(|scope| {
                places.try_for_each(|(process, place)| scope.send(process, place))
            })?;
        } else {
            let state = Changes { part, operation };
            let mut selector = Selector::new(team.domain(), state, team.settings())?;
            selector.finish(|scope| {
                places.enumerate().try_for_each(|(position, (process, place))| {
                    let operand = operands.at(position);
                    scope.send(process, Change { place: place.into(), operand })
                })
            })?;
        }
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
                indices: impl Indices,
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
                indices: impl Indices,
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
