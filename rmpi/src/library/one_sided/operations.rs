//! What reads, writes and computes, and is complete when the epoch ends.

use core::ptr;

use rmpi_macros::wraps;

use super::super::buffer::RawBuffer;
use super::super::error::{RmpiResult, check};
use super::super::operation::{MpiOp, Reduction};
use super::origin::disjoint;
use super::place::{another_count, sealed};
use super::target::{borrows, typed, untyped};
use super::{Origin, OriginMut, Place, Target, TypedOrigin, TypedOriginMut};
use crate::MpiDatatype;

impl<'e, T: MpiDatatype, K> Target<'e, '_, T, K> {
    /// Writes values. C: `MPI_Put`. Local, as a rule; does not block.
    ///
    /// # Errors
    /// [`RMA_RANGE`](super::super::ErrorClass::RMA_RANGE) if the place does not lie within the process's memory,
    /// [`COUNT`](super::super::ErrorClass::COUNT) if the numbers of values differ,
    /// [`RANK`](super::super::ErrorClass::RANK) if there is no such process; what MPI says.
    ///
    /// ```no_run
    /// # fn example<'e>(
    /// #     target: rmpi::Target<'e, '_, i64, rmpi::LockedAll>,
    /// #     numbers: &'e [i64],
    /// #     got: &'e mut [i64],
    /// # ) -> rmpi::RmpiResult {
    /// target.put(numbers, 3)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Put)]
    pub fn put<B: Origin<T> + 'e>(&self, buffer: B, place: impl Place<T>) -> RmpiResult {
        const { borrows::<B>() };
        let (raw, values) = buffer.as_origin()?;
        let at = self.at(place.extent(values)?)?;
        // SAFETY: `MPI_Put` reads the buffer until the epoch, or its part, ends, and writes to the target.
        // `Origin` and `B: 'e` keep the buffer readable as long; `extent` and `at` have checked that the place
        // is within the target's memory and has as many values. Epoch and rank are the affair of the `Target`'s
        // maker.
        check(unsafe {
            mpi.call(
                raw.pointer,
                raw.count,
                raw.datatype,
                self.rank,
                at.displacement,
                at.count,
                at.datatype,
                self.ending.raw,
            )
        })
    }

    /// Reads values. C: `MPI_Get`. Local, as a rule; does not block.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    ///
    /// ```no_run
    /// # fn example<'e>(
    /// #     target: rmpi::Target<'e, '_, i64, rmpi::LockedAll>,
    /// #     numbers: &'e [i64],
    /// #     got: &'e mut [i64],
    /// # ) -> rmpi::RmpiResult {
    /// target.get(got, 3)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Get)]
    pub fn get<B: OriginMut<T> + 'e>(&self, mut buffer: B, place: impl Place<T>) -> RmpiResult {
        const { borrows::<B>() };
        let (raw, values) = buffer.as_origin_mut()?;
        let at = self.at(place.extent(values)?)?;
        // SAFETY: `MPI_Get` writes to the buffer until the epoch, or its part, ends. `OriginMut` and `B: 'e`
        // keep it writable, and others from it, as long; `extent` and `at` have checked that the place is
        // within the target's memory and has as many values. Epoch and rank are the affair of the `Target`'s
        // maker.
        check(unsafe {
            mpi.call(
                raw.pointer,
                raw.count,
                raw.datatype,
                self.rank,
                at.displacement,
                at.count,
                at.datatype,
                self.ending.raw,
            )
        })
    }

    /// Combines values with what is there, element by element; other accumulates of the same
    /// operation on the same elements may happen at once. C: `MPI_Accumulate`. Local, as a rule; does not block.
    ///
    /// # Errors
    /// As [`put`](Self::put); [`OP`](super::super::ErrorClass::OP) if the operation does not take such elements,
    /// [`TYPE`](super::super::ErrorClass::TYPE) if the layout was made of another datatype.
    ///
    /// ```no_run
    /// # fn example<'e>(
    /// #     target: rmpi::Target<'e, '_, i64, rmpi::LockedAll>,
    /// #     numbers: &'e [i64],
    /// #     got: &'e mut [i64],
    /// # ) -> rmpi::RmpiResult {
    /// target.accumulate(numbers, 3, rmpi::MpiOp::SUM)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Accumulate)]
    pub fn accumulate<B: TypedOrigin<T> + 'e>(
        &self,
        buffer: B,
        place: impl Place<T>,
        op: MpiOp,
    ) -> RmpiResult {
        const { borrows::<B>() };
        let (raw, values) = buffer.as_origin()?;
        let reduction = Reduction::one_sided::<T>(op, false)?;
        let at = self.at(typed(place.extent(values)?)?)?;
        // SAFETY: `MPI_Accumulate` reads the buffer until the epoch, or its part, ends, and writes to the
        // target. `Origin` and `B: 'e` keep the buffer readable as long; `extent` and `at` have checked that
        // the place is within the target's memory and has as many values. `one_sided` and `typed` have checked
        // that the operation takes such elements. Epoch and rank are the affair of the `Target`'s maker.
        check(unsafe {
            mpi.call(
                raw.pointer,
                raw.count,
                raw.datatype,
                self.rank,
                at.displacement,
                at.count,
                at.datatype,
                reduction.op,
                self.ending.raw,
            )
        })
    }

    /// As [`accumulate`](Self::accumulate), and reads what was there before. With
    /// [`NO_OP`](MpiOp::NO_OP) only that, and the origin does not matter. C: `MPI_Get_accumulate`. Local, as a
    /// rule; does not block.
    ///
    /// # Errors
    /// As [`accumulate`](Self::accumulate); [`BUFFER`](super::super::ErrorClass::BUFFER) if origin and result
    /// share memory.
    ///
    /// ```no_run
    /// # fn example<'e>(
    /// #     target: rmpi::Target<'e, '_, i64, rmpi::LockedAll>,
    /// #     numbers: &'e [i64],
    /// #     got: &'e mut [i64],
    /// # ) -> rmpi::RmpiResult {
    /// target.get_accumulate(numbers, got, 3, rmpi::MpiOp::SUM)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Get_accumulate)]
    pub fn get_accumulate<B: TypedOrigin<T> + 'e, R: TypedOriginMut<T> + 'e>(
        &self,
        buffer: B,
        mut result: R,
        place: impl Place<T>,
        op: MpiOp,
    ) -> RmpiResult {
        const { borrows::<B>() };
        const { borrows::<R>() };
        let reduction = Reduction::one_sided::<T>(op, true)?;
        let (result_raw, values) = result.as_origin_mut()?;
        let (mut raw, origin_values) = buffer.as_origin()?;
        if op == MpiOp::NO_OP {
            // Nothing is read.
            raw = RawBuffer { pointer: ptr::null_mut(), count: 0, datatype: reduction.datatype };
        } else if origin_values != values {
            return Err(another_count());
        }
        disjoint::<T>(&raw, &result_raw, values)?;
        let at = self.at(typed(place.extent(values)?)?)?;
        // SAFETY: `MPI_Get_accumulate` reads the origin, if it is not empty, and writes to result and target
        // until the epoch, or its part, ends; the two buffers have no memory in common, as `disjoint` has found.
        // The buffers' traits and `'e` keep them accessible as long;
        // `extent` and `at` have checked that the place is within the target's memory and has as many values,
        // as both buffers have. `one_sided` and `typed` have checked that the operation takes such elements.
        // Epoch and rank are the affair of the `Target`'s maker.
        check(unsafe {
            mpi.call(
                raw.pointer,
                raw.count,
                raw.datatype,
                result_raw.pointer,
                result_raw.count,
                result_raw.datatype,
                self.rank,
                at.displacement,
                at.count,
                at.datatype,
                reduction.op,
                self.ending.raw,
            )
        })
    }

    /// As [`get_accumulate`](Self::get_accumulate), of one element of a predefined datatype. C:
    /// `MPI_Fetch_and_op`. Local, as a rule; does not block.
    ///
    /// # Errors
    /// As [`accumulate`](Self::accumulate).
    ///
    /// ```no_run
    /// # fn example<'e>(
    /// #     target: rmpi::Target<'e, '_, i64, rmpi::LockedAll>,
    /// #     numbers: &'e [i64],
    /// #     got: &'e mut [i64],
    /// # ) -> rmpi::RmpiResult {
    /// target.fetch_and_op(&numbers[0], &mut got[0], 3, rmpi::MpiOp::SUM)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Fetch_and_op)]
    pub fn fetch_and_op(
        &self,
        value: &'e T,
        result: &'e mut T,
        displacement: usize,
        op: MpiOp,
    ) -> RmpiResult {
        let reduction = Reduction::one_sided::<T>(op, true)?;
        if reduction.count(1)? != 1 {
            return Err(untyped());
        }
        let at = self.at(sealed::Place::<T>::extent(displacement, 1)?)?;
        let (value, result) = (ptr::from_ref(value).cast(), ptr::from_mut(result).cast());
        let (rank, win) = (self.rank, self.ending.raw);
        // SAFETY: `MPI_Fetch_and_op` asks for an element to read and another one to write, both of a predefined
        // datatype, until the epoch, or its part, ends. Both are borrowed for `'e`; the operation takes such
        // elements, of which a `T` is one; and the place lies within the target's memory. Epoch and rank are
        // the affair of the `Target`'s maker.
        check(unsafe {
            mpi.call(value, result, at.datatype, rank, at.displacement, reduction.op, win)
        })
    }

    /// Replaces an integer if it equals `compare`, and reads what was there before. C: `MPI_Compare_and_swap`.
    /// Local, as a rule; does not block.
    ///
    /// # Errors
    /// As [`accumulate`](Self::accumulate).
    ///
    /// ```no_run
    /// # fn example<'e>(
    /// #     target: rmpi::Target<'e, '_, i64, rmpi::LockedAll>,
    /// #     numbers: &'e [i64],
    /// #     got: &'e mut [i64],
    /// # ) -> rmpi::RmpiResult {
    /// target.compare_and_swap(&numbers[0], &numbers[1], &mut got[0], 3)?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Compare_and_swap)]
    pub fn compare_and_swap(
        &self,
        value: &'e T,
        compare: &'e T,
        result: &'e mut T,
        displacement: usize,
    ) -> RmpiResult {
        let datatype = Reduction::comparable::<T>()?;
        let at = self.at(sealed::Place::<T>::extent(displacement, 1)?)?;
        let (value, compare) = (ptr::from_ref(value).cast(), ptr::from_ref(compare).cast());
        let result = ptr::from_mut(result).cast();
        let (rank, win) = (self.rank, self.ending.raw);
        // SAFETY: `MPI_Compare_and_swap` asks for two elements to read and another one to write, of a datatype
        // that can be compared, until the epoch, or its part, ends. They are borrowed for `'e`; `comparable`
        // accepts no other datatypes; and the place lies within the target's memory. Epoch and rank are the
        // affair of the `Target`'s maker.
        check(unsafe { mpi.call(value, compare, result, datatype, rank, at.displacement, win) })
    }
}
