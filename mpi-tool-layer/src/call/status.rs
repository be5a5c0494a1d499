//! What a status says.

use mpi_sys::{MPI_Count, MPI_Status, pmpi};

/// How many bytes have been received (or read, or written), by the status that MPI has set for it;
/// nothing if it was cancelled.
#[inline(always)]
pub fn received_bytes(status: &MPI_Status) -> Option<u64> {
    let (bytes, cancelled) = status.received().unwrap_or_else(|| ask(status));
    (!cancelled).then_some(bytes)
}

/// How many bytes a call has received, read or written that cannot be cancelled, since it was over when
/// it returned: then MPI need not say in the status that it was not (MPICH's file functions leave
/// there what was there before).
#[inline(always)]
pub fn received_bytes_at_once(status: &MPI_Status) -> u64 {
    status.received().unwrap_or_else(|| ask(status)).0
}

/// By MPI's functions, which take every status that is one.
#[inline(never)]
fn ask(status: &MPI_Status) -> (u64, bool) {
    let (mut bytes, mut cancelled): (MPI_Count, _) = (0, 0);
    // SAFETY: a status that MPI has set. It counts bytes.
    unsafe {
        pmpi::MPI_Test_cancelled(status, &mut cancelled);
        pmpi::MPI_Get_elements_x(status, pmpi::MPI_BYTE, &mut bytes);
    }
    (u64::try_from(bytes).unwrap_or(0), cancelled != 0)
}
