//! Where offsets lead.

use super::super::error::{Error, ErrorClass, RmpiResult};
use super::super::sys::MPI_Offset;

/// Where the elements of a view lie in the file, in bytes. MPICH computes places without looking for an overflow: it
/// goes to another place then, or ends the program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Steps {
    pub(super) displacement: MPI_Offset,
    /// Data of an element.
    pub(super) element: MPI_Offset,
    /// Data of the file type, and how far apart it is repeated.
    pub(super) size: MPI_Offset,
    pub(super) extent: MPI_Offset,
    /// Data that comes from memory does not reach far, as it does where the file type has large holes.
    pub(super) dense: bool,
}

/// No place in a file is farther, so that MPI can add as much to it.
const FARTHEST: MPI_Offset = 1 << 62;

impl Steps {
    /// The view of a file at first.
    pub(super) const BYTES: Self =
        Self { displacement: 0, element: 1, size: 1, extent: 1, dense: true };

    /// How far so much data reaches, with the file type that it ends in.
    pub(super) fn reach(&self, bytes: MPI_Offset) -> Option<MPI_Offset> {
        let types = (bytes / self.size).checked_add(1)?;
        types.checked_mul(self.extent).filter(|reach| *reach <= FARTHEST)
    }

    /// An offset, if it leads to a place.
    pub(super) fn within(&self, offset: MPI_Offset) -> RmpiResult<MPI_Offset> {
        let reach = offset.checked_mul(self.element).and_then(|bytes| self.reach(bytes));
        let place = reach.and_then(|reach| reach.checked_add(self.displacement));
        match place {
            Some(place) if place <= FARTHEST => Ok(offset),
            _ => Err(too_far()),
        }
    }
}

pub(super) fn too_far() -> Error {
    Error::refused(ErrorClass::ARG, "the place in the file is too far from its start")
}

pub(super) fn offset_of(offset: u64) -> RmpiResult<MPI_Offset> {
    MPI_Offset::try_from(offset)
        .map_err(|_| Error::refused(ErrorClass::ARG, "the offset is too large"))
}

pub(super) fn unsigned(offset: MPI_Offset) -> RmpiResult<u64> {
    u64::try_from(offset).map_err(|_| Error::refused(ErrorClass::IO, "MPI told a negative offset"))
}
