//! What a status says of the amount of data. Two ABIs have it in known fields of the status; in the
//! standard's it is MPI that must be asked.

use mpi_sys::MPI_Status;

use super::asking::bytes_and_cancelled;

/// How many bytes have been received (or read, or written), by the status that MPI has set for it;
/// nothing if it was cancelled. For requests, which can be cancelled. Under the standard's ABI two
/// calls of MPI, else a few instructions.
#[inline(always)]
pub fn received_bytes(status: &MPI_Status) -> Option<u64> {
    let (bytes, cancelled) = status.received().unwrap_or_else(|| bytes_and_cancelled(status));
    (!cancelled).then_some(bytes)
}

/// How many bytes a call has received, read or written that cannot be cancelled, since it was over when
/// it returned: then MPI need not say in the status that it was not (MPICH's file functions leave
/// there what was there before).
#[inline(always)]
pub fn received_bytes_at_once(status: &MPI_Status) -> u64 {
    status.received().unwrap_or_else(|| bytes_and_cancelled(status)).0
}
