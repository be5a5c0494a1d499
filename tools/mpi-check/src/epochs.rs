//! One-sided communication: epochs that are begun and ended wrongly, and operations of one epoch of this process that must
//! not meet.
//!
//! What a process knows for sure is what it has called itself: a fence, from which on there may be an epoch until the next
//! one; what it has started, posted and locked. Two operations of one epoch conflict if one of them changes what the
//! other one reads, at the target or in this process. That the same place is written twice is not told, as
//! benchmarks do so and do not look at it.

use std::sync::{Mutex, PoisonError};

use mpi_facts::{NONE, Pattern, Timing};
use mpi_tool_layer::mpi_sys::{MPI_MODE_NOSUCCEED, MPI_PROC_NULL, c_int, pmpi};
use mpi_tool_layer::{Call as _, FunctionId, ParameterKind, Site, Word};
use rustc_hash::FxHashMap;

use crate::arguments::Checked;
use crate::findings::{Class, Other, report};
use crate::memory::checksum;

/// What this process has done with a window.
#[derive(Debug, Default)]
struct Window {
    /// The last fence, unless it has said that nothing succeeds it.
    fence: Option<Site>,
    started: Option<Site>,
    posted: Option<Site>,
    /// Targets that are locked, and where.
    locks: FxHashMap<i64, Site>,
    locked_all: Option<Site>,
    /// Operations that may not be complete.
    operations: Vec<Operation>,
}

/// How many operations of an epoch are kept.
const MOST: usize = 1024;

