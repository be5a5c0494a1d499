//! Keyvals: each is for objects of one kind, and gone once it is freed and no attribute has it.

use mpi_tool_layer::mpi_sys::{self, c_int};
use mpi_tool_layer::{Call as _, FunctionId, ParameterKind};

use super::Checked;
use crate::objects::{self, Kind};

/// The objects that a function's keyvals are for; `None` of a function that has nothing to do with keyvals.
fn objects_of(function: FunctionId) -> Option<&'static str> {
    use FunctionId::*;
    Some(match function {
        MPI_Comm_create_keyval
        | MPI_Comm_free_keyval
        | MPI_Comm_set_attr
        | MPI_Comm_get_attr
        | MPI_Comm_delete_attr
        | MPI_Keyval_create
        | MPI_Keyval_free
        | MPI_Attr_put
        | MPI_Attr_get
        | MPI_Attr_delete => "communicators",
        MPI_Type_create_keyval
        | MPI_Type_free_keyval
        | MPI_Type_set_attr
        | MPI_Type_get_attr
        | MPI_Type_delete_attr => "datatypes",
        MPI_Win_create_keyval
        | MPI_Win_free_keyval
        | MPI_Win_set_attr
        | MPI_Win_get_attr
        | MPI_Win_delete_attr => "windows",
        _ => return None,
    })
}

/// Attributes of communicators that users must not change (MPI-4.0, 9.1.2).
const FIXED: [(c_int, &str); 4] = [
    (mpi_sys::MPI_TAG_UB, "MPI_TAG_UB"),
    (mpi_sys::MPI_HOST, "MPI_HOST"),
    (mpi_sys::MPI_IO, "MPI_IO"),
    (mpi_sys::MPI_WTIME_IS_GLOBAL, "MPI_WTIME_IS_GLOBAL"),
];

/// What is wrong with the kind of a keyval: what it is for, and what the function is for.
pub(crate) fn other_kind(
    function: FunctionId,
    keyval: u64,
) -> Option<(&'static str, &'static str, objects::Object)> {
    let object = objects::get(Kind::Keyval, keyval).filter(|object| object.is_only_one())?;
    let (theirs, ours) = (objects_of(object.function)?, objects_of(function)?);
    (theirs != ours).then_some((theirs, ours, object))
}

impl Checked<'_> {
    /// The keyval of a call that sets, gets or deletes an attribute.
    pub(super) fn check_attribute(&mut self) {
        use FunctionId::{MPI_Attr_delete, MPI_Attr_put, MPI_Comm_delete_attr, MPI_Comm_set_attr};
        let is_value = |parameter: &mpi_tool_layer::Parameter| {
            parameter.kind == ParameterKind::Keyval && !super::is_address(parameter)
        };
        let mut arguments = self.call.arguments();
        let Some((parameter, keyval)) = arguments.find(|(parameter, _)| is_value(parameter)) else {
            return;
        };
        if let Some((theirs, ours, object)) = other_kind(self.function, keyval) {
            let message = format!("the keyval is one for {theirs}, and not for {ours}");
            let other = super::Other::new("made at", object.site);
            self.wrong(parameter.name(), &message, Some(other));
            return;
        }
        let changes = matches!(
            self.function,
            MPI_Attr_delete | MPI_Attr_put | MPI_Comm_delete_attr | MPI_Comm_set_attr
        );
        let fixed = FIXED.iter().find(|(known, _)| changes && *known == keyval as c_int);
        if let Some((_, name)) = fixed {
            self.wrong(parameter.name(), &format!("{name} cannot be changed"), None);
        }
    }
}
