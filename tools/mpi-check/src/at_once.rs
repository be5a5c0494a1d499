//! Collective operations on one communicator that several threads of a process call at once: nothing orders them, so each process
//! may take them in another order (MPI-4.0, 6.14 and 11.6.2).
//!
//! As in `threads.rs`, it is told when the first one returns: a thread may have left its call by a jump before.

use std::sync::{Mutex, PoisonError};

use mpi_tool_layer::{FunctionId, Site};

use crate::arguments::Checked;
use crate::comms::Comm;
use crate::findings::{Class, Other, report};

/// A thread in a collective operation.
struct Inside {
    identity: u64,
    thread: usize,
    function: FunctionId,
    site: Site,
    /// The operation that another thread has come to meanwhile, and the communicator in words.
    met: Option<(FunctionId, Site, String)>,
}

static INSIDE: Mutex<Vec<Inside>> = Mutex::new(Vec::new());

/// How many are known.
const MOST: usize = 256;

fn this_thread() -> usize {
    // SAFETY: `pthread_self` asks for nothing, and returns the calling thread's number.
    unsafe { libc::pthread_self() as usize }
}

/// A thread comes to a collective operation on a communicator, in a process whose threads may call MPI at once.
#[cold]
pub(crate) fn entered(checked: &Checked<'_>, comm: &Comm) {
    let (identity, thread) = (comm.identity, this_thread());
    let (function, site) = (checked.function, checked.site);
    let mut all = INSIDE.lock().unwrap_or_else(PoisonError::into_inner);
    // What it was in before, it has left by a jump.
    all.retain(|one| one.thread != thread || one.identity != identity);
    for one in all.iter_mut().filter(|one| one.identity == identity && one.met.is_none()) {
        one.met = Some((function, site, comm.describe()));
    }
    if all.len() < MOST {
        all.push(Inside { identity, thread, function, site, met: None });
    }
}

/// A thread returns from a call that may have been one.
#[cold]
pub(crate) fn left(function: FunctionId, site: Site) {
    let thread = this_thread();
    let inside = {
        let mut all = INSIDE.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |one: &Inside| {
            one.thread == thread && one.function == function && one.site.number() == site.number()
        };
        let at = all.iter().rposition(is_it);
        at.map(|at| all.remove(at))
    };
    let Some(Inside { met: Some((other, other_site, on)), .. }) = inside else { return };
    let message = format!(
        "another thread calls {other} on {on} while this one is in {function} on it: nothing orders the two"
    );
    let first = Some(Other::new("the other thread at", other_site));
    report(Class::CollectiveMismatch, function, site, "at once", &message, first);
}
