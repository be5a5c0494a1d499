//! Locks of windows, as others wait for them.

use mpi_tool_layer::FunctionId;
use mpi_tool_layer::mpi_sys::{MPI_LOCK_EXCLUSIVE, MPI_MODE_NOCHECK};

use super::{target, window_of, with};
use crate::arguments::Checked;
use crate::waits;

/// Does the function lock something?
pub(super) fn is_lock(function: FunctionId) -> bool {
    matches!(function, FunctionId::MPI_Win_lock | FunctionId::MPI_Win_lock_all)
}

/// What a call locks, if others know of the window and may have to wait.
pub(crate) fn lock_of(checked: &Checked<'_>) -> Option<waits::Lock> {
    let is_all = checked.function == FunctionId::MPI_Win_lock_all;
    let assertion = checked.int(if is_all { 0 } else { 2 })?;
    if assertion & i64::from(MPI_MODE_NOCHECK) != 0 || !checked.is_sound {
        return None;
    }
    let window = window_of(checked, None)?;
    let identity = with(window, |window| window.common.as_ref().map(|common| common.identity))?;
    if is_all {
        return Some(waits::Lock::new(identity, None, false));
    }
    let is_alone = checked.int(0) == Some(i64::from(MPI_LOCK_EXCLUSIVE));
    Some(waits::Lock::new(identity, Some(u32::try_from(target(checked)).ok()?), is_alone))
}

/// A call that gives locks back is about to be passed on.
pub(super) fn entering(checked: &Checked<'_>, window: u64) {
    use FunctionId::{MPI_Win_unlock, MPI_Win_unlock_all};
    if matches!(checked.function, MPI_Win_unlock | MPI_Win_unlock_all)
        && let Some(identity) = with(window, |window| Some(window.common.as_ref()?.identity))
    {
        let is_one = checked.function == MPI_Win_unlock;
        let target = u32::try_from(target(checked)).ok().filter(|_| is_one);
        waits::unlocked(identity, target);
    }
}

/// MPI has accepted a call that may lock.
pub(super) fn left(checked: &Checked<'_>) {
    if is_lock(checked.function)
        && let Some(lock) = lock_of(checked)
    {
        waits::locked(lock);
    }
}
