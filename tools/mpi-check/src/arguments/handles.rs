//! Handles: null, freed, not there yet, of another kind, or none at all.

use mpi_facts::{Abi, Pattern};
use mpi_tool_layer::mpi_sys::ABI;
use mpi_tool_layer::{FunctionClass, FunctionId, Site};

use super::Checked;
use crate::extensions;
use crate::findings::Other;
use crate::objects::{self, Kind, Object};

/// The null handle, a freed one, or no handle at all.
enum Fault {
    Null,
    Freed(FunctionId, Site),
    /// The call that makes it is not complete.
    Pending(FunctionId, Site),
    Garbage,
}

/// What is wrong with a handle, as far as that is known.
fn fault(kind: Kind, handle: u64) -> Option<Fault> {
    if kind.is_predefined(handle) {
        return None;
    }
    if handle == kind.null() {
        return Some(Fault::Null);
    }
    if let Some(object) = objects::get(kind, handle) {
        let (by, site) = (object.function, object.site);
        return if is_freed(kind, &object) {
            Some(Fault::Freed(by, site))
        } else {
            object.is_pending.then_some(Fault::Pending(by, site))
        };
    }
    is_garbage(kind, handle).then_some(Fault::Garbage)
}

/// Has an object been freed, and is its handle no other one's now? A function that the tool does not see, such as
/// `MPIX_Comm_shrink`, or a library that calls MPI past the tool, may have made one.
pub(crate) fn is_freed(kind: Kind, object: &Object) -> bool {
    let may_be_anew = matches!(kind, Kind::Communicator | Kind::Operation | Kind::Errhandler);
    object.is_freed() && !(may_be_anew && extensions::may_be_called()) && !extensions::may_be_past()
}

/// Can the number not be a handle of the kind? In MPICH's ABI handles say their kind, in others they are addresses.
pub(crate) fn is_garbage(kind: Kind, handle: u64) -> bool {
    if kind == Kind::Keyval {
        return false;
    }
    match ABI {
        Abi::Mpich => {
            let number = match kind {
                Kind::Communicator => 1,
                Kind::Group => 2,
                Kind::Datatype => 3,
                Kind::File => return handle < 4096,
                Kind::Errhandler => 5,
                Kind::Operation => 6,
                Kind::Info => 7,
                Kind::Window => 8,
                _ => return false,
            };
            (handle as u32) >> 30 == 0 || (handle as u32) >> 26 & 0xf != number
        }
        Abi::OpenMpi => handle < 4096 || !handle.is_multiple_of(4),
        // A number or an address, which has 48 bits and their sign.
        _ => handle == 0 || (handle as i64) << 16 >> 16 != handle as i64,
    }
}

/// What is wrong with a datatype that is an element of an array, in words, and where it was freed.
pub(super) fn datatype_fault(handle: u64) -> Option<(String, Option<Site>)> {
    match fault(Kind::Datatype, handle)? {
        Fault::Null => Some(("is MPI_DATATYPE_NULL".into(), None)),
        Fault::Freed(by, site) => Some((format!("was freed before, by {by}"), Some(site))),
        Fault::Garbage => Some((format!("is not a datatype: {:#x}", handle as u32), None)),
        Fault::Pending(..) => None,
    }
}

impl Checked<'_> {
    pub(super) fn check_handle(&mut self, position: usize, kind: Kind, word: u64) {
        use FunctionId::{
            MPI_Abort, MPI_Comm_get_name, MPI_File_call_errhandler, MPI_File_get_errhandler,
            MPI_File_set_errhandler, MPI_Intercomm_create, MPI_Intercomm_create_from_groups,
            MPI_Type_get_name, MPI_Win_get_name,
        };
        // What is always there is right, and the most frequent by far.
        if matches!(kind, Kind::Communicator | Kind::Datatype)
            && word != kind.null()
            && kind.is_predefined(word)
        {
            return;
        }
        let name = self.name_of(position);
        // Where null is allowed, or not significant everywhere.
        let may_be_null = match kind {
            Kind::Info => self.shape.class != FunctionClass::Info,
            Kind::File => matches!(
                self.function,
                MPI_File_get_errhandler | MPI_File_set_errhandler | MPI_File_call_errhandler
            ),
            Kind::Communicator => {
                matches!(self.function, MPI_Abort | MPI_Comm_get_name) || name == "peer_comm"
            }
            Kind::Datatype => {
                self.function == MPI_Type_get_name
                    || !self.is_significant(position)
                    || self.has_no_data(position)
            }
            Kind::Window => self.function == MPI_Win_get_name,
            Kind::Group => {
                self.function == MPI_Intercomm_create_from_groups
                    || self.function == MPI_Intercomm_create
            }
            Kind::Session => true,
            _ => false,
        };
        if kind == Kind::Datatype && !self.is_significant(position) {
            return;
        }
        let what = kind.name();
        match fault(kind, word) {
            None => {}
            Some(Fault::Null) if may_be_null => {}
            Some(_) if name == "peer_comm" => {}
            // A keyval lives on as long as an attribute has it, which is deleted by it.
            Some(Fault::Freed(..)) if kind == Kind::Keyval && objects::is_in_use(word) => {}
            Some(Fault::Null) => {
                let message = format!("the {what} ({name}) is {}", kind.null_name());
                self.wrong(name, &message, None);
            }
            Some(Fault::Freed(by, site)) => {
                let message = format!("the {what} ({name}) was freed before, by {by}");
                self.wrong(name, &message, Some(Other::new("freed at", site)));
            }
            Some(Fault::Pending(by, site)) => {
                let message = format!(
                    "the {what} ({name}) does not exist before the request of {by} is complete"
                );
                self.wrong(name, &message, Some(Other::new("made at", site)));
            }
            Some(Fault::Garbage) => {
                let message =
                    format!("the {what} ({name}) is not a valid {what} handle: {:#x}", word as u32);
                self.wrong(name, &message, None);
            }
        }
        if kind == Kind::Datatype
            && self.is_sound
            && self.shape.pattern != Pattern::Nothing
            && !self.has_no_data(position)
            && let Some(object) = objects::there(kind, word)
            && object.datatype.as_ref().is_some_and(|info| !info.is_committed)
        {
            let message = format!("the datatype ({name}) was not committed (MPI_Type_commit)");
            self.wrong(name, &message, Some(Other::new("made at", object.site)));
        }
    }
}
