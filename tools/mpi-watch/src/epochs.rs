//! Epochs of windows (`MPI_Win_post`, `start`, `complete` and `wait`): how many there were with each process, in the file.

use core::sync::atomic::Ordering::{AcqRel, Relaxed};

use mpi_facts::watch::{epoch, full};
use mpi_tool_layer::{Accepted, AnyCall, Call, Communicators, FunctionId, Word as _};

use crate::state::{Words, file};

/// Is the function about such epochs?
#[inline(always)]
pub(crate) const fn is_about_epochs(function: FunctionId) -> bool {
    use FunctionId::{MPI_Win_complete, MPI_Win_post, MPI_Win_start, MPI_Win_test, MPI_Win_wait};
    matches!(
        function,
        MPI_Win_post | MPI_Win_start | MPI_Win_complete | MPI_Win_wait | MPI_Win_test
    )
}

/// Before the call: where a process begins to reach others, it may have to wait for them in this call.
#[cold]
#[inline(never)]
pub(crate) fn begin(call: AnyCall<'_>, communicators: &Communicators) {
    if call.function() == FunctionId::MPI_Win_start {
        count(call, communicators, epoch::STARTED);
    }
}

/// After the call.
#[cold]
#[inline(never)]
pub(crate) fn end<'c>(call: AnyCall<'c>, communicators: &Communicators, accepted: Accepted<'c>) {
    use FunctionId::{MPI_Win_complete, MPI_Win_post, MPI_Win_test, MPI_Win_wait};
    match call.function() {
        MPI_Win_post => count(call, communicators, epoch::POSTED),
        MPI_Win_complete => finish(call, epoch::STARTED, epoch::COMPLETED),
        MPI_Win_wait => finish(call, epoch::POSTED, epoch::WAITED),
        MPI_Win_test if call.has_flag_set(accepted) => finish(call, epoch::POSTED, epoch::WAITED),
        _ => {}
    }
}

/// The call has returned an error: whether it counts is not known, and so nothing is said of epochs any more.
#[cold]
pub(crate) fn fail() {
    if let Some(file) = file() {
        file.mark_full(full::EPOCHS);
    }
}

/// The window is gone.
pub(crate) fn forget(window: u64) {
    let Some(file) = file() else { return };
    for at in entries().filter(|at| file.get(at + epoch::WINDOW) == window) {
        file.set(at + epoch::WINDOW, 0);
    }
}

/// One more epoch with each process of the call's group.
fn count(call: AnyCall<'_>, communicators: &Communicators, what: usize) {
    let (Some(file), Some(window)) = (file(), call.window()) else { return };
    let window = window.raw().to_word();
    // What is not known makes all of it unknown.
    let Some(ranks) = communicators.ranks_of_group(call, 0) else {
        file.mark_full(full::EPOCHS);
        return;
    };
    for rank in ranks {
        match u32::try_from(rank).ok().and_then(|rank| entry(file, window, rank)) {
            Some(at) => file.set(at + what, file.get(at + what).wrapping_add(1)),
            None => file.mark_full(full::EPOCHS),
        }
    }
}

/// The epochs of a window that have begun are over.
fn finish(call: AnyCall<'_>, begun: usize, over: usize) {
    let (Some(file), Some(window)) = (file(), call.window()) else { return };
    let window = window.raw().to_word();
    for at in entries().filter(|at| file.get(at + epoch::WINDOW) == window) {
        file.set(at + over, file.get(at + begun));
    }
}

/// The entry of a window and a process, made if there is none and there is room.
fn entry(file: &Words, window: u64, rank: u32) -> Option<usize> {
    let is_it = |at: &usize| {
        file.get(at + epoch::WINDOW) == window && file.get(at + epoch::PEER) == rank.into()
    };
    entries().find(is_it).or_else(|| {
        let at = entries().find(|at| {
            let free = file.word(at + epoch::WINDOW);
            free.compare_exchange(0, epoch::CLAIMED, AcqRel, Relaxed).is_ok()
        })?;
        file.set(at + epoch::PEER, rank.into());
        for counter in [epoch::POSTED, epoch::STARTED, epoch::COMPLETED, epoch::WAITED] {
            file.set(at + counter, 0);
        }
        file.set(at + epoch::WINDOW, window);
        Some(at)
    })
}

fn entries() -> impl Iterator<Item = usize> {
    (0..epoch::COUNT).map(|number| epoch::AREA + number * epoch::LENGTH)
}
