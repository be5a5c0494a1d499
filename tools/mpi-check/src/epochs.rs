//! One-sided communication: epochs that are begun and ended wrongly, and operations of one epoch of this process that must
//! not meet.
//!
//! What a process knows for sure is what it has called itself: a fence, from which on there may be an epoch until the next
//! one; what it has started, posted and locked. Two operations of one epoch conflict if one of them changes what the
//! other one reads, at the target or in this process. That the same place is written twice is not told, as
//! benchmarks do so and do not look at it.

mod fetched;
mod locks;
mod operation;
mod posts;
mod targets;

use std::sync::{Mutex, PoisonError};

use mpi_facts::{NONE, Pattern, Timing};
use mpi_tool_layer::mpi_sys::{
    MPI_LOCK_EXCLUSIVE, MPI_MODE_NOPRECEDE, MPI_MODE_NOSUCCEED, MPI_PROC_NULL, c_int, pmpi,
};
use mpi_tool_layer::{Call as _, FunctionId, Site, Word};
use rustc_hash::FxHashMap;

use crate::accesses::{self, Access, Action, Collective, End, Epoch, Kept, Locks};
use crate::arguments::Checked;
use crate::comms::CommRef;
use crate::findings::{Class, Other, rank, report};
use crate::hosts;
use crate::knowledge;
use crate::operations;
use crate::places::Mark;
use crate::requests;
use crate::sanitizer;
use crate::shared::{limit, shared};
pub(crate) use fetched::{check_pending, may_fetch};
pub(crate) use locks::lock_of;
use operation::Operation;
pub(crate) use posts::needs;
use targets::Target;

/// What this process has done with a window.
#[derive(Debug, Default)]
struct Window {
    /// The last fence, unless it has said that nothing succeeds it.
    fence: Option<Site>,
    started: Option<Site>,
    posted: Option<Site>,
    /// Targets that are locked, where, and whether for this process alone.
    locks: FxHashMap<i64, (Site, bool)>,
    locked_all: Option<Site>,
    /// Operations that may not be complete.
    operations: Vec<Operation>,
    /// What other processes know of it.
    common: Option<Common>,
    /// This process's part of it, if a sanitizer watches the program.
    target: Option<Target>,
}

/// What a window is to other processes.
#[derive(Debug)]
struct Common {
    /// The same on all of them.
    identity: u64,
    comm: CommRef,
    /// How many fences there have been.
    fences: u64,
    /// How often an epoch was started with each target, and posted for each origin.
    starts: FxHashMap<u32, u64>,
    posts: FxHashMap<u32, u64>,
    /// Those that the last epoch was started with, and that the window was last posted for.
    targets: Vec<u32>,
    origins: Vec<u32>,
    /// Ranks in the world of those that this exposure is for, and how many each has had.
    exposed: Vec<(u32, u64)>,
    /// What is known of each target's end.
    ends: FxHashMap<u32, Option<End>>,
    /// Operations that others may meet.
    kept: Vec<KeptHere>,
    /// Those of the epoch before, which targets may still ask for.
    before: Vec<Kept>,
    /// What is complete.
    done: Vec<Done>,
    /// What this process knew when it started its epoch with some: the collective operation that all of it was from but that the
    /// others have posted their windows, and how many calls had brought it something.
    started_with: Option<(Collective, u64)>,
    /// The user has told MPI something of the window: other operations may be allowed.
    has_info: bool,
}

/// An operation, or several of one line, that others may meet.
#[derive(Debug)]
struct KeptHere {
    target: i64,
    /// Under a lock.
    is_locked: bool,
    /// One of them brings data to this process.
    fetches: bool,
    place: Kept,
}

/// An operation under a lock that is complete.
#[derive(Debug)]
struct Done {
    /// The last collective operation that this process had been through.
    passed: Collective,
    /// Is that one after it has been complete, so that targets have come to know of it?
    is_known: bool,
    place: Kept,
}

/// How many operations of an epoch are kept.
const MOST: usize = 1024;
/// How many that are complete are kept for others that may meet them.
const DONE: usize = 64;

