//! Windows and files: what all their processes call in the same order.
//!
//! To the table of collective operations, a window or a file is a communicator of its own.

use std::sync::{Arc, Mutex, PoisonError};

use mpi_tool_layer::mpi_sys::MPI_MODE_NOPRECEDE;
use mpi_tool_layer::{Call as _, FunctionId, Word};
use rustc_hash::FxHashMap;

use crate::arguments::Checked;
use crate::collectives;
use crate::comms::{Comm, CommRef};
use crate::names;
use crate::objects::Kind;
use crate::shared::shared;
use crate::waits::Need;

static OBJECTS: Mutex<Option<FxHashMap<u64, Arc<Comm>>>> = Mutex::new(None);

fn with<R>(action: impl FnOnce(&mut FxHashMap<u64, Arc<Comm>>) -> R) -> R {
    action(OBJECTS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// A handle, and whether it is a window's: handles of two kinds may be the same number.
fn key(kind: Kind, handle: u64) -> u64 {
    handle.rotate_left(1) ^ u64::from(kind == Kind::Window)
}

/// An accepted call has made a window or a file, as the collective operation of a number on its communicator.
pub(crate) fn made(checked: &Checked<'_>, kind: Kind, handle: u64, number: u64) {
    forget(kind, handle);
    let whole = shared().is_whole();
    let Some(parent) = checked.comm.as_ref().filter(|_| number != 0 && whole) else { return };
    let made = Arc::new(parent.with_object(kind.name(), number));
    names::note(&made, Some((checked.function, checked.site)));
    with(|objects| _ = objects.insert(key(kind, handle), made));
}

/// An object is gone: if it was a window or a file, its handle may be another one's.
pub(crate) fn forget(kind: Kind, handle: u64) {
    if !matches!(kind, Kind::Window | Kind::File) {
        return;
    }
    with(|objects| _ = objects.remove(&key(kind, handle)));
}

/// What a call is collective on, if that is a window or a file that all processes know.
pub(crate) fn of(checked: &Checked<'_>, freed: Option<(Kind, u64)>) -> Option<CommRef> {
    if !checked.facts.is_on_object || !shared().is_whole() {
        return None;
    }
    let window = || Some((Kind::Window, checked.call.window()?.raw().to_word()));
    let file = || Some((Kind::File, checked.call.file()?.raw().to_word()));
    let (kind, handle) = freed.or_else(window).or_else(file)?;
    with(|objects| objects.get(&key(kind, handle)).cloned()).map(CommRef::Made)
}

/// `MPI_Comm_disconnect` is about to be passed on: what it needs to return, if it stands for long. MPIs differ in whether it waits
/// for the other processes.
pub(crate) fn disconnecting(checked: &Checked<'_>, comm: &CommRef) -> Need {
    if !shared().is_whole() || !(comm.is_of_us() || comm.is_between_us()) {
        return Need::Nothing;
    }
    let end = Arc::new(comm.at_its_end());
    let identity = end.identity;
    collectives::enter_as(checked, &CommRef::Made(end), 1);
    Need::Attendance { identity, number: 1 }
}

/// What such a call needs to return. A fence that no epoch precedes needs no data, nor do the two halves of a split operation: an
/// MPI may do all of it in either (MPI-5.0, section 14.4.5).
pub(crate) fn need(checked: &Checked<'_>, of: &Comm, number: u64) -> Need {
    if !of.is_of_us() {
        return Need::Nothing;
    }
    let is_half = || {
        let name = checked.function.name().trim_end_matches("_c");
        name.ends_with("_begin") || name.ends_with("_end")
    };
    let is_first_fence = || {
        let words = checked.call.words();
        checked.function == FunctionId::MPI_Win_fence && words[0] & MPI_MODE_NOPRECEDE as u64 != 0
    };
    if is_half() || is_first_fence() {
        return Need::Attendance { identity: of.identity, number };
    }
    Need::Collective { identity: of.identity, number, root: None }
}