/// An operation of an epoch that is not over.
#[derive(Debug, Clone)]
struct Operation {
    function: FunctionId,
    site: Site,
    target: i64,
    displacement: i64,
    /// What it does with the target's memory.
    access: Access,
    /// It was started with a request.
    has_request: bool,
    /// Memory of this process that MPI reads, and what was in it.
    read: Option<(u64, u64, Option<u64>)>,
    /// Memory of this process that MPI writes.
    written: Option<(u64, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Put,
    Get,
    Accumulate,
}

static WINDOWS: Mutex<Option<FxHashMap<u64, Window>>> = Mutex::new(None);

fn with<R>(window: u64, action: impl FnOnce(&mut Window) -> R) -> R {
    let mut windows = WINDOWS.lock().unwrap_or_else(PoisonError::into_inner);
    action(windows.get_or_insert_default().entry(window).or_default())
}

/// The window of a call, also of one that has its address.
fn window_of(checked: &Checked<'_>, freed: Option<u64>) -> Option<u64> {
    freed.or_else(|| Some(checked.call.window()?.raw().to_word()))
}

/// The rank that a call names.
fn target(checked: &Checked<'_>) -> i64 {
    let shape = checked.shape;
    checked.int(if shape.target == NONE { shape.destination } else { shape.target }).unwrap_or(0)
}

fn access(checked: &Checked<'_>) -> Option<Access> {
    Some(match checked.shape.pattern {
        Pattern::Put => Access::Put,
        Pattern::Get => Access::Get,
        Pattern::Accumulate | Pattern::GetAccumulate => Access::Accumulate,
        _ => return None,
    })
}

/// Reports an epoch that is begun or ended wrongly.
fn wrong(checked: &Checked<'_>, what: &str, message: &str, other: Option<(&str, Site)>) {
    let other = other.map(|(what, site)| Other::new(what, site));
    report(Class::EpochLifecycle, checked.function, checked.site, what, message, other);
}

/// A call is about to be passed on. `freed`: the window that it frees.
pub(crate) fn entering(checked: &Checked<'_>, freed: Option<u64>) {
    use FunctionId::*;
    let Some(window) = window_of(checked, freed) else { return };
    let function = checked.function;
    if let Some(access) = access(checked) {
        operation(checked, window, access);
        return;
    }
    let rank = target(checked);
    let problem = with(window, |window| {
        let locked = window.locked_all.or_else(|| window.locks.values().next().copied());
        Some(match function {
            MPI_Win_lock => {
                if let Some(site) = window.locks.get(&rank) {
                    (
                        "lock",
                        format!("{function} of rank {rank}, which is locked already"),
                        "locked at",
                        *site,
                    )
                } else {
                    let site = window.locked_all?;
                    ("lock", format!("{function} while all ranks are locked"), "locked at", site)
                }
            }
            MPI_Win_lock_all => {
                ("lock", format!("{function} while a rank is locked already"), "locked at", locked?)
            }
            MPI_Win_unlock if !window.locks.contains_key(&rank) => (
                "unlock",
                format!("{function} of rank {rank}, which is not locked"),
                "",
                Site::UNKNOWN,
            ),
            MPI_Win_unlock_all if window.locked_all.is_none() => {
                ("unlock", format!("{function} without MPI_Win_lock_all"), "", Site::UNKNOWN)
            }
            MPI_Win_flush | MPI_Win_flush_local
                if window.locked_all.is_none() && !window.locks.contains_key(&rank) =>
            {
                (
                    "flush",
                    format!("{function} of rank {rank}, which is not locked"),
                    "",
                    Site::UNKNOWN,
                )
            }
            MPI_Win_flush_all | MPI_Win_flush_local_all if locked.is_none() => {
                ("flush", format!("{function} while no rank is locked"), "", Site::UNKNOWN)
            }
            MPI_Win_start => (
                "start",
                format!("{function} before MPI_Win_complete of the epoch before"),
                "started at",
                window.started?,
            ),
            MPI_Win_complete if window.started.is_none() => {
                ("complete", format!("{function} without MPI_Win_start"), "", Site::UNKNOWN)
            }
            MPI_Win_post => (
                "post",
                format!("{function} before MPI_Win_wait of the epoch before"),
                "posted at",
                window.posted?,
            ),
            MPI_Win_wait | MPI_Win_test if window.posted.is_none() => {
                ("wait", format!("{function} without MPI_Win_post"), "", Site::UNKNOWN)
            }
            MPI_Win_fence => {
                let (what, site) = match (locked, window.started, window.posted) {
                    (Some(site), ..) => ("locked at", site),
                    (_, Some(site), _) => ("started at", site),
                    (.., site) => ("posted at", site?),
                };
                ("fence", format!("{function} in an epoch that is not over"), what, site)
            }
            MPI_Win_free => {
                let (what, site) = match (locked, window.started, window.posted) {
                    (Some(site), ..) => ("locked at", site),
                    (_, Some(site), _) => ("started at", site),
                    (.., site) => ("posted at", site?),
                };
                ("free", format!("{function} in an epoch that is not over"), what, site)
            }
            _ => return None,
        })
    });
    if let Some((what, message, told, site)) = problem {
        wrong(checked, what, &message, (!told.is_empty()).then_some((told, site)));
    }
    let closed = with(window, |window| window.closed_by(function, rank));
    closed.iter().for_each(|operation| operation.check_unchanged(function));
}

/// MPI has accepted the call.
pub(crate) fn left(checked: &Checked<'_>, freed: Option<u64>, flag: bool) {
    use FunctionId::*;
    let Some(window) = window_of(checked, freed) else { return };
    let (function, site, rank) = (checked.function, checked.site, target(checked));
    if function == MPI_Win_free {
        let mut windows = WINDOWS.lock().unwrap_or_else(PoisonError::into_inner);
        windows.get_or_insert_default().remove(&window);
        return;
    }
    with(window, |window| match function {
        MPI_Win_fence => {
            let assertion = checked.int(0).unwrap_or(0);
            let is_last = assertion & i64::from(MPI_MODE_NOSUCCEED) != 0;
            window.fence = (!is_last).then_some(site);
        }
        MPI_Win_start => window.started = Some(site),
        MPI_Win_complete => window.started = None,
        MPI_Win_post => window.posted = Some(site),
        MPI_Win_wait => window.posted = None,
        MPI_Win_test if flag => window.posted = None,
        MPI_Win_lock => _ = window.locks.insert(rank, site),
        MPI_Win_unlock => _ = window.locks.remove(&rank),
        MPI_Win_lock_all => window.locked_all = Some(site),
        MPI_Win_unlock_all => window.locked_all = None,
        _ => {}
    });
}

/// An operation is about to be passed on: there must be an epoch, and nothing in it that it conflicts with.
fn operation(checked: &Checked<'_>, window: u64, access: Access) {
    let (function, site, rank) = (checked.function, checked.site, target(checked));
    if rank == i64::from(MPI_PROC_NULL) {
        return;
    }
    let is_in_epoch = with(window, |window| {
        window.fence.is_some()
            || window.started.is_some()
            || window.locked_all.is_some()
            || window.locks.contains_key(&rank)
    });
    if !is_in_epoch {
        let message = format!(
            "{function} to rank {rank} outside of an epoch (MPI_Win_fence, MPI_Win_start, MPI_Win_lock)"
        );
        wrong(checked, "outside", &message, None);
    }
    let Some(new) = Operation::of(checked, access, rank) else { return };
    let conflict = with(window, |window| {
        let conflict = window.operations.iter().find_map(|old| {
            let what = new.conflict(old)?;
            Some((what, old.function, old.site))
        });
        if window.operations.len() < MOST {
            window.operations.push(new);
        }
        conflict
    });
    if let Some((what, other, other_site)) = conflict {
        let message = format!("{function} {what} {other} of the same epoch");
        let other = Other::new("the other one at", other_site);
        report(Class::RmaConflict, function, site, what, &message, Some(other));
    }
}

impl Operation {
    /// `None` of one that moves nothing, or of which nobody knows what.
    fn of(checked: &Checked<'_>, access: Access, target: i64) -> Option<Self> {
        let mut displacement = None;
        for (parameter, word) in checked.call.arguments() {
            if parameter.kind == ParameterKind::RmaDisplacement && parameter.name == "target_disp" {
                displacement = Some(word as i64);
            }
            if parameter.name == "target_count" && c_int::from_word(word) == 0 {
                return None;
            }
        }
        let range = |data: &mpi_facts::Data| {
            let buffer = checked.word(data.buffer).filter(|buffer| *buffer != 0)?;
            let count = match data.count {
                NONE => 1,
                count => u64::try_from(checked.int(count)?).ok()?,
            };
            let info = checked.datatype(data.datatype)?;
            if info.is_dense { info.range(buffer, count) } else { None }
        };
        let shape = checked.shape;
        // With a request, the buffers are the application's again when that is complete. `MPI_NO_OP` reads nothing.
        let has_request = shape.timing == Timing::Started;
        let no_op = pmpi::MPI_NO_OP.to_word();
        let reads = !has_request && checked.word(shape.operation) != Some(no_op);
        let read = if reads { range(&shape.sent) } else { None };
        let read = read.map(|(begin, end)| (begin, end, checksum(begin, end)));
        let written = if has_request { None } else { range(&shape.received) };
        Some(Self {
            function: checked.function,
            site: checked.site,
            target,
            displacement: displacement?,
            access,
            has_request,
            read,
            written,
        })
    }

