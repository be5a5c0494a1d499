//! What a layer that watches completion has of a call beyond its arguments.

use core::mem::MaybeUninit;

use mpi_sys::{MPI_Request, MPI_Status};

use super::{RequestsMut, StatusMut, StatusesMut};

/// A layer's status, for a call whose own the application ignores.
#[derive(Debug)]
pub struct OwnStatus(MaybeUninit<MPI_Status>);

impl OwnStatus {
    /// Not set yet.
    #[inline(always)]
    pub const fn new() -> Self {
        // There are calls after which MPICH has set no status (`MPI_Wait` for a partitioned request).
        Self(MaybeUninit::zeroed())
    }

    /// The application's status, or this one if it ignores it.
    #[inline(always)]
    pub fn for_ignored<'s, W: Copy>(&'s mut self, status: StatusMut<'s, W>) -> StatusMut<'s, W> {
        if status.is_ignored() { StatusMut::from_c(self.0.as_mut_ptr()) } else { status }
    }
}

impl Default for OwnStatus {
    fn default() -> Self {
        Self::new()
    }
}

impl<'c, 's> StatusesMut<'c, 's> {
    /// The application's array, or one in `own` if it ignores statuses.
    #[inline(always)]
    pub(crate) fn unless_kept(
        self,
        requests: &RequestsMut<'c>,
        own: &'s mut Vec<MaybeUninit<MPI_Status>>,
    ) -> StatusesMut<'c, 's> {
        if !self.is_ignored() {
            return self;
        }
        own.resize_with(requests.len(), MaybeUninit::zeroed);
        StatusesMut::from_c(own.as_mut_ptr().cast())
    }
}

/// Requests as they were before a call, which changes them.
pub(crate) enum Snapshot {
    Few([MaybeUninit<MPI_Request>; FEW], usize),
    Many(Vec<MPI_Request>),
}

/// A call with so many requests allocates nothing.
const FEW: usize = 16;

impl Snapshot {
    #[inline(always)]
    pub(crate) fn of(requests: &[MPI_Request]) -> Self {
        if requests.len() > FEW {
            return Self::Many(requests.to_vec());
        }
        let mut few = [const { MaybeUninit::uninit() }; FEW];
        for (place, request) in few.iter_mut().zip(requests) {
            place.write(*request);
        }
        Self::Few(few, requests.len())
    }

    #[inline(always)]
    pub(crate) fn as_slice(&self) -> &[MPI_Request] {
        match self {
            // SAFETY: so many have been written.
            Self::Few(few, length) => unsafe {
                core::slice::from_raw_parts(few.as_ptr().cast(), *length)
            },
            Self::Many(many) => many,
        }
    }
}