/// What is not compared if processes are on several hosts.
fn hosts_limit() -> u32 {
    if hosts::is_on() { limit::ONE_SIDED } else { limit::HOSTS }
}

static WINDOWS: Mutex<Option<FxHashMap<u64, Window>>> = Mutex::new(None);

fn with_all<R>(action: impl FnOnce(&mut FxHashMap<u64, Window>) -> R) -> R {
    action(WINDOWS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

fn with<R>(window: u64, action: impl FnOnce(&mut Window) -> R) -> R {
    with_all(|windows| action(windows.entry(window).or_default()))
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

fn action(checked: &Checked<'_>) -> Option<Action> {
    Some(match checked.shape.pattern {
        Pattern::Put => Action::Put,
        Pattern::Get => Action::Get,
        Pattern::Accumulate | Pattern::GetAccumulate => Action::Accumulate,
        _ => return None,
    })
}

/// Does the operation make a request?
fn new_request(checked: &Checked<'_>) -> bool {
    checked.shape.new_request != NONE
}

/// Reports an epoch that is begun or ended wrongly.
fn wrong(checked: &Checked<'_>, what: &str, message: &str, other: Option<(&str, Site)>) {
    let other = other.map(|(what, site)| Other::new(what, site));
    report(Class::EpochLifecycle, checked.function, checked.site, what, message, other);
}

/// Does the function make a window?
pub(crate) fn makes_window(function: FunctionId) -> bool {
    use FunctionId::*;
    matches!(
        function,
        MPI_Win_create
            | MPI_Win_create_c
            | MPI_Win_allocate
            | MPI_Win_allocate_c
            | MPI_Win_allocate_shared
            | MPI_Win_allocate_shared_c
            | MPI_Win_create_dynamic
    )
}

/// A call that makes a window is about to be passed on, as the collective operation of this number: the window's identity;
/// 0 if others do not know it.
pub(crate) fn making(checked: &Checked<'_>, number: u64) -> u64 {
    knowledge::window_begins();
    let Some(comm) = checked.comm.as_ref().filter(|comm| number != 0 && comm.size > 1) else {
        return 0;
    };
    if !shared().is_whole() {
        shared().reached(hosts_limit());
        return 0;
    }
    if sanitizer::is_on() {
        accesses::set_watched();
    }
    let identity = comm.object_identity(number);
    let argument = |name: &str| {
        let mut parameters = checked.function.parameters().iter().zip(checked.call.words());
        parameters.find(|(parameter, _)| parameter.name() == name).map(|(_, word)| *word)
    };
    let unit = argument("disp_unit").map_or(1, |word| u32::try_from(word as i64).unwrap_or(0));
    // In memory that processes share, one's part leads to the next one's.
    let is_shared = matches!(
        checked.function,
        FunctionId::MPI_Win_allocate_shared | FunctionId::MPI_Win_allocate_shared_c
    );
    let size = argument("size").filter(|size| !is_shared && *size <= i64::MAX as u64);
    if let Ok(rank) = u32::try_from(comm.rank) {
        accesses::publish(identity, rank, End { unit, size });
    }
    identity
}

/// MPI has made a window.
pub(crate) fn made(checked: &Checked<'_>, window: u64, identity: u64) {
    let mut parameters = checked.function.parameters().iter().zip(checked.call.words());
    let has_info = parameters.any(|(parameter, word)| {
        parameter.name() == "info" && *word != pmpi::MPI_INFO_NULL.to_word()
    });
    let common = checked.comm.clone().filter(|_| identity != 0).map(|comm| Common {
        identity,
        comm,
        fences: 0,
        starts: FxHashMap::default(),
        posts: FxHashMap::default(),
        targets: Vec::new(),
        origins: Vec::new(),
        exposed: Vec::new(),
        ends: FxHashMap::default(),
        kept: Vec::new(),
        before: Vec::new(),
        done: Vec::new(),
        started_with: None,
        has_info,
    });
    let target = sanitizer::is_on().then(|| Target::of(window)).flatten();
    let new = Window { common, target, ..Window::default() };
    let before = with(window, |window| core::mem::replace(window, new));
    before.unwatch();
}

/// Any call is about to be passed on. `number`: of the collective operation that it is on its communicator; `fence`: the one that it is
/// on its window.
#[cold]
pub(crate) fn call_begins(checked: &Checked<'_>, number: u64, fence: Option<Collective>) {
    let is_over = checked.shape.timing == Timing::Blocking && number != 0;
    let of_comm = || checked.comm.as_ref().filter(|_| is_over).map(|comm| (comm.identity, number));
    let collective = fence.or_else(of_comm);
    if sanitizer::is_on() && collective.is_some() {
        targets::enter();
    }
    knowledge::entering(collective);
}

/// MPI has returned from any call. `is_silent`: nothing can have come from others by it.
#[cold]
pub(crate) fn call_is_over(checked: &Checked<'_>, is_silent: bool) {
    let may_bring = knowledge::may_bring(checked, is_silent);
    if sanitizer::is_on() && (may_bring || locks::is_lock(checked.function)) {
        targets::look();
    }
    if may_bring && let Some(collective) = knowledge::left() {
        with_all(|windows| passed(windows, collective));
        sanitizer::passed();
    }
}

/// This process has been through a collective operation: what it did before an earlier one on the same communicator is over
/// for all who were there.
fn passed(windows: &mut FxHashMap<u64, Window>, collective: Collective) {
    let is_watched = accesses::is_watched();
    let held = Window::all_locks(windows);
    for window in windows.values_mut() {
        window.passed(held);
        let Some(common) = &mut window.common else { continue };
        // Both are of all who have the window, so this one is later.
        let is_of_all = |identity| [common.identity, common.comm.identity].contains(&identity);
        let is_of_all_now = is_of_all(collective.0);
        common.done.retain_mut(|one| {
            let is_old = if one.passed.0 == collective.0 {
                one.passed.1 < collective.1
            } else {
                is_of_all_now && is_of_all(one.passed.0)
            };
            let stays = !is_old || is_watched && !one.is_known;
            if !stays {
                accesses::forget(one.place);
            } else if is_old {
                (one.passed, one.is_known) = (collective, true);
            }
            stays
        });
    }
}

/// A call is about to be passed on. `freed`: the window that it frees. Will it bring something from others?
pub(crate) fn entering(checked: &Checked<'_>, freed: Option<u64>) -> bool {
    use FunctionId::*;
    let Some(window) = window_of(checked, freed) else { return true };
    let function = checked.function;
    if let Some(action) = action(checked) {
        operation(checked, window, action);
        return false;
    }
    if function == MPI_Win_set_info {
        with(window, |window| window.common.iter_mut().for_each(|it| it.has_info = true));
    }
    let rank = target(checked);
    let problem = with(window, |window| {
        let locked =
            window.locked_all.or_else(|| window.locks.values().next().map(|(site, _)| *site));
        Some(match function {
            MPI_Win_lock => {
                if let Some((site, _)) = window.locks.get(&rank) {
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
                    (.., Some(site)) => ("posted at", site),
                    _ => {
                        let (of, site) = window.preceding(checked)?;
                        let message = format!(
                            "{function} with MPI_MODE_NOPRECEDE, after {of} of the same epoch"
                        );
                        return Some(("noprecede", message, "called at", site));
                    }
                };
                ("fence", format!("{function} in an epoch that is not over"), what, site)
            }
            MPI_Win_free => {
                let of_fence = window.fence.and_then(|_| window.operations.first());
                let (what, site) = match (locked, window.started, window.posted) {
                    (Some(site), ..) => ("locked at", site),
                    (_, Some(site), _) => ("started at", site),
                    (.., Some(site)) => ("posted at", site),
                    _ => ("communication at", of_fence?.site),
                };
                ("free", format!("{function} in an epoch that is not over"), what, site)
            }
            _ => return None,
        })
    });
    if let Some((what, message, told, site)) = problem {
        wrong(checked, what, &message, (!told.is_empty()).then_some((told, site)));
    }
    posts::entering(checked, window);
    locks::entering(checked, window);
    let (closed, is_all) = with(window, |window| {
        let is_all = window.operations.len() < MOST;
        window.over_by(function, rank);
        let closed = window.closed_by(function, rank);
        // Another thread that closes nothing any more must find them ended.
        closed.iter().for_each(|operation| sanitizer::end(operation.ticket));
        (closed, is_all)
    });
    closed.iter().for_each(|operation| operation.check_unchanged(function));
    fetched::check_untouched(&closed, function);
    fetched::closing(&closed);
    fetched::over(&closed);
    if let Some(target) = closes(function, rank) {
        requests::flushed(window, target, function, checked.site);
    }
    let completes = matches!(
        function,
        MPI_Win_unlock
            | MPI_Win_unlock_all
            | MPI_Win_flush
            | MPI_Win_flush_all
            | MPI_Win_flush_local
            | MPI_Win_flush_local_all
    );
    !(completes && is_all) || closed.iter().any(|operation| operation.fetches)
}

/// MPI has accepted the call.
pub(crate) fn left(checked: &Checked<'_>, freed: Option<u64>, flag: bool) {
    use FunctionId::*;
    let Some(window) = window_of(checked, freed) else { return };
    let (function, site, rank) = (checked.function, checked.site, target(checked));
    if closes(function, rank).is_some() {
        fetched::closed(function);
    }
    if function == MPI_Win_free {
        let gone = with_all(|windows| windows.remove(&window));
        gone.iter().for_each(Window::unwatch);
        if let Some(common) = gone.and_then(|gone| gone.common) {
            common.kept.iter().for_each(|one| accesses::forget(one.place));
            common.before.iter().for_each(|place| accesses::forget(*place));
            common.done.iter().for_each(|one| accesses::forget(one.place));
            common.forget_exposures();
            if let Ok(rank) = u32::try_from(common.comm.rank) {
                accesses::withdraw(common.identity, rank);
            }
        }
        return;
    }
    locks::left(checked);
    if action(checked).is_some() {
        with(window, |window| fetched::returned(window.operations.last_mut(), function, site));
        return;
    }
    with(window, |window| match function {
        MPI_Win_fence => {
            if let Some(common) = &mut window.common {
                common.fences += 1;
                common.before.drain(..).for_each(accesses::forget);
                let over = common.kept.drain(..).map(|one| one.place);
                if accesses::is_watched() {
                    common.before.extend(over);
                } else {
                    over.for_each(accesses::forget);
                }
            }
            window.target.iter_mut().for_each(Target::fenced);
            let assertion = checked.int(0).unwrap_or(0);
            let is_last = assertion & i64::from(MPI_MODE_NOSUCCEED) != 0;
            window.fence = (!is_last).then_some(site);
        }
        MPI_Win_start => {
            window.started = Some(site);
            window.common.iter_mut().for_each(Common::started);
        }
        MPI_Win_complete => window.started = None,
        MPI_Win_post => {
            window.posted = Some(site);
            window.common.iter_mut().for_each(Common::posted);
            window.target.iter_mut().for_each(Target::posted);
        }
        MPI_Win_wait => window.exposure_over(),
        MPI_Win_test if flag => window.exposure_over(),
        MPI_Win_lock => {
            let is_alone = checked.int(0) == Some(i64::from(MPI_LOCK_EXCLUSIVE));
            _ = window.locks.insert(rank, (site, is_alone));
        }
        MPI_Win_unlock => _ = window.locks.remove(&rank),
        MPI_Win_lock_all => window.locked_all = Some(site),
        MPI_Win_sync => sanitizer::awaits_words(),
        MPI_Win_unlock_all => window.locked_all = None,
        _ => {}
    });
    if locks::is_lock(function) && sanitizer::is_on() {
        targets::have_locked();
    }
}

/// An operation is about to be passed on: there must be an epoch, and nothing in it that it conflicts with.
fn operation(checked: &Checked<'_>, window: u64, action: Action) {
    let (function, site, rank) = (checked.function, checked.site, target(checked));
    if rank == i64::from(MPI_PROC_NULL) || !checked.is_sound {
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
    } else if let Some(site) =
        with(window, |window| window.started.filter(|_| window.is_not_started_with(rank)))
    {
        let message =
            format!("{function} to rank {rank}, which is not in the group of MPI_Win_start");
        wrong(checked, "not started", &message, Some(("started at", site)));
    } else if new_request(checked) && with(window, |window| !window.is_locked(rank)) {
        let message = format!(
            "{function} to rank {rank}, which is not locked: operations with requests are for locks only"
        );
        wrong(checked, "not locked", &message, None);
    }
    let end = with(window, |window| window.end(rank));
    let unit = end.map(|end| end.unit);
    let Some(mut new) = Operation::of(checked, action, rank, unit) else { return };
    new.check_target(checked, end.and_then(|end| end.size));
    let held = match accesses::is_watched() {
        true => with_all(|windows| Window::all_locks(windows)),
        false => Locks::default(),
    };
    let conflict = with(window, |window| {
        window.meet(checked, &new, held);
        let conflict = window.operations.iter().find_map(|old| {
            let what = new.conflict(old)?;
            Some((what, old.function, old.site))
        });
        if window.operations.len() < MOST {
            // With a request, the buffer is the application's again when that is complete.
            let written = new.written.take().filter(|_| !new.has_request);
            if written.is_some() {
                fetched::begun();
            }
            let mut operation = Operation { written, ..new };
            operation.watch(window.own_part(&operation));
            window.operations.push(operation);
        }
        conflict
    });
    if let Some((what, other, other_site)) = conflict {
        let message = format!("{function} {what} {other} of the same epoch");
        let other = Other::new("the other one at", other_site);
        report(Class::RmaConflict, function, site, what, &message, Some(other));
    }
}

/// The target whose operations are complete here after a call, or `Some(None)` if those with all are.
fn closes(function: FunctionId, rank: i64) -> Option<Option<i64>> {
    use FunctionId::*;
    match function {
        MPI_Win_fence
        | MPI_Win_complete
        | MPI_Win_unlock_all
        | MPI_Win_flush_all
        | MPI_Win_flush_local_all
        | MPI_Win_free => Some(None),
        MPI_Win_unlock | MPI_Win_flush | MPI_Win_flush_local => Some(Some(rank)),
        _ => None,
    }
}

impl Window {
    /// A sanitizer needs not know of it any more: the handle is nobody's, or another window's.
    fn unwatch(&self) {
        self.operations.iter().for_each(|operation| sanitizer::end(operation.ticket));
        self.target.iter().for_each(Target::is_gone);
    }

    /// Is there an epoch of a lock with a target?
    fn is_locked(&self, target: i64) -> bool {
        self.locked_all.is_some() || self.locks.contains_key(&target)
    }

    /// An operation of the epoch that a fence ends which says that there is none.
    fn preceding(&self, checked: &Checked<'_>) -> Option<(FunctionId, Site)> {
        let says_so = checked.int(0).unwrap_or(0) & i64::from(MPI_MODE_NOPRECEDE) != 0;
        self.fence.filter(|_| says_so)?;
        self.operations.first().map(|first| (first.function, first.site))
    }

    /// What is known of a target's end.
    fn end(&mut self, target: i64) -> Option<End> {
        let common = self.common.as_mut()?;
        let rank = u32::try_from(target).ok()?;
        *common.ends.entry(rank).or_insert_with(|| accesses::end(common.identity, rank))
    }

    /// Compares an operation with those of other processes.
    fn meet(&mut self, checked: &Checked<'_>, new: &Operation, held: Locks) {
        let is_fence = self.locked_all.is_none() && self.started.is_none();
        let has_fence = self.fence.is_some();
        let lock = self.locks.get(&new.target).map(|(_, is_alone)| *is_alone);
        let Some(common) = &mut self.common else { return };
        let Ok(target) = u32::try_from(new.target) else { return };
        let of_target = common.comm.world_rank(target as c_int);
        let is_own = of_target == Some(rank());
        let is_locked = lock.is_some() || self.locked_all.is_some();
        // What fences and posts expose is learned by the call that ends the epoch.
        if let Some(other) = of_target.filter(|_| !is_own && is_locked) {
            accesses::note_incoming(other);
        }
        if !shared().is_whole() {
            shared().reached(hosts_limit());
            return;
        }
        // What is under a lock of one's own is in order, and what a request completes is over at a time that nobody here knows.
        let ends_unseen = new.has_request && new.fetches;
        let is_for_target = lock == Some(true) || ends_unseen;
        if is_for_target && (is_own || !accesses::is_watched()) {
            return;
        }
        let epoch = match lock {
            Some(_) => Epoch::Locked { all: false },
            None if self.locked_all.is_some() => Epoch::Locked { all: true },
            None if self.started.is_some() => match common.starts.get(&target) {
                Some(number) => Epoch::Started(*number),
                None => return,
            },
            None if is_fence && has_fence => Epoch::Fence(common.fences),
            None => return,
        };
        let (Some(layout), Some(unit)) = (&new.layout, new.unit) else { return };
        let Some(start) = new.displacement.checked_mul(i64::from(unit)) else { return };
        let Some(layout) = layout.clone().moved(start) else { return };
        let operation = match checked.word(checked.shape.operation) {
            Some(operation) if !common.has_info => operations::number(operation),
            _ => 0,
        };
        let basic = new.basic;
        let checksum = match new.action {
            Action::Put => new.read.as_ref().and_then(|(_, checksum)| *checksum),
            _ => None,
        };
        let access = Access {
            window: common.identity,
            target,
            epoch,
            action: new.action,
            operation: operation as u32,
            basic,
            checksum,
            function: new.function,
            mark: Mark::of(new.site),
            layout,
            since: match epoch {
                Epoch::Started(_) => common.since_start(),
                _ => knowledge::last(is_own.into()),
            },
            is_for_target,
            ends_unseen,
            held,
            only_reads: new.action == Action::Get || new.is_no_op,
        };
        let kept = accesses::add(&access, knowledge::passed());
        let Some(place) = kept.filter(|_| !matches!(epoch, Epoch::Started(_))) else { return };
        match common.kept.iter_mut().find(|known| known.place == place) {
            Some(known) => known.fetches |= new.fetches,
            None => common.kept.push(KeptHere {
                target: new.target,
                is_locked: matches!(epoch, Epoch::Locked { .. }),
                fetches: new.fetches,
                place,
            }),
        }
    }

    /// A call is about to complete operations under locks at their targets.
    fn over_by(&mut self, function: FunctionId, rank: i64) {
        use FunctionId::*;
        let is_local = matches!(function, MPI_Win_flush_local | MPI_Win_flush_local_all);
        let all =
            matches!(function, MPI_Win_unlock_all | MPI_Win_flush_all | MPI_Win_flush_local_all);
        if !all && !is_local && !matches!(function, MPI_Win_unlock | MPI_Win_flush) {
            return;
        }
        let Some(common) = &mut self.common else { return };
        let passed = knowledge::passed();
        let (kept, done) = (&mut common.kept, &mut common.done);
        kept.retain(|one| {
            let is_over =
                one.is_locked && (all || one.target == rank) && (one.fetches || !is_local);
            if is_over {
                accesses::over(one.place);
                done.push(Done { passed, is_known: false, place: one.place });
            }
            !is_over
        });
        let many = done.len().saturating_sub(DONE);
        done.drain(..many).for_each(|one| accesses::forget(one.place));
    }

    /// Takes out the operations whose buffers are the application's again after a call. Those that are complete here only,
    /// and not at the target, stay without their buffers.
    fn closed_by(&mut self, function: FunctionId, rank: i64) -> Vec<Operation> {
        use FunctionId::{MPI_Win_flush_local, MPI_Win_flush_local_all};
        let Some(target) = closes(function, rank) else { return Vec::new() };
        let is_local = matches!(function, MPI_Win_flush_local | MPI_Win_flush_local_all);
        let is_of = |operation: &Operation| target.is_none_or(|rank| operation.target == rank);
        let closed: Vec<_> = self.operations.iter().filter(|one| is_of(one)).cloned().collect();
        if is_local {
            // What an operation brings is here only if it is complete at the target, too.
            self.operations.retain(|one| !(is_of(one) && one.fetches));
            for operation in self.operations.iter_mut().filter(|one| is_of(one)) {
                operation.read = None;
            }
        } else {
            self.operations.retain(|one| !is_of(one));
        }
        closed
    }
}
