//! Counts and displacements as the functions of C take them.

use smallvec::SmallVec;

use super::super::error::{Error, ErrorClass, RmpiResult};
use super::super::sys::{MPI_Count, c_int};
use crate::call::Array;

pub(super) type Wide = SmallVec<[MPI_Count; 8]>;

/// Arrays of counts and displacements: as `int`s if all fit, and the numbers beside them too.
pub(super) struct Numbers<const N: usize> {
    narrow: Option<[SmallVec<[c_int; 8]>; N]>,
    wide: [Wide; N],
}

impl<const N: usize> Numbers<N> {
    pub(super) fn new(wide: [Wide; N], beside: &[MPI_Count]) -> Self {
        let fits = |value: &MPI_Count| c_int::try_from(*value).is_ok();
        let narrow = (wide.iter().all(|values| values.iter().all(fits)) && beside.iter().all(fits))
            .then(|| {
                wide.each_ref().map(|values| values.iter().map(|value| *value as c_int).collect())
            });
        Self { narrow, wide }
    }

    pub(super) fn array(&self, index: usize) -> Array {
        match &self.narrow {
            Some(narrow) => Array::Int(narrow[index].as_ptr()),
            None => Array::Wide(self.wide[index].as_ptr()),
        }
    }
}

pub(super) fn wide(values: &[usize]) -> RmpiResult<Wide> {
    values.iter().map(|value| count_of(*value)).collect()
}

pub(super) fn count_of(value: usize) -> RmpiResult<MPI_Count> {
    MPI_Count::try_from(value).map_err(|_| Error::refused(ErrorClass::COUNT, "too large a number"))
}

pub(super) fn same_length(lengths: &[usize]) -> RmpiResult<MPI_Count> {
    if lengths.iter().any(|length| *length != lengths[0]) {
        return Err(Error::refused(ErrorClass::ARG, "the arrays differ in length"));
    }
    count_of(lengths[0])
}
