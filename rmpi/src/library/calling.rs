use super::sys;
use crate::running::{self, Calling};

/// This thread may ask MPI something now, though it borrows nothing that says so, for as long as it
/// keeps what it gets.
pub(super) fn calling() -> Option<Calling> {
    running::calling(|| {
        let (mut initialized, mut finalized) = (0, 0);
        // SAFETY: MPI_Initialized and MPI_Finalized may be called at any time by any thread, and each writes
        // one int.
        let results =
            unsafe { [sys::MPI_Initialized(&mut initialized), sys::MPI_Finalized(&mut finalized)] };
        results == [sys::MPI_SUCCESS; 2] && initialized != 0 && finalized == 0
    })
}
