//! Arrays that MPI may read until an operation is complete: the datatypes of `MPI_Ialltoallw`, of its
//! neighbourhood's form and of the persistent ones. C's are made for the call, and must outlive it; Open MPI, for
//! example, looks at the datatypes again when the operation is over. Its own conversion has the request free them.
//!
//! They are kept by the request's handle, and freed when a call of Fortran has completed or freed it. Where a call of C
//! has, they stay until MPI gives the handle to another such operation: so there are never more of them than handles.

use core::ffi::c_int;

use mpi_sys::prototypes::MPI_SUCCESS;

use super::conversion::{Array, Conversion, NOTHING, read};
use super::plan::How;
use crate::handles::HandleMap;

/// By the requests of C, as words.
static KEPT: HandleMap<Vec<Array>> = HandleMap::new();

/// What is kept of the requests of a call, which is out of the map while the call runs: as soon as MPI has completed a
/// request, another thread may get its handle for a new one.
#[derive(Default)]
pub(super) struct Held(Vec<(usize, i64, Vec<Array>)>);

/// The requests that a call may complete or free, as they were before it and as they are now.
fn requests(conversion: &Conversion<'_>) -> Vec<(i64, i64)> {
    let Some(index) = conversion.plan.requests else { return Vec::new() };
    let Some(array) = conversion.array_of(index) else { return Vec::new() };
    let handle = |word: u64| word.cast_signed();
    if let How::HandleInOut(_) = conversion.plan.hows[index] {
        let before = array.before.first().map_or(NOTHING, |before| *before);
        return vec![(handle(before), handle(conversion.written[index].get()))];
    }
    let each = array.before.iter().zip(&array.now);
    each.map(|(before, now)| (handle(*before), handle(read(now)))).collect()
}

impl Held {
    /// Takes it out, before the call.
    pub(super) fn of(conversion: &Conversion<'_>) -> Self {
        if KEPT.is_empty() {
            return Self::default();
        }
        let each = requests(conversion).into_iter().enumerate();
        Self(
            each.filter_map(|(at, (before, _))| Some((at, before, KEPT.remove(before)?))).collect(),
        )
    }

    /// After the call: puts back what is of requests that are still there, and keeps what MPI may read until the new
    /// request is complete.
    pub(super) fn after(self, conversion: &mut Conversion<'_>, result: c_int) {
        if !self.0.is_empty() {
            let requests = requests(conversion);
            for (at, handle, arrays) in self.0 {
                if requests.get(at).is_some_and(|(before, now)| before == now) {
                    KEPT.insert(handle, arrays);
                }
            }
        }
        let Some(index) = conversion.plan.reads_until else { return };
        let request = conversion.written[index].get();
        if result == MPI_SUCCESS && request != NOTHING {
            KEPT.insert(request.cast_signed(), core::mem::take(&mut conversion.arrays));
        }
    }
}
