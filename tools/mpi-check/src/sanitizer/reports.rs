//! What the runtime reports: races of the program with operations of MPI's become findings. Other races are the runtime's affair,
//! which has printed them.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use mpi_facts::{NONE, Shape, Timing};
use mpi_tool_layer::{FunctionClass, FunctionId};
use rustc_hash::FxHashSet;

use super::code::{self, Known, Origin};
use super::runtime::{self, FRAMES};
use crate::findings::{Class, Other, Place, rank, report_of};
use crate::places::{self, Mark};
use crate::shared::{limit, shared};

/// One of two accesses that nothing orders.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side {
    pub(super) writes: bool,
    /// The thread, as the system knows it; 0 if it is not known.
    pub(super) thread: u64,
    /// Return addresses, the innermost first.
    pub(super) frames: [usize; FRAMES],
}

/// Two accesses that nothing orders.
#[derive(Debug, Clone, Copy)]
pub(super) struct Report {
    /// The earlier one has freed the memory.
    pub(super) is_freed: bool,
    pub(super) sides: [Side; 2],
}

/// How many reports are kept until the next call. The runtime makes one of each pair of places.
const MOST: usize = 64;

/// Reports that were not told yet.
struct Kept {
    all: [Option<Report>; MOST],
    count: usize,
}

static KEPT: Mutex<Kept> = Mutex::new(Kept { all: [None; MOST], count: 0 });
/// Some could not be kept.
static IS_LOST: AtomicBool = AtomicBool::new(false);
/// How many there are.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// ThreadSanitizer asks for this before the program starts, if it is a library of its own: the order in which locks are taken is not
/// looked at, as Open MPI's own libraries take theirs in several, in right programs, too. `TSAN_OPTIONS` has the last word.
#[unsafe(no_mangle)]
extern "C" fn __tsan_default_options() -> *const core::ffi::c_char {
    c"detect_deadlocks=0".as_ptr()
}

/// ThreadSanitizer calls this when it has printed a report, if it is a library of its own. It holds locks: nothing may be
/// done here that it watches, and nothing that allocates.
///
/// # Safety
///
/// The report must be the runtime's.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn __tsan_on_report(report: *mut c_void) {
    if !super::is_on() {
        return;
    }
    // SAFETY: it is the report of this call, as the caller promises.
    let report = runtime::get().and_then(|runtime| unsafe { runtime.report(report) });
    let Some(report) = report else { return };
    // Whoever takes reports out may be this thread, and is quick.
    let is_kept = KEPT.try_lock().is_ok_and(|mut kept| {
        let count = kept.count;
        let Some(place) = kept.all.get_mut(count) else { return false };
        *place = Some(report);
        kept.count += 1;
        COUNT.store(kept.count, Relaxed);
        true
    });
    if !is_kept {
        IS_LOST.store(true, Relaxed);
    }
}

/// Tells what the runtime has reported since the last time.
#[inline]
pub(super) fn tell() {
    if COUNT.load(Relaxed) != 0 || IS_LOST.load(Relaxed) {
        tell_all();
    }
}

#[cold]
fn tell_all() {
    if IS_LOST.swap(false, Relaxed) {
        shared().reached(limit::SANITIZER_LOST);
    }
    let next = || {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        kept.count = kept.count.checked_sub(1)?;
        COUNT.store(kept.count, Relaxed);
        let count = kept.count;
        kept.all[count].take()
    };
    while let Some(report) = next() {
        tell_of(&report);
    }
}

/// The calls with which something was told.
static TOLD: Mutex<Option<FxHashSet<u32>>> = Mutex::new(None);

/// Was an access told of while an operation of this call was not complete?
pub(crate) fn has_told(site: mpi_tool_layer::Site) -> bool {
    super::is_on()
        && TOLD
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
            .is_some_and(|told| told.contains(&site.number()))
}

fn tell_of(report: &Report) {
    let known = |side: &Side| code::known([side.frames[0], side.frames[1]]);
    let [one, two] = &report.sides;
    // The runtime gives the later access first.
    let (call, own, theirs, is_later) = match (known(one), known(two)) {
        (Some(call), None) => (call, one, two, true),
        (None, Some(call)) => (call, two, one, false),
        (Some(one_call), Some(two_call)) => {
            return tell_of_calls([(&one_call, one), (&two_call, two)]);
        }
        // Of a race of others, the runtime has told all.
        (None, None) => return,
    };
    let is_same_thread = call.thread != 0 && call.thread == theirs.thread;
    // A library may have been loaded since MPI was started.
    if !is_same_thread && super::has_unseen_order() {
        return shared().reached(limit::SANITIZER_ORDER);
    }
    let Some(place) = place_of(theirs) else { return };
    let does = if !theirs.writes {
        "reads"
    } else if is_later && report.is_freed || code::frees(theirs.frames[0]) {
        "frees"
    } else {
        "changes"
    };
    let function = call.function;
    let site = match call.origin {
        Origin::Here(site) => site,
        Origin::Rank(origin, mark) => {
            let does = format!("the program {does}");
            return report_other((function, origin, mark), own.writes, &does, &place);
        }
    };
    TOLD.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .get_or_insert_default()
        .insert(site.number());
    let (class, what, message) = describe(function, own.writes, does, is_later);
    let key = format!("{what} {does} {}", places::describe(site));
    let other = Other::new(what, site);
    report_of(class, function, Place::Text(&place), &key, &message, Some(other), &[rank()]);
}

