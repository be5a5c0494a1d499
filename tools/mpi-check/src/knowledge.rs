//! What this process can know of the others: from which call its last knowledge is. Asked for one-sided operations, between
//! which only what processes tell each other makes an order.
//!
//! After a collective operation, a process knows what the others did before they came to it. If its last knowledge is from
//! there, and another process began something after all had come, nothing that it does now is after that. Any other call
//! that may bring something from others ends that.

use core::sync::atomic::{
    AtomicBool, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed},
};
use std::sync::{Mutex, PoisonError};

use mpi_facts::{NONE, Timing};
use mpi_tool_layer::{FunctionClass, FunctionId};

use crate::accesses::{self, Collective};
use crate::arguments::Checked;
use crate::collectives;
use crate::findings::rank;
use crate::shared::{limit, shared};

struct State {
    /// The collective operation that this process is in, and how often it had been a target when it came there.
    entering: Option<(Collective, u32)>,
    /// The same of the one that its last knowledge of others is from.
    last: Option<(Collective, u32)>,
    /// The last one that it has been through after all had come.
    passed: Collective,
    /// How many calls may have brought something from others.
    gains: u64,
}

static STATE: Mutex<State> =
    Mutex::new(State { entering: None, last: None, passed: (0, 0), gains: 0 });
/// How many windows there are: without any, nobody asks.
static WINDOWS: AtomicUsize = AtomicUsize::new(0);
/// Several threads may call MPI at once: nobody knows what they tell each other.
static HAS_THREADS: AtomicBool = AtomicBool::new(false);

fn with<R>(action: impl FnOnce(&mut State) -> R) -> R {
    action(&mut STATE.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Several threads may call MPI at once.
pub(crate) fn set_has_threads() {
    HAS_THREADS.store(true, Relaxed);
}

/// A window is about to be made.
pub(crate) fn window_begins() {
    WINDOWS.fetch_add(1, AcqRel);
}

/// Does anybody ask? Only then need the others be told what is called.
#[inline(always)]
pub(crate) fn is_asked() -> bool {
    WINDOWS.load(Acquire) != 0 && !HAS_THREADS.load(Relaxed)
}

/// The last collective operation that this process has been through after all had come.
pub(crate) fn passed() -> Collective {
    with(|state| state.passed)
}

/// The collective operation that all knowledge of others is from, if nobody can have told this process anything since.
/// `targets`: how often others have made this process a target with what is asked about, which tells it nothing else.
pub(crate) fn last(targets: u32) -> Option<Collective> {
    if !is_asked() {
        return None;
    }
    let (last, incoming) = with(|state| state.last)?;
    (accesses::incoming(rank()).wrapping_sub(incoming) <= targets).then_some(last)
}

/// The collective operation that all knowledge of others is from, as far as calls bring it.
pub(crate) fn latest() -> Option<Collective> {
    with(|state| state.last).map(|(last, _)| last)
}

/// How many calls may have brought something from others.
pub(crate) fn gains() -> u64 {
    with(|state| state.gains)
}

/// A call is about to be passed on. `collective`: what all of a communicator or a window do by it, which is over when it returns.
pub(crate) fn entering(collective: Option<Collective>) {
    let entering = collective.map(|collective| (collective, accesses::incoming(rank())));
    with(|state| state.entering = entering);
}

/// May a call that returns have brought something from others? `is_silent`: its operation has not.
pub(crate) fn may_bring(checked: &Checked<'_>, is_silent: bool) -> bool {
    !is_silent && !is_local(checked) && !is_of_itself(checked)
}

/// Is it a message, or a collective operation, of a process with itself? Others may have to do with what else is called on such a
/// communicator: who makes one with them, or opens a file.
fn is_of_itself(checked: &Checked<'_>) -> bool {
    matches!(checked.shape.class, FunctionClass::PointToPoint | FunctionClass::Collective)
        && checked.comm.as_ref().is_some_and(|comm| comm.size == 1 && !comm.is_inter)
}

/// A call that [may have brought](may_bring) something has returned. What this process has been through by it, if that is new.
pub(crate) fn left() -> Option<Collective> {
    with(|state| {
        state.gains += 1;
        state.last = state.entering.take();
        let (collective, _) = state.last?;
        let is_over = !shared().has_reached(limit::COLLECTIVES)
            && collectives::is_over(collective.0, collective.1);
        is_over.then(|| {
            state.passed = collective;
            collective
        })
    })
}

/// Does the call tell this process nothing of others?
fn is_local(checked: &Checked<'_>) -> bool {
    use FunctionId::{
        MPI_Comm_group, MPI_Comm_rank, MPI_Comm_size, MPI_Get_address, MPI_Get_processor_name,
        MPI_Win_get_attr, MPI_Win_get_group, MPI_Win_lock, MPI_Win_lock_all, MPI_Win_post,
        MPI_Win_set_errhandler, MPI_Wtick, MPI_Wtime,
    };
    matches!(
        checked.function,
        MPI_Comm_group
            | MPI_Comm_rank
            | MPI_Comm_size
            | MPI_Get_address
            | MPI_Get_processor_name
            | MPI_Win_get_attr
            | MPI_Win_get_group
            | MPI_Win_lock
            | MPI_Win_lock_all
            | MPI_Win_post
            | MPI_Win_set_errhandler
            | MPI_Wtick
            | MPI_Wtime
    ) || matches!(
        checked.shape.class,
        FunctionClass::Datatype | FunctionClass::Group | FunctionClass::Info
    )
        // Operations themselves.
        || checked.shape.window != NONE && checked.shape.timing != Timing::Blocking
}
