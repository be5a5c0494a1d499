//! What reads, writes and computes, with a request.

use core::ptr;

use rmpi_macros::wraps;

use super::super::buffer::RawBuffer;
use super::super::epoch::AccessesPassively;
use super::super::error::{RmpiResult, output};
use super::super::operation::{MpiOp, Reduction};
use super::super::request::Request;
use super::super::sys;
use super::origin::disjoint;
use super::place::another_count;
use super::target::typed;
use super::{Origin, OriginMut, Place, Target, TypedOrigin, TypedOriginMut};
use crate::MpiDatatype;

/// The forms with a request, for epochs of passive targets. A request that is forgotten is waited for
/// before the epoch ends; its buffer may be one that moves in.
impl<'e, T: MpiDatatype, K: AccessesPassively> Target<'e, '_, T, K> {
    /// As [`put`](Self::put); the request is complete when the buffer is free again. C: `MPI_Rput`. Local, as a
    /// rule; does not block.
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
    /// let numbers = target.rput(numbers, 3)?.wait()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Rput)]
    pub fn rput<B: Origin<T> + 'e>(
        &self,
        buffer: B,
        place: impl Place<T>,
    ) -> RmpiResult<Request<'e, B>> {
        // SAFETY: `begin_lasting` asks for memory that is the buffer's wherever that moves, and valid for `'e`:
        // `Origin` and `B: 'e` say so. `MPI_Rput` reads it until the request ends. `extent` and `at` have
        // checked that the place is within the target's memory and has as many values. Epoch and rank are the
        // affair of the `Target`'s maker.
        unsafe {
            self.scope.begin_lasting(buffer, |buffer| {
                let (raw, values) = buffer.as_origin()?;
                let at = self.at(place.extent(values)?)?;
                output(sys::MPI_REQUEST_NULL, |request| {
                    mpi.call(
                        raw.pointer,
                        raw.count,
                        raw.datatype,
                        self.rank,
                        at.displacement,
                        at.count,
                        at.datatype,
                        self.ending.raw,
                        request,
                    )
                })
            })
        }
    }

    /// As [`get`](Self::get); the request is complete when the values are there. C: `MPI_Rget`. Local, as a
    /// rule; does not block.
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
    /// println!("{:?}", target.rget(got, 3)?.wait()?);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Rget)]
    pub fn rget<B: OriginMut<T> + 'e>(
        &self,
        buffer: B,
        place: impl Place<T>,
    ) -> RmpiResult<Request<'e, B>> {
        // SAFETY: `begin_lasting` asks for memory that is the buffer's wherever that moves, and valid for `'e`:
        // `OriginMut` and `B: 'e` say so. `MPI_Rget` writes to it until the request ends. `extent` and `at`
        // have checked that the place is within the target's memory and has as many values. Epoch and rank are
        // the affair of the `Target`'s maker.
        unsafe {
            self.scope.begin_lasting(buffer, |buffer| {
                let (raw, values) = buffer.as_origin_mut()?;
                let at = self.at(place.extent(values)?)?;
                output(sys::MPI_REQUEST_NULL, |request| {
                    mpi.call(
                        raw.pointer,
                        raw.count,
                        raw.datatype,
                        self.rank,
                        at.displacement,
                        at.count,
                        at.datatype,
                        self.ending.raw,
                        request,
                    )
                })
            })
        }
    }

    /// As [`accumulate`](Self::accumulate); the request is complete when the buffer is free again. C:
    /// `MPI_Raccumulate`. Local, as a rule; does not block.
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
    /// target.raccumulate(numbers, 3, rmpi::MpiOp::SUM)?.wait()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Raccumulate)]
    pub fn raccumulate<B: TypedOrigin<T> + 'e>(
        &self,
        buffer: B,
        place: impl Place<T>,
        op: MpiOp,
    ) -> RmpiResult<Request<'e, B>> {
        let reduction = Reduction::one_sided::<T>(op, false)?;
        // SAFETY: `begin_lasting` asks for memory that is the buffer's wherever that moves, and valid for `'e`:
        // `Origin` and `B: 'e` say so. `MPI_Raccumulate` reads it until the request ends. `extent` and `at`
        // have checked that the place is within the target's memory and has as many values; `one_sided` and
        // `typed`, that the operation takes such elements. Epoch and rank are the affair of the `Target`'s
        // maker.
        unsafe {
            self.scope.begin_lasting(buffer, |buffer| {
                let (raw, values) = buffer.as_origin()?;
                let at = self.at(typed(place.extent(values)?)?)?;
                output(sys::MPI_REQUEST_NULL, |request| {
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
                        request,
                    )
                })
            })
        }
    }

    /// As [`get_accumulate`](Self::get_accumulate); the request is complete when the values are
    /// there. C: `MPI_Rget_accumulate`. Local, as a rule; does not block.
    ///
    /// # Errors
    /// As [`get_accumulate`](Self::get_accumulate).
    ///
    /// ```no_run
    /// # fn example<'e>(
    /// #     target: rmpi::Target<'e, '_, i64, rmpi::LockedAll>,
    /// #     numbers: &'e [i64],
    /// #     got: &'e mut [i64],
    /// # ) -> rmpi::RmpiResult {
    /// let (_, got) = target.rget_accumulate(numbers, got, 3, rmpi::MpiOp::SUM)?.wait()?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Rget_accumulate)]
    pub fn rget_accumulate<B: TypedOrigin<T> + 'e, R: TypedOriginMut<T> + 'e>(
        &self,
        buffer: B,
        result: R,
        place: impl Place<T>,
        op: MpiOp,
    ) -> RmpiResult<Request<'e, (B, R)>> {
        let reduction = Reduction::one_sided::<T>(op, true)?;
        // SAFETY: `begin_lasting` asks for memory that is the buffers' wherever they move, and valid for `'e`:
        // their traits and `'e` say so. `MPI_Rget_accumulate` reads the origin, if it is not empty, and writes
        // to the result until the request ends; they have no memory in common, as `disjoint` finds. `extent` and `at` have checked that the place is within the
        // target's memory and has as many values, as both buffers have; `one_sided` and `typed`, that the
        // operation takes such elements. Epoch and rank are the affair of the `Target`'s maker.
        unsafe {
            self.scope.begin_lasting((buffer, result), |(buffer, result)| {
                let (result, values) = result.as_origin_mut()?;
                let (mut raw, origin_values) = buffer.as_origin()?;
                if op == MpiOp::NO_OP {
                    // Nothing is read.
                    let (pointer, datatype) = (ptr::null_mut(), reduction.datatype);
                    raw = RawBuffer { pointer, count: 0, datatype };
                } else if origin_values != values {
                    return Err(another_count());
                }
                disjoint::<T>(&raw, &result, values)?;
                let at = self.at(typed(place.extent(values)?)?)?;
                output(sys::MPI_REQUEST_NULL, |request| {
                    mpi.call(
                        raw.pointer,
                        raw.count,
                        raw.datatype,
                        result.pointer,
                        result.count,
                        result.datatype,
                        self.rank,
                        at.displacement,
                        at.count,
                        at.datatype,
                        reduction.op,
                        self.ending.raw,
                        request,
                    )
                })
            })
        }
    }
}
