//! Calls that this tool does not see: the program has functions of its own with the names of MPI's, as profilers that are
//! linked into it do, or calls MPI by `PMPI_X`. What depends on them is not told.

use std::sync::OnceLock;

use mpi_facts::{NONE, Shape};
use mpi_tool_layer::{FunctionClass, FunctionId, install};

use crate::shared::{limit, shared};

/// Limits that this process's program has.
fn limits() -> u32 {
    static LIMITS: OnceLock<u32> = OnceLock::new();
    *LIMITS.get_or_init(|| {
        let unseen = install::unseen_functions();
        unseen.into_iter().map(limit_of).fold(0, core::ops::BitOr::bitor)
    })
}

fn limit_of(function: FunctionId) -> u32 {
    use FunctionClass::{Conversion, PointToPoint, Status, ToolInterface};
    match function.class() {
        _ if changes_nothing(function) => 0,
        Conversion | Status | ToolInterface => 0,
        PointToPoint if Shape::looked_up(function).new_request == NONE => limit::UNSEEN,
        _ => limit::UNSEEN_OTHERS,
    }
}

/// Does something that is told depend on a function's calls?
pub(crate) fn matters(function: FunctionId) -> bool {
    limit_of(function) != 0
}

/// Does nothing that is told depend on a function's calls?
fn changes_nothing(function: FunctionId) -> bool {
    use FunctionId::{
        MPI_Abort, MPI_Comm_rank, MPI_Comm_size, MPI_Error_class, MPI_Error_string, MPI_Finalized,
        MPI_Get_address, MPI_Get_library_version, MPI_Get_processor_name, MPI_Get_version,
        MPI_Initialized, MPI_Iprobe, MPI_Pcontrol, MPI_Query_thread, MPI_Type_size, MPI_Wtick,
        MPI_Wtime,
    };
    matches!(
        function,
        MPI_Abort
            | MPI_Comm_rank
            | MPI_Comm_size
            | MPI_Error_class
            | MPI_Error_string
            | MPI_Finalized
            | MPI_Get_address
            | MPI_Get_library_version
            | MPI_Get_processor_name
            | MPI_Get_version
            | MPI_Initialized
            | MPI_Iprobe
            | MPI_Pcontrol
            | MPI_Query_thread
            | MPI_Type_size
            | MPI_Wtick
            | MPI_Wtime
    )
}

/// Tells all ranks what this process's program hides.
pub(crate) fn note() {
    let limits = limits();
    if limits != 0 {
        shared().reached(limits);
    }
}

/// Is nothing known for sure but what a call says for itself?
pub(crate) fn hides_all() -> bool {
    (limits() | shared().limits()) & limit::UNSEEN_OTHERS != 0
}
