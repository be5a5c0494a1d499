//! Which functions all processes of a communicator, a window or a file call together.

use crate::{FunctionClass, FunctionId};

/// Do all processes of the call's communicator call the function in the same order? It is a collective operation, or it
/// makes a communicator, a window or a file.
///
/// `class` and `makes_communicator` are the function's.
#[inline(always)]
pub const fn is_collective(
    function: FunctionId,
    class: FunctionClass,
    makes_communicator: bool,
) -> bool {
    use FunctionId::{
        MPI_Comm_accept, MPI_Comm_connect, MPI_Comm_create_group, MPI_Comm_get_parent,
        MPI_Comm_join, MPI_File_open, MPI_Intercomm_create, MPI_Win_allocate,
        MPI_Win_allocate_shared, MPI_Win_create, MPI_Win_create_dynamic,
    };
    match class {
        FunctionClass::Collective | FunctionClass::Neighborhood => true,
        _ if makes_communicator => !matches!(
            function,
            MPI_Comm_create_group
                | MPI_Intercomm_create
                | MPI_Comm_accept
                | MPI_Comm_connect
                | MPI_Comm_get_parent
                | MPI_Comm_join
        ),
        _ => matches!(
            function,
            MPI_Win_create
                | MPI_Win_allocate
                | MPI_Win_allocate_shared
                | MPI_Win_create_dynamic
                | MPI_File_open
        ),
    }
}

/// Do all processes of the call's window or file call the function in the same order? The standard says so by the
/// function's name.
pub fn is_collective_on_object(function: FunctionId) -> bool {
    use FunctionId::{
        MPI_File_close, MPI_File_preallocate, MPI_File_set_atomicity, MPI_File_set_size,
        MPI_File_set_view, MPI_File_sync, MPI_Win_fence, MPI_Win_free,
    };
    let is_transfer_of_all = || {
        let name = function.name();
        function.class() == FunctionClass::Io
            && (name.contains("_all") && !name.contains("_alloc") || name.contains("_ordered"))
    };
    matches!(
        function,
        MPI_File_close
            | MPI_File_preallocate
            | MPI_File_set_atomicity
            | MPI_File_set_size
            | MPI_File_set_view
            | MPI_File_sync
            | MPI_Win_fence
            | MPI_Win_free
    ) || is_transfer_of_all()
}

/// Is it a scan, blocking or not, in which a process depends only on those before it?
pub fn is_scan(function: FunctionId) -> bool {
    function.name().to_ascii_lowercase().contains("scan")
}