/// Of two calls. Those of this process are compared without the runtime.
fn tell_of_calls([one, two]: [(&Known, &Side); 2]) {
    let ((own, access), site, (theirs, other), origin, mark) = match (one.0.origin, two.0.origin) {
        (Origin::Here(site), Origin::Rank(rank, mark)) => (one, site, two, rank, mark),
        (Origin::Rank(rank, mark), Origin::Here(site)) => (two, site, one, rank, mark),
        _ => return,
    };
    let does = format!("{} {}", own.function, if access.writes { "writes" } else { "reads" });
    let place = places::describe(site);
    report_other((theirs.function, origin, mark), other.writes, &does, &place);
}

/// What another rank does with memory of this one's window, and what is done here, at a place.
fn report_other(
    (function, origin, mark): (FunctionId, Option<u32>, Mark),
    writes: bool,
    does: &str,
    place: &str,
) {
    let key = format!("target {does} {}", places::of_mark(mark));
    let uses = if writes { "writes" } else { "reads" };
    let who = origin.map_or_else(|| "another rank".to_owned(), |rank| format!("rank {rank}"));
    let message = format!(
        "{does} memory of its window that {who} {uses} by {function}, and nothing orders the two"
    );
    let other = Other::at("the operation at", mark);
    let ranks: Vec<u32> = [rank()].into_iter().chain(origin).collect();
    report_of(
        Class::RmaConflict,
        function,
        Place::Text(place),
        &key,
        &message,
        Some(other),
        &ranks,
    );
}

/// The class, what the call is, and the message. `is_later`: MPI's access came after the program's.
fn describe(
    function: FunctionId,
    writes: bool,
    does: &str,
    is_later: bool,
) -> (Class, &'static str, String) {
    let shape = Shape::looked_up(function);
    let is_of_epoch = shape.class == FunctionClass::OneSided && shape.timing == Timing::Epoch;
    // Of a message in partitions, each one is sent when it is ready.
    let what = match shape.timing {
        Timing::Blocking => "the call at",
        _ if is_of_epoch => "the operation at",
        _ if shape.sent.partitions == NONE => "started at",
        _ => "ready at",
    };
    let class = if is_of_epoch { Class::RmaConflict } else { Class::BufferInUse };
    if is_later && does == "frees" {
        let message = format!("{function} uses memory that the program has freed");
        return (class, what, message);
    }
    // What came before the call is no fault of who does not wait for its end.
    if is_later || shape.timing == Timing::Blocking {
        let uses = if writes { "writes" } else { "reads" };
        let message = format!(
            "a thread {does} memory that {function} {uses} in another thread, and nothing orders the two"
        );
        return (class, what, message);
    }
    if is_of_epoch {
        let uses = if writes { "writes to" } else { "reads" };
        let message = format!(
            "the program {does} memory that {function} {uses} in an epoch that is not over: end or flush it first"
        );
        return (class, what, message);
    }
    let uses = if writes { "is receiving into" } else { "is sending" };
    let message =
        format!("the program {does} a buffer that {function} {uses}: wait for its request first");
    (class, what, message)
}

/// Where the program itself loads or stores; `None` if the code was not compiled with the sanitizer.
fn place_of(side: &Side) -> Option<String> {
    let runtime = code::runtime_begin();
    let frames = side.frames.into_iter().take_while(|frame| *frame != 0);
    for frame in frames {
        let object = code::object_of(frame)?;
        // What the runtime does in place of the C library's functions.
        if Some(object.begin()) == runtime {
            continue;
        }
        if !object.is_watched() {
            return None;
        }
        let offset = (frame - 1).wrapping_sub(object.bias) as u64;
        return Some(places::describe_place(&object.path, offset));
    }
    None
}

/// What the runtime cannot tell this tool.
pub(super) fn note_limits() {
    if super::is_deaf() {
        shared().reached(limit::SANITIZER);
    }
    if super::has_unseen_order() {
        shared().reached(limit::SANITIZER_ORDER);
    }
}
