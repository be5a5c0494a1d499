//! Loads and stores of the program itself: ThreadSanitizer's runtime sees them, in a program that was compiled with it
//! (`-fsanitize=thread`). It is told what MPI reads and writes, and when: each operation that is not complete is a fiber of the
//! runtime's, which begins after what its thread has done and ends before what the thread that completes it does next. A load or
//! a store meanwhile is a race with the fiber. What the runtime then reports becomes a finding.
//!
//! * `runtime.rs`: the runtime's functions. `fibers.rs`: operations as fibers. `code.rs`: places in code as addresses.
//! * `quiet.rs`: what the tool and MPI do themselves, and how calls order threads.
//! * `reports.rs`: what the runtime reports. It calls the tool in the middle of that, where nothing can be done but copy it.
//!
//! What MPI's library and this tool do themselves is not looked at: neither was compiled so, and the runtime, which sees what they
//! copy and free but not what orders it, would report what is right.

mod code;
mod fibers;
mod quiet;
mod reports;
mod runtime;

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering::Relaxed};

use mpi_facts::{Pattern, Timing};
use mpi_tool_layer::{FunctionClass, FunctionId, Site};

use crate::areas::Area;
use crate::arguments::Checked;
use crate::places::Mark;
use crate::{extensions, process, requests, unseen};
pub(crate) use fibers::{Since, Ticket, end, end_all};
use quiet::release_to_calls;
pub(crate) use quiet::{Quiet, ends_at_once};
pub(crate) use reports::has_told;

/// The runtime is there.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Is the runtime there? One load.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    IS_ON.load(Relaxed)
}

/// Before MPI starts: looks for the runtime.
pub(crate) fn prepare() {
    if runtime::get().is_none() {
        return;
    }
    IS_ON.store(true, Relaxed);
    process::ask_first();
    reports::note_limits();
}

/// Do the runtime's reports not come to this tool?
pub(crate) fn is_deaf() -> bool {
    is_on() && runtime::get().is_some_and(|runtime| !runtime.tells)
}

/// May the program be told of accesses? Not if a completion may be past the tool, since an operation that is complete would count
/// as one that is not; nor where threads are ordered by what the runtime does not see.
fn may_tell() -> bool {
    const UNKNOWN: u8 = 0;
    const NO: u8 = 1;
    const YES: u8 = 2;
    static ANSWER: AtomicU8 = AtomicU8::new(UNKNOWN);
    let mut answer = ANSWER.load(Relaxed);
    if answer == UNKNOWN {
        let hides = unseen::hides_all() || extensions::are_unseen() || has_unseen_order();
        answer = if hides { NO } else { YES };
        ANSWER.store(answer, Relaxed);
    }
    answer == YES
}

/// Is there a library whose ways to order threads the runtime does not see? LLVM's tells it by a library of its own.
fn has_unseen_order() -> bool {
    !code::has_library("libarcher")
        && ["libgomp", "libomp", "libiomp", "libtbb"].into_iter().any(code::has_library)
}

/// An operation has begun that reads and writes memory until [`end`].
#[inline]
pub(crate) fn begin<'a>(
    function: FunctionId,
    site: Site,
    areas: impl Iterator<Item = (&'a Area, bool)>,
) -> Ticket {
    if !is_on() { Ticket::NONE } else { begin_slowly(function, site, areas) }
}

#[cold]
fn begin_slowly<'a>(
    function: FunctionId,
    site: Site,
    areas: impl Iterator<Item = (&'a Area, bool)>,
) -> Ticket {
    let areas: Vec<_> = areas.filter(|(area, _)| area.is_there()).collect();
    if areas.is_empty() || !may_tell() {
        return Ticket::NONE;
    }
    fibers::begin(function, site, &areas)
}

/// An operation reads more from now on, which may be the first that it does: what stands for it.
pub(crate) fn add(ticket: Ticket, function: FunctionId, site: Site, area: &Area) -> Ticket {
    if ticket == Ticket::NONE || !fibers::has(ticket) {
        return begin(function, site, [(area, false)].into_iter());
    }
    if area.is_there() {
        fibers::add(ticket, function, site, &[(area, false)]);
    }
    ticket
}

/// This process has been through a collective operation, and knows what the others did before.
pub(crate) fn passed() {
    if is_on() {
        fibers::passed(Since::Passed);
    }
}

/// An operation of this process's uses its own part of a window. It is compared with those of others without the runtime.
pub(crate) fn uses_own_part(area: &Area) {
    if is_on() {
        fibers::uses_own_part(area);
    }
}

/// This process has posted a window, or been through a fence.
pub(crate) fn exposed() {
    if is_on() {
        fibers::passed(Since::Exposed);
    }
}

/// The program has called `MPI_Win_sync`, as those do that wait for a word which another process changes.
static AWAITS_WORDS: AtomicBool = AtomicBool::new(false);

pub(crate) fn awaits_words() {
    AWAITS_WORDS.store(true, Relaxed);
}

/// May the program wait for a word that another process changes? Then it calls `MPI_Win_sync` somewhere.
pub(crate) fn may_await_words() -> bool {
    /// How many files were loaded when they were last looked at.
    static LOADED: AtomicUsize = AtomicUsize::new(0);
    if !AWAITS_WORDS.load(Relaxed) {
        let loaded = code::loaded();
        if LOADED.swap(loaded, Relaxed) != loaded && code::is_called(FunctionId::MPI_Win_sync) {
            awaits_words();
        }
    }
    AWAITS_WORDS.load(Relaxed)
}

/// Another process does something with memory of this one, from some time since then until [`end`].
pub(crate) fn incoming(
    origin: u32,
    function: FunctionId,
    mark: Mark,
    area: &Area,
    writes: bool,
    since: Since,
) -> Ticket {
    if !is_on() || !area.is_there() || !may_tell() {
        return Ticket::NONE;
    }
    fibers::incoming(code::of_other(function, mark, origin), area, writes, since)
}

/// A call that is over when it returns is about to be passed on: the thread reads and writes itself what MPI does. How much a
/// message brings is not known before.
pub(crate) fn blocking(checked: &Checked<'_>) {
    let shape = checked.shape;
    let is_it = shape.timing == Timing::Blocking
        && matches!(shape.class, FunctionClass::PointToPoint | FunctionClass::Collective);
    let Some(runtime) = runtime::get().filter(|_| is_it && may_tell()) else { return };
    let is_message = shape.class == FunctionClass::PointToPoint;
    let areas = requests::areas_of(checked);
    let areas: Vec<_> = areas
        .iter()
        .map(|(area, writes)| (area, *writes))
        .filter(|(area, writes)| !(is_message && *writes) && area.is_there())
        .collect();
    if !areas.is_empty() && shape.pattern != Pattern::Nothing {
        runtime.look_again();
        fibers::access(runtime, checked.function, checked.site, &areas);
        runtime.look_away();
    }
}