    /// In which way it conflicts with an earlier operation, in words.
    fn conflict(&self, old: &Self) -> Option<&'static str> {
        let overlaps = |one: (u64, u64), other: (u64, u64)| one.0 < other.1 && other.0 < one.1;
        let read = |operation: &Self| operation.read.map(|(begin, end, _)| (begin, end));
        let meet = |written: Option<(u64, u64)>, read: Option<(u64, u64)>| {
            written.zip(read).is_some_and(|(written, read)| overlaps(written, read))
        };
        // One with a request may have been completed by it before this one began.
        if !old.has_request && self.target == old.target && self.displacement == old.displacement {
            match (old.access, self.access) {
                (Access::Put | Access::Accumulate, Access::Get) => {
                    return Some("reads at the target what is changed by");
                }
                (Access::Get, Access::Put | Access::Accumulate) => {
                    return Some("changes at the target what is read by");
                }
                _ => {}
            }
        }
        if meet(old.written, read(self)) {
            return Some("reads a buffer of this process that is written by");
        }
        meet(self.written, read(old))
            .then_some("writes to a buffer of this process that is read by")
    }

    /// The operation is complete now: what it reads must be as it was.
    fn check_unchanged(&self, by: FunctionId) {
        let Some((begin, end, Some(before))) = self.read else { return };
        if checksum(begin, end).is_some_and(|now| now != before) {
            let function = self.function;
            let message = format!(
                "the buffer of {function} was changed before the epoch was over, as {by} says"
            );
            report(Class::RmaConflict, function, self.site, "changed", &message, None);
        }
    }
}

impl Window {
    /// Takes out the operations whose buffers are the application's again after a call. Those that are complete here only,
    /// and not at the target, stay without their buffers.
    fn closed_by(&mut self, function: FunctionId, rank: i64) -> Vec<Operation> {
        use FunctionId::*;
        let all = match function {
            MPI_Win_fence
            | MPI_Win_complete
            | MPI_Win_unlock_all
            | MPI_Win_flush_all
            | MPI_Win_flush_local_all
            | MPI_Win_free => true,
            MPI_Win_unlock | MPI_Win_flush | MPI_Win_flush_local => false,
            _ => return Vec::new(),
        };
        let is_local = matches!(function, MPI_Win_flush_local | MPI_Win_flush_local_all);
        let is_of = |operation: &Operation| all || operation.target == rank;
        let closed: Vec<_> = self.operations.iter().filter(|one| is_of(one)).cloned().collect();
        if is_local {
            for operation in self.operations.iter_mut().filter(|one| is_of(one)) {
                operation.read = None;
                operation.written = None;
            }
        } else {
            self.operations.retain(|one| !is_of(one));
        }
        closed
    }
}
