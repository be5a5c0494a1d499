//! Buffers that operations of an epoch write, which nothing else may use before its end.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use mpi_tool_layer::{FunctionId, Site};

use super::{Operation, WINDOWS};
use crate::areas::Area;
use crate::arguments::Checked;
use crate::findings::{Class, Other, report};
use crate::layouts::STEPS;
use crate::messages::has_threads;
use crate::sanitizer;

/// How many operations that write to buffers of this process are not complete.
static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);

/// Is there one?
pub(crate) fn may_fetch() -> bool {
    UNDER_WAY.load(Relaxed) != 0
}

/// One more is under way.
pub(super) fn begun() {
    UNDER_WAY.fetch_add(1, Relaxed);
}

/// Operations are complete.
pub(super) fn over(operations: &[Operation]) {
    let those = operations.iter().filter(|operation| operation.written.is_some()).count();
    if those > 0 {
        UNDER_WAY.fetch_sub(those, Relaxed);
    }
}

/// The call of an operation has returned: has it brought already what it was to bring?
pub(super) fn returned(last: Option<&mut Operation>, function: FunctionId, site: Site) {
    let is_of_call = |it: &&mut Operation| {
        it.function == function && it.site.number() == site.number() && it.arrived.is_none()
    };
    let Some(operation) = last.filter(is_of_call) else { return };
    let Some((before, area)) = operation.before.take().zip(operation.written.as_ref()) else {
        return;
    };
    let now = area.checksum();
    operation.arrived = now.filter(|now| *now != before);
    operation.unarrived = now.filter(|now| *now == before);
}

/// Operations that a call completes, whose buffers have changed since their calls, to what they were when it began.
static CLOSING: Mutex<Vec<(Operation, u64)>> = Mutex::new(Vec::new());

/// Does another operation write to the place of one that a call completes, or may it do so later?
fn is_at_others_place(closed: &[Operation], at: usize, area: &Area) -> bool {
    let meets = |other: &Operation| {
        other.written.as_ref().is_some_and(|written| written.meets_at_all(area))
    };
    let mut others = closed.iter().enumerate().filter(|(other, _)| *other != at);
    let mut windows = WINDOWS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut left = windows.get_or_insert_default().values().flat_map(|one| &one.operations);
    others.any(|(_, other)| meets(other)) || left.any(meets)
}

/// The operations of a closed epoch may have written to places that pending operations write to, too: what is at such a place proves
/// nothing of the pending ones.
fn forget_shared_places(closed: &[Operation]) {
    let written: Vec<_> =
        closed.iter().filter_map(|operation| operation.written.as_ref()).collect();
    if written.is_empty() {
        return;
    }
    let mut windows = WINDOWS.lock().unwrap_or_else(PoisonError::into_inner);
    let windows = windows.get_or_insert_default().values_mut();
    for operation in windows.flat_map(|one| &mut one.operations) {
        let is_known = operation.arrived.is_some() || operation.unarrived.is_some();
        if let Some(area) = operation.written.as_ref().filter(|_| is_known)
            && written.iter().any(|other| other.meets_at_all(area))
        {
            (operation.arrived, operation.unarrived) = (None, None);
        }
    }
}

/// Operations are about to be complete. If one has not brought anything when its call returned, and something else is in its
/// buffer now than was then, it has brought that meanwhile, and all at once, or the program has put it there. Which of both, what
/// is there in the end tells.
pub(super) fn closing(closed: &[Operation]) {
    forget_shared_places(closed);
    if closed.iter().all(|operation| operation.unarrived.is_none()) || has_threads() {
        return;
    }
    let changed = closed.iter().enumerate().filter_map(|(at, operation)| {
        let area = operation.written.as_ref().filter(|it| it.is_changed(operation.unarrived))?;
        let now = area.checksum()?;
        (!is_at_others_place(closed, at, area)).then(|| (operation.clone(), now))
    });
    let changed: Vec<_> = changed.collect();
    if !changed.is_empty() {
        *CLOSING.lock().unwrap_or_else(PoisonError::into_inner) = changed;
    }
}

/// MPI has returned from the call that completes operations.
pub(super) fn closed(by: FunctionId) {
    let closing = core::mem::take(&mut *CLOSING.lock().unwrap_or_else(PoisonError::into_inner));
    for (operation, before) in closing {
        let area = operation.written.as_ref().filter(|it| it.is_changed(Some(before)));
        if area.is_none() || sanitizer::has_told(operation.site) {
            continue;
        }
        let function = operation.function;
        let message = format!(
            "the place that {function} writes to was changed before the epoch was over, as {by} says"
        );
        report(Class::RmaConflict, function, operation.site, "touched", &message, None);
    }
}

/// Operations are about to be complete. What one has brought in its call must still be there, unless another one brings
/// something to the same place.
pub(super) fn check_untouched(closed: &[Operation], by: FunctionId) {
    for (at, operation) in closed.iter().enumerate() {
        let Some(area) = operation.written.as_ref().filter(|it| it.is_changed(operation.arrived))
        else {
            continue;
        };
        if sanitizer::has_told(operation.site) || is_at_others_place(closed, at, area) {
            continue;
        }
        let function = operation.function;
        let message = format!(
            "what {function} has brought was changed before the epoch was over, as {by} says"
        );
        report(Class::RmaConflict, function, operation.site, "touched", &message, None);
    }
}

/// A call of messages or a collective operation is about to be passed on that uses buffers: an operation that is not
/// complete may have to write there.
pub(crate) fn check_pending<'a>(checked: &Checked<'_>, buffers: impl Iterator<Item = &'a Area>) {
    if !may_fetch() {
        return;
    }
    let buffers: Vec<_> = buffers.collect();
    let found = {
        let mut windows = WINDOWS.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = windows.get_or_insert_default().values().flat_map(|one| &one.operations);
        let mut steps = STEPS;
        let found = all.find(|operation| {
            let written = operation.written.as_ref();
            written.is_some_and(|it| buffers.iter().any(|own| own.meets(it, &mut steps)))
        });
        found.map(|operation| (operation.function, operation.site))
    };
    if let Some((function, site)) = found {
        let message = format!(
            "{} uses a buffer that {function} writes to in an epoch that is not over",
            checked.function
        );
        let other = Some(Other::new("the operation at", site));
        report(Class::RmaConflict, checked.function, checked.site, "fetched", &message, other);
    }
}
