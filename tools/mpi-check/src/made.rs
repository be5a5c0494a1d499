//! Objects that calls have made.

use mpi_tool_layer::mpi_sys::MPI_Datatype;
use mpi_tool_layer::{Accepted, AnyCall, Call as _, FunctionId, Word};

use crate::arguments::Checked;
use crate::objects::{self, Kind};
use crate::{comms, epochs, functions, made_types, together};

/// Objects that an accepted call has made: as the collective operation of a number, a window with an identity.
pub(crate) fn note<'c>(
    call: AnyCall<'c>,
    checked: &Checked<'c>,
    _: Accepted<'c>,
    number: u64,
    window: u64,
) {
    let function = checked.function;
    if function == FunctionId::MPI_Type_commit {
        if let Some((_, address)) = call.arguments().next()
            && address != 0
        {
            // SAFETY: the address must be that of a datatype's handle: MPI has accepted the call and read it.
            objects::committed(unsafe { Kind::Datatype.read(address) });
        }
        return;
    }
    if functions::gives_contents(function) {
        note_contents(call);
        return;
    }
    for (parameter, address) in call.arguments() {
        let Some(kind) = functions::made(parameter).filter(|_| address != 0) else { continue };
        // SAFETY: the address must be that of a handle of the parameter's kind, which MPI has written: it has accepted
        // the call, and this is the parameter by which the function returns what it makes.
        let handle = unsafe { kind.read(address) };
        let size = match kind {
            // The access mode.
            Kind::File => checked.call.words()[2] as u32,
            _ => checked.comm.as_ref().map_or(0, |comm| comm.size),
        };
        objects::made(kind, handle, function, checked.site, size);
        // The parent is the same each time.
        if kind == Kind::Communicator && function != FunctionId::MPI_Comm_get_parent {
            comms::made(handle);
        }
        if kind == Kind::Datatype {
            made_types::note(call, handle);
        }
        if matches!(kind, Kind::Window | Kind::File) {
            together::made(checked, kind, handle, number);
        }
        if kind == Kind::Window {
            epochs::made(checked, handle, window);
        }
    }
}

/// Handles of datatypes that an accepted call has given out again.
fn note_contents(call: AnyCall<'_>) {
    let word = |name| {
        call.arguments().find(|(parameter, _)| parameter.name() == name).map(|(_, word)| word)
    };
    let (Some(count), Some(address)) = (word("max_datatypes"), word("array_of_datatypes")) else {
        return;
    };
    let array = <*const MPI_Datatype>::from_word(address);
    for index in 0..(count as usize).min(1 << 16) {
        // SAFETY: the array must have the element: the application says that it has so many. What MPI has not written is
        // a number that is compared with handles only.
        let handle = unsafe { array.add(index).read() };
        objects::made_again(Kind::Datatype, handle.to_word());
    }
}
