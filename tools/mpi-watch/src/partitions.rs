//! Messages in parts (`MPI_Psend_init`, `MPI_Pready`): how many parts are ready, in the request's entry.

use mpi_facts::watch::request;
use mpi_tool_layer::mpi_sys::{MPI_Request, c_int};
use mpi_tool_layer::{AnyCall, Call, FunctionId, Word};

use crate::state::file;

/// Does the function make parts of a message ready?
#[inline(always)]
pub(crate) const fn is_about_them(function: FunctionId) -> bool {
    use FunctionId::{MPI_Pready, MPI_Pready_list, MPI_Pready_range};
    matches!(function, MPI_Pready | MPI_Pready_list | MPI_Pready_range)
}

/// What an entry has for the number of parts of the message that a call makes a request for; `None` of other calls.
#[inline(always)]
pub(crate) fn number_of<'c>(call: impl Call<'c>) -> Option<u64> {
    /// Which argument it is.
    const PARTITIONS: u8 = 1;
    if call.function() != FunctionId::MPI_Psend_init {
        return None;
    }
    Some(call.get::<c_int>(PARTITIONS)?.max(0).cast_unsigned().into())
}

/// The call is about to make some parts ready. They count before MPI has them, so that nobody takes a part for missing which
/// is on its way.
#[cold]
#[inline(never)]
pub(crate) fn ready(call: AnyCall<'_>) {
    let Some(file) = file() else { return };
    let int = |position| call.get::<c_int>(position).map_or(0, i64::from);
    let (parts, request) = match call.function() {
        FunctionId::MPI_Pready => (1, call.get::<MPI_Request>(1)),
        FunctionId::MPI_Pready_range => (int(1) - int(0) + 1, call.get::<MPI_Request>(2)),
        _ => (int(0), call.get::<MPI_Request>(2)),
    };
    let parts = u64::try_from(parts).unwrap_or(0).min(1 << 20);
    if let Some(request) = request {
        file.add_ready(request.to_word(), parts << request::READY_SHIFT);
    }
}
