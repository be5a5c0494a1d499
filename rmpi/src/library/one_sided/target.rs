//! The memory of one process in an epoch.

use core::ffi::c_int;
use core::marker::PhantomData;
use core::mem::needs_drop;

use super::super::epoch::{AccessesAll, Epoch, Locked};
use super::super::error::{Error, ErrorClass, RmpiResult};
use super::super::request::Scope;
use super::super::sys::{self, MPI_Aint, MPI_Count, MPI_Datatype};
use super::super::window::{Attached, Ending, foreign};
use super::place::sealed::Extent;
use crate::MpiDatatype;

/// The memory of one process in an [`Epoch`], to read and write: of `T`s.
///
/// The operations do not block, and are complete when the epoch ends, or a
/// [`flush`](Epoch::flush) after them; buffers are borrowed until then. In the same epoch, operations
/// on the same elements are in no order, but accumulates of the same operation. The origin must not
/// overlap the place, where it is a process's [own](Epoch::own) part of the window.
#[derive(Debug)]
pub struct Target<'e, 'env, T, K> {
    pub(super) scope: &'e Scope<'e, 'env>,
    pub(super) ending: &'e Ending,
    pub(super) rank: c_int,
    /// Where its memory begins, in what displacements count.
    base: MPI_Aint,
    /// How much displacements count an element.
    unit: MPI_Aint,
    /// How many elements it has; none if there is no such process.
    length: Option<usize>,
    _kind: PhantomData<(*mut T, K)>,
}

/// C's arguments of a place.
pub(super) struct At {
    pub(super) displacement: MPI_Aint,
    pub(super) count: MPI_Count,
    pub(super) datatype: MPI_Datatype,
}

impl<'e, 'env, T, K> Target<'e, 'env, T, K> {
    #[inline]
    fn new<U>(epoch: &'e Epoch<'e, 'env, U, K>, rank: usize) -> Self {
        let Epoch { scope, ending, core, .. } = epoch;
        let length = core.lengths.get(rank).copied().filter(|_| epoch.accesses(rank));
        let (base, unit) = core.origin(rank, size_of::<T>());
        let rank = rank as c_int;
        Self { scope, ending, rank, base, unit, length, _kind: PhantomData }
    }

    fn null(epoch: &'e Epoch<'e, 'env, T, K>) -> Self {
        let Epoch { scope, ending, .. } = epoch;
        let (rank, length) = (sys::MPI_PROC_NULL, Some(usize::MAX));
        Self { scope, ending, rank, base: 0, unit: 1, length, _kind: PhantomData }
    }

    fn attached<U>(
        epoch: &'e Epoch<'e, 'env, U, K>,
        rank: usize,
        base: MPI_Aint,
        length: usize,
    ) -> Self {
        let Epoch { scope, ending, .. } = epoch;
        let (rank, length, unit) = (rank as c_int, Some(length), size_of::<T>() as MPI_Aint);
        Self { scope, ending, rank, base, unit, length, _kind: PhantomData }
    }

    /// How many elements it has; `None` if there is no such process.
    pub const fn length(&self) -> Option<usize> {
        self.length
    }

    /// The place, if it lies within the process's memory.
    #[inline]
    pub(super) fn at(&self, extent: Extent) -> RmpiResult<At> {
        let Some(length) = self.length else {
            return Err(Error::refused(
                ErrorClass::RANK,
                "the window has no process of that rank, or the epoch does not access it",
            ));
        };
        let Extent { start, span, count, datatype, .. } = extent;
        if start > length || span > length - start {
            return Err(Error::refused(
                ErrorClass::RMA_RANGE,
                "the place does not lie within the process's memory",
            ));
        }
        // MPI uses the buffers from here on, if the call succeeds.
        self.ending.begun.set(true);
        // An address plus what lies within the memory there; of nobody's memory, whatever.
        let offset = (start as MPI_Aint).wrapping_mul(self.unit);
        Ok(At { displacement: self.base.wrapping_add(offset), count, datatype })
    }
}

/// A buffer is gone when its operation has begun, but for what it borrows.
pub(super) const fn borrows<B>() {
    assert!(
        !needs_drop::<B>(),
        "give one-sided operations references: a buffer that moves in would be dropped too early"
    );
}

pub(super) fn untyped() -> Error {
    Error::refused(ErrorClass::TYPE, "to compute with, only layouts of the window's type")
}

/// What computes needs to know what it computes with.
pub(super) fn typed(extent: Extent) -> RmpiResult<Extent> {
    if extent.typed { Ok(extent) } else { Err(untyped()) }
}

impl<'e, 'env, T: MpiDatatype, K: AccessesAll> Epoch<'e, 'env, T, K> {
    /// The memory of the process of this rank. Calls nothing: if there is none, or it is not in the group that
    /// the epoch was [started](super::super::Window::start) with, the operations are errors of class
    /// [`RANK`](ErrorClass::RANK).
    #[inline]
    pub fn process(&'e self, rank: usize) -> Target<'e, 'env, T, K> {
        Target::new(self, rank)
    }

    /// `MPI_PROC_NULL`: nothing happens there.
    pub fn process_null(&'e self) -> Target<'e, 'env, T, K> {
        Target::null(self)
    }
}

impl<'e, 'env, T: MpiDatatype> Epoch<'e, 'env, T, Locked> {
    /// The memory that is locked. Calls nothing.
    #[inline]
    pub fn target(&'e self) -> Target<'e, 'env, T, Locked> {
        let rank = self.locked as usize;
        Target::new(self, rank)
    }
}

impl<'e, 'env, K> Epoch<'e, 'env, (), K> {
    /// Memory of the process of this rank that is [attached](super::super::Window::attach). Calls nothing.
    ///
    /// # Errors
    /// [`WIN`](ErrorClass::WIN) if it is attached to another window, [`RANK`](ErrorClass::RANK) if
    /// there is no such process, or it is not locked.
    pub fn attached<T: MpiDatatype>(
        &'e self,
        attached: &'e Attached<T>,
        rank: usize,
    ) -> RmpiResult<Target<'e, 'env, T, K>> {
        if attached.window != self.number {
            return Err(foreign());
        }
        if !self.is_locked(rank) {
            return Err(Error::refused(
                ErrorClass::RANK,
                "the lock is of another process's memory",
            ));
        }
        let place = attached.places.get(rank).filter(|_| self.accesses(rank));
        place
            .map(|(address, length)| Target::attached(self, rank, *address, *length))
            .ok_or(Error::refused(ErrorClass::RANK, "the window has no process of that rank"))
    }
}
