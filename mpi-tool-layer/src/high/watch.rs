//! What a layer that watches completion has of a call beyond its arguments: a status where the
//! application wants none, and the requests as they were before MPI changed them.
//!
//! The default methods of [`MpiInterceptionLayer`](super::MpiInterceptionLayer) use it for
//! `around`, if `WATCHES_COMPLETION` is set. All of it is on the method's stack: no call allocates,
//! unless it has more than 16 requests.

use core::mem::MaybeUninit;

use mpi_sys::{MPI_Request, MPI_STATUS_IGNORE, MPI_Status};

use super::{RequestsMut, StatusMut, StatusesMut};

/// A layer's status, for a call whose own the application ignores: a variable of the layer's
/// method, which [lends](Self::for_ignored) it to MPI. MPI fills it at the cost of a status that is
/// not ignored, and the application sees nothing of it.
///
/// A layer whose `around` wants statuses needs none: it sets
/// [`WATCHES_COMPLETION`](super::MpiInterceptionLayer::WATCHES_COMPLETION).
#[derive(Debug)]
pub struct OwnStatus(MaybeUninit<MPI_Status>);

impl OwnStatus {
    /// Not set yet: zeros, which are a status of no bytes.
    #[inline(always)]
    pub const fn new() -> Self {
        // There are calls after which MPICH has set no status (`MPI_Wait` for a partitioned request).
        Self(MaybeUninit::zeroed())
    }

    /// C's pointer to the application's status, or to this one if it ignores it.
    #[inline(always)]
    pub(crate) fn unless_kept(&mut self, status: *mut MPI_Status) -> *mut MPI_Status {
        if status == MPI_STATUS_IGNORE { self.0.as_mut_ptr() } else { status }
    }

    /// The application's status, or this one if it ignores it. The result goes to the next function
    /// and is asked (`get`) when that has returned.
    #[inline(always)]
    pub fn for_ignored<'s, W: Copy>(&'s mut self, status: StatusMut<'s, W>) -> StatusMut<'s, W> {
        StatusMut::from_c(self.unless_kept(status.into_c()))
    }
}

impl Default for OwnStatus {
    fn default() -> Self {
        Self::new()
    }
}

impl<'c, 's> StatusesMut<'c, 's> {
    /// The application's array, or one in `own` if it ignores statuses: as long as there are
    /// requests, and of zeros, since MPI sets only those of requests that are complete.
    #[inline(always)]
    pub(crate) fn unless_kept(
        self,
        requests: &RequestsMut<'c>,
        own: &'s mut OwnStatuses,
    ) -> StatusesMut<'c, 's> {
        if !self.is_ignored() {
            return self;
        }
        StatusesMut::from_c(own.zeros(requests.len()).as_mut_ptr().cast())
    }
}

/// A layer's statuses, for a call whose own the application ignores: in place up to [`FEW`], otherwise on the heap.
pub(crate) struct OwnStatuses {
    few: [MaybeUninit<MPI_Status>; FEW],
    many: Vec<MaybeUninit<MPI_Status>>,
}

impl OwnStatuses {
    /// Not set yet.
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Self { few: [const { MaybeUninit::uninit() }; FEW], many: Vec::new() }
    }

    /// So many of them, of zeros.
    #[inline(always)]
    fn zeros(&mut self, count: usize) -> &mut [MaybeUninit<MPI_Status>] {
        match self.few.get_mut(..count) {
            Some(few) => {
                few.fill_with(MaybeUninit::zeroed);
                few
            }
            None => {
                self.many.resize_with(count, MaybeUninit::zeroed);
                &mut self.many
            }
        }
    }
}

/// Requests as they were before a call, which changes them: in place up to [`FEW`], which is what
/// most calls have, otherwise on the heap.
pub(crate) enum Snapshot {
    /// So many of the array's elements are requests, the first ones.
    Few([MaybeUninit<MPI_Request>; FEW], usize),
    /// More than [`FEW`].
    Many(Vec<MPI_Request>),
}

/// A call with so many requests allocates nothing.
const FEW: usize = 16;

impl Snapshot {
    /// A copy of them.
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

    /// The copy.
    #[inline(always)]
    pub(crate) fn as_slice(&self) -> &[MPI_Request] {
        match self {
            // SAFETY: the first `length` elements must be initialised. `of`, which alone makes a
            // `Few`, has written as many as there were requests, at most `FEW`.
            Self::Few(few, length) => unsafe {
                core::slice::from_raw_parts(few.as_ptr().cast(), *length)
            },
            Self::Many(many) => many,
        }
    }
}
