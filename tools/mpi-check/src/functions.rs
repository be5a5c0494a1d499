//! What the names and parameters of a function say of it, found out once for all functions: comparing names in each call
//! would cost more than all else.

use std::sync::OnceLock;

use mpi_tool_layer::{Direction, FunctionId, Parameter};

use crate::noted;
use crate::objects::Kind;
use crate::order;

/// What is known of a function.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts {
    /// It frees the object whose handle's address is its first argument.
    pub(crate) frees: Option<Kind>,
    /// It may give the application a handle, or commit a datatype.
    pub(crate) makes: bool,
    /// It may be called at any time.
    pub(crate) is_free: bool,
    /// Something follows from it once MPI has accepted it.
    pub(crate) is_followed: bool,
    /// It sets an attribute of a communicator, or cancels a request.
    pub(crate) is_noted: bool,
    /// The processes of a group call it.
    pub(crate) is_of_group: bool,
    /// All processes of its window or file call it in the same order.
    pub(crate) is_on_object: bool,
    /// In a scan, a process waits for those before it only.
    pub(crate) is_scan: bool,
}

/// What is known of a function.
pub(crate) fn facts(function: FunctionId) -> &'static Facts {
    static ALL: OnceLock<Box<[Facts]>> = OnceLock::new();
    let all = ALL.get_or_init(|| FunctionId::all().map(Facts::of).collect());
    // The box has an element for each function.
    &all[function as usize]
}

impl Facts {
    fn of(function: FunctionId) -> Self {
        Self {
            frees: frees(function),
            makes: function.parameters().iter().any(|parameter| made(parameter).is_some())
                || function == FunctionId::MPI_Type_commit
                || gives_contents(function),
            is_free: order::is_free(function),
            is_followed: noted::is_noted(function),
            is_noted: matches!(
                function,
                FunctionId::MPI_Comm_set_attr | FunctionId::MPI_Attr_put | FunctionId::MPI_Cancel
            ),
            is_of_group: matches!(
                function,
                FunctionId::MPI_Comm_create_group | FunctionId::MPI_Intercomm_create
            ),
            is_on_object: mpi_facts::is_collective_on_object(function),
            is_scan: mpi_facts::is_scan(function),
        }
    }
}

/// Does it give out the datatypes again that a datatype was made of?
pub(crate) fn gives_contents(function: FunctionId) -> bool {
    matches!(function, FunctionId::MPI_Type_get_contents | FunctionId::MPI_Type_get_contents_c)
}

/// The kind of what a function frees.
fn frees(function: FunctionId) -> Option<Kind> {
    let name = function.name();
    let frees = name.ends_with("_free")
        || name.contains("_free_keyval")
        || matches!(
            function,
            FunctionId::MPI_Comm_disconnect
                | FunctionId::MPI_File_close
                | FunctionId::MPI_Keyval_free
                | FunctionId::MPI_Session_finalize
        );
    let parameter = function.parameters().first().filter(|_| frees)?;
    Kind::of(parameter.kind).filter(|_| parameter.direction == Direction::InOut)
}

/// The kind of the handle that a function returns by a parameter.
pub(crate) fn made(parameter: &Parameter) -> Option<Kind> {
    let is_one = parameter.direction == Direction::Out
        && parameter.length().is_none()
        && parameter.rust_type().starts_with('*')
        && !parameter.name().starts_with("array_of");
    Kind::of(parameter.kind).filter(|_| is_one)
}
