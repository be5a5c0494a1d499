//! Functions that the application gives MPI: in these, a rank may work while it is in a call.

use mpi_facts::watch::header;
use mpi_tool_layer::mpi_sys::pmpi;
use mpi_tool_layer::{Call, FunctionId};

use crate::state::file;

/// The application may have given MPI functions of its own, in which a rank may work while it is in a call.
#[inline(always)]
pub(crate) fn note<'c>(call: impl Call<'c>) {
    use FunctionId::{
        MPI_Attr_put, MPI_Comm_create_errhandler, MPI_Comm_set_attr, MPI_Errhandler_create,
        MPI_File_create_errhandler, MPI_Op_create, MPI_Op_create_c, MPI_Session_create_errhandler,
        MPI_Win_create_errhandler,
    };
    let function = call.function();
    let is_for_itself =
        || call.communicator().is_some_and(|comm| comm.raw() == pmpi::MPI_COMM_SELF);
    let word = match function {
        MPI_Comm_set_attr | MPI_Attr_put if is_for_itself() => header::SELF_ATTRIBUTES,
        MPI_Op_create | MPI_Op_create_c => header::OPERATIONS,
        MPI_Comm_create_errhandler
        | MPI_Errhandler_create
        | MPI_File_create_errhandler
        | MPI_Session_create_errhandler
        | MPI_Win_create_errhandler => header::ERROR_HANDLERS,
        _ => return,
    };
    if let Some(file) = file() {
        file.set(word, 1);
    }
}
