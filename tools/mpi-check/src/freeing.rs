//! Calls that free an object.

use mpi_tool_layer::{AnyCall, Call as _, FunctionId, Site};

use crate::arguments;
use crate::findings::{self, Class, Other};
use crate::objects::{self, Kind};

/// The handle that a call frees, of which it has the address.
pub(crate) fn handle_of(call: AnyCall<'_>, kind: Kind) -> Option<(Kind, u64)> {
    let (_, address) = call.arguments().next().filter(|(_, address)| *address != 0)?;
    // SAFETY: the address must be that of a handle of the parameter's kind: MPI, which the call goes to next, reads it.
    Some((kind, unsafe { kind.read(address) }))
}

/// Is the handle one that can be freed?
pub(crate) fn check(kind: Kind, handle: u64, function: FunctionId, site: Site) {
    let name = kind.name();
    if handle == kind.null() {
        let message = format!("{function} of {}", kind.null_name());
        findings::report(Class::InvalidArgument, function, site, "null", &message, None);
    } else if let Some(object) =
        objects::get(kind, handle).filter(|it| arguments::is_freed(kind, it))
    {
        let message = format!("the {name} was freed before, by {}", object.function);
        let other = Other::new("freed at", object.site);
        findings::report(Class::InvalidArgument, function, site, "freed", &message, Some(other));
    } else if kind == Kind::Keyval {
        if let Some((theirs, ours, object)) = arguments::other_kind(function, handle) {
            let message = format!("the keyval is one for {theirs}, and not for {ours}");
            let other = Other::new("made at", object.site);
            findings::report(Class::InvalidArgument, function, site, "kind", &message, Some(other));
        }
    } else if arguments::is_garbage(kind, handle) {
        let message = format!("{function}: not a valid {name} handle: {:#x}", handle as u32);
        findings::report(Class::InvalidArgument, function, site, "garbage", &message, None);
    } else if kind.is_predefined(handle) && !matches!(kind, Kind::Group | Kind::Errhandler) {
        let message = format!("{function} of a predefined {name}");
        findings::report(Class::InvalidArgument, function, site, "predefined", &message, None);
    }
}
