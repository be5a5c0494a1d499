//! What follows from calls that MPI has accepted, but for objects and requests that they make.

use std::ffi::CStr;

use mpi_tool_layer::mpi_sys::c_char;
use mpi_tool_layer::{
    Accepted, AnyCall, Call as _, Communicators, FunctionId, ParameterKind, Word,
};

use crate::arguments::{self, Checked};
use crate::shared::{limit, shared};
use crate::{comms, objects, requests, waits};

/// Is there something to note of a function's accepted calls?
pub(crate) fn is_noted(function: FunctionId) -> bool {
    let name = function.name();
    is_of_buffers(name)
        || sets_attribute(name)
        || makes_later(function)
        || waits::is_poll(function)
        || function == FunctionId::MPI_Comm_set_name
}

fn is_of_buffers(name: &str) -> bool {
    ["MPI_Buffer_attach", "MPI_Buffer_detach"].iter().any(|begin| name.starts_with(begin))
        || name.contains("_attach_buffer")
}

fn sets_attribute(name: &str) -> bool {
    name.ends_with("_set_attr") || name == "MPI_Attr_put"
}

/// Does it make a communicator that is there when its request is complete?
fn makes_later(function: FunctionId) -> bool {
    matches!(function, FunctionId::MPI_Comm_idup | FunctionId::MPI_Comm_idup_with_info)
}

/// MPI has accepted such a call.
pub(crate) fn note<'c>(call: AnyCall<'c>, checked: &Checked<'c>, accepted: Accepted<'c>) {
    if waits::is_poll(checked.function) {
        waits::looked(checked, waits::found(call, accepted));
        if !waits::is_look(checked.function) {
            return;
        }
    }
    let name = checked.function.name();
    if checked.function == FunctionId::MPI_Comm_set_name {
        let name = <*const c_char>::from_word(call.words()[1]);
        if let Some(comm) = call.communicator().filter(|_| !name.is_null()) {
            // SAFETY: the name must be a text that ends with a zero: MPI has accepted the call, and read it.
            let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
            comms::named(comm.raw(), &name);
        }
    } else if is_of_buffers(name) {
        arguments::attached(checked);
    } else if sets_attribute(name) {
        let keyval = call.arguments().find(|(it, _)| it.kind == ParameterKind::Keyval);
        keyval.into_iter().for_each(|(_, keyval)| objects::used(keyval));
    } else if makes_later(checked.function) {
        // The end of a request may be one of the calls that this tool does not see.
        let is_seen = !shared().has_reached(limit::UNSEEN | limit::UNSEEN_OTHERS);
        if let Some(request) = call.new_request(accepted)
            && let Some(comm) = Communicators::new_handle(call, accepted).filter(|_| is_seen)
            && requests::set_made(request, comm.to_word())
        {
            objects::set_pending(comm.to_word(), true);
        }
    } else {
        requests::looked_at();
        objects::none_pending();
    }
}
