//! What reduces elements of a type, and how C is told.

use rmpi_macros::wraps;
use smallvec::SmallVec;

use super::super::blocks::ReceiveCounts;
use super::super::buffer::BufferMut;
use super::super::datatype::{ElementOf, handle};
use super::super::error::{Error, ErrorClass, RmpiResult, check};
use super::super::runtime::Runtime;
use super::super::sys::{MPI_Count, MPI_Datatype, MPI_Op};
use super::predefined::is_comparable;
use super::{MpiOp, UserOp};
use crate::{MpiDatatype, TypeMap};

mod sealed {
    pub trait Sealed {}
}

/// What reduces elements of type `T`: an [`MpiOp`], or a `&`[`UserOp`]`<T>`.
///
/// # Safety
/// `as_raw` gives an operation of MPI's that is valid as long as the value, and that does nothing but reduce what it
/// is given, if that is of the datatype that [`WHOLE`](Self::WHOLE) says, and if `takes` lets that pass.
pub unsafe trait Operation<T>: sealed::Sealed {
    /// Is it given elements of the datatype of `T`, and not what arrays consist of?
    const WHOLE: bool;

    /// C's handle.
    fn as_raw(&self) -> MPI_Op;

    /// Does it reduce elements of this datatype?
    #[doc(hidden)]
    fn takes(&self, element: &TypeMap) -> bool;
}

impl sealed::Sealed for MpiOp {}

// SAFETY: the trait requires an operation that does nothing but reduce elements of the datatypes that
// it is called with: MPI's own do so with those that `takes` lets pass, and others were promised to
// `from_raw`.
unsafe impl<T: MpiDatatype> Operation<T> for MpiOp {
    const WHOLE: bool = false;

    #[inline]
    fn as_raw(&self) -> MPI_Op {
        self.into_raw()
    }

    #[inline]
    fn takes(&self, element: &TypeMap) -> bool {
        self.reduces(element)
    }
}

impl<T> sealed::Sealed for &UserOp<'_, '_, T> {}

// SAFETY: the trait requires an operation that does nothing but reduce elements of the datatype of `T`,
// as `WHOLE` says: the trampoline calls a safe function of slices of `T`, and the reference keeps the
// operation.
unsafe impl<T: MpiDatatype> Operation<T> for &UserOp<'_, '_, T> {
    const WHOLE: bool = true;

    #[inline]
    fn as_raw(&self) -> MPI_Op {
        UserOp::as_raw(self)
    }

    #[inline]
    fn takes(&self, _element: &TypeMap) -> bool {
        true
    }
}

/// C's arguments of a reduction of elements of type `T`.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Reduction {
    pub(in super::super) datatype: MPI_Datatype,
    pub(in super::super) op: MPI_Op,
    /// How many elements of the datatype a `T` is.
    per_value: usize,
}

impl Reduction {
    #[inline]
    pub(in super::super) fn of<T: MpiDatatype, O: Operation<T>>(op: &O) -> RmpiResult<Self> {
        if !op.takes(ElementOf::<T>::FLAT.0) {
            return Err(Error::refused(
                ErrorClass::OP,
                "the predefined operation does not take such elements; a UserOp takes any",
            ));
        }
        let op = op.as_raw();
        if O::WHOLE {
            return Ok(Self { datatype: handle(T::TYPE_MAP)?, op, per_value: 1 });
        }
        let element = ElementOf::<T>::get()?;
        Ok(Self { datatype: element.datatype, op, per_value: element.per_value })
    }

    /// Of an operation of one-sided communication, which also replaces, or fetches only.
    #[inline]
    pub(in super::super) fn one_sided<T: MpiDatatype>(
        op: MpiOp,
        fetches: bool,
    ) -> RmpiResult<Self> {
        let element = ElementOf::<T>::FLAT.0;
        if !op.accumulates(element, fetches) {
            return Err(Error::refused(
                ErrorClass::OP,
                "the operation does not take such elements, or not here",
            ));
        }
        let element = ElementOf::<T>::get()?;
        Ok(Self { datatype: element.datatype, op: op.into_raw(), per_value: element.per_value })
    }

    /// Can elements of this type be compared, and exchanged if they are equal?
    #[inline]
    pub(in super::super) fn comparable<T: MpiDatatype>() -> RmpiResult<MPI_Datatype> {
        if !is_comparable(T::TYPE_MAP) {
            return Err(Error::refused(
                ErrorClass::TYPE,
                "only integers, CBool and Byte are compared",
            ));
        }
        handle(T::TYPE_MAP)
    }

    /// The count of so many `T`s.
    #[inline]
    pub(in super::super) fn count(&self, values: usize) -> RmpiResult<MPI_Count> {
        let count = values.checked_mul(self.per_value).and_then(|count| count.try_into().ok());
        count.ok_or(Error::refused(ErrorClass::COUNT, "more elements than MPI counts"))
    }

    /// The counts of parts of these lengths.
    pub(in super::super) fn counts(&self, lengths: &[usize]) -> RmpiResult<ReceiveCounts> {
        let counts = lengths.iter().map(|length| self.count(*length));
        Ok(ReceiveCounts::new(&counts.collect::<RmpiResult<SmallVec<[_; 16]>>>()?))
    }

    /// The count of buffers that have the same length.
    #[inline]
    pub(in super::super) fn same_count(&self, one: usize, other: usize) -> RmpiResult<MPI_Count> {
        if one != other {
            return Err(Error::refused(
                ErrorClass::COUNT,
                "the two buffers of a reduction have different lengths",
            ));
        }
        self.count(one)
    }
}

/// Reduces elements of this process alone: `inout[i] = input[i] op inout[i]`.
/// C: `MPI_Reduce_local`. Local.
///
/// # Errors
/// [`COUNT`](crate::ErrorClass::COUNT) if the lengths differ, [`OP`](crate::ErrorClass::OP) if the operation does
/// not take such elements; what MPI says.
///
/// ```no_run
/// # fn example(context: &rmpi::RmpiContext) -> rmpi::RmpiResult {
/// let mut sums = [10, 20];
/// rmpi::reduce_local(context, &[1, 2], &mut sums, rmpi::MpiOp::SUM)?;
/// assert_eq!(sums, [11, 22]);
/// # Ok(()) }
/// ```
#[wraps(MPI_Reduce_local)]
pub fn reduce_local<T: MpiDatatype, O: Operation<T>>(
    runtime: &impl Runtime,
    input: &[T],
    mut inout: &mut [T],
    op: O,
) -> RmpiResult {
    let _ = runtime;
    let reduction = Reduction::of::<T, O>(&op)?;
    let count = reduction.same_count(input.len(), inout.len())?;
    let pointer = inout.as_raw_mut()?.pointer;
    // SAFETY: MPI_Reduce_local reads as many elements from the first buffer as the count says, and
    // reads and writes as many in the second: the slices have the same length, as `same_count` has
    // found, and do not overlap, since one is exclusive. The operation takes such elements, as `of` has
    // found.
    check(unsafe {
        mpi.call(input.as_ptr().cast(), pointer, count, reduction.datatype, reduction.op)
    })
}
