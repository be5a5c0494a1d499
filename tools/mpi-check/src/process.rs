//! The beginning and the end of this process.

use core::ffi::c_void;
use core::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{AcqRel, Relaxed},
};

use mpi_tool_layer::mpi_sys::c_int;
use mpi_tool_layer::{FunctionId, Site, after_all, in_forked_children, launched_rank, marks, say};

use crate::findings::{self, Class};
use crate::{objects, order, requests, sanitizer, shared, split, unseen, waits, wrappers};

/// Which process it is: a forked child reports nothing.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// Each call asks first whether and how it is checked: a sanitizer watches the program, or this is a forked child, which is no rank.
static ASKS_FIRST: AtomicBool = AtomicBool::new(false);
/// This process has told that it is over.
static FINISHED: AtomicBool = AtomicBool::new(false);
pub(crate) static FAILS: AtomicBool = AtomicBool::new(false);

/// This process is the first one of the host.
pub(crate) static IS_FIRST: AtomicBool = AtomicBool::new(false);

/// The process ends, and nothing of the program runs any more.
extern "C" fn ended(status: c_int, _: *mut c_void) {
    if !is_it() {
        return;
    }
    let quiet = sanitizer::Quiet::begin();
    if order::is_world_there() && status == 0 {
        let message = "the process ends without MPI_Finalize";
        let function = FunctionId::MPI_Finalize;
        findings::report(Class::CallOrder, function, Site::UNKNOWN, "exit", message, None);
    }
    if order::is_world_over() {
        objects::report_leaks_at_end();
        requests::report_left();
        split::report_left();
    }
    finish();
    // A launcher ends the others when one fails: so the last one does, when the report is written.
    let is_last = findings::is_last_to_end();
    drop(quiet);
    if FAILS.load(Relaxed) && status == 0 && is_last && findings::count_faults() > 0 {
        // SAFETY: `fflush` takes null for all streams. `_exit` takes a number, and ends the process, which is ending.
        unsafe {
            libc::fflush(core::ptr::null_mut());
            libc::_exit(1);
        }
    }
}

/// Is this the process that was seen before MPI started, and no child that `fork` has made of it?
fn is_it() -> bool {
    PROCESS.load(Relaxed) == std::process::id()
}

/// Is this a child that `fork` has made?
pub(crate) fn is_child() -> bool {
    PROCESS.load(Relaxed) != 0 && !is_it()
}

/// Does each call ask first whether and how it is checked? One load.
#[inline(always)]
pub(crate) fn asks_first() -> bool {
    ASKS_FIRST.load(Relaxed)
}

/// From now on each call asks.
pub(crate) extern "C" fn ask_first() {
    ASKS_FIRST.store(true, Relaxed);
}

/// This process is over, as far as MPI goes.
pub(crate) fn finish() {
    if !is_child() && !FINISHED.swap(true, AcqRel) {
        findings::finished();
    }
}

/// The process is about to end without `MPI_Finalize`: what is found was told when it was found, and this says that nothing else
/// comes. One rank of a host says so. May run in a signal handler.
pub(crate) fn ends(how: &str) {
    // A signal's handler may be in the middle of the sanitizer, and needs nothing of it.
    if how.ends_with("exit") {
        sanitizer::ends_at_once();
    }
    let is_over = FINISHED.load(Relaxed) || !is_it();
    if !is_over && findings::is_first_to_break_off() {
        marks::reported();
        let rank = findings::rank();
        match findings::count_faults() {
            0 => say(format_args!("mpi-check: nothing was found until rank {rank} ended ({how})")),
            1 => say(format_args!(
                "mpi-check: 1 finding, told above, until rank {rank} ended ({how})"
            )),
            count => say(format_args!(
                "mpi-check: {count} findings, told above, until rank {rank} ended ({how})"
            )),
        }
    }
}

/// Before MPI starts.
pub(crate) fn begin() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    if BEGUN.swap(true, AcqRel) {
        return;
    }
    PROCESS.store(std::process::id(), Relaxed);
    in_forked_children(ask_first);
    waits::starting();
    findings::prepare();
    if !findings::is_silent() {
        marks::started();
    }
    wrappers::prepare();
    match shared::join() {
        Ok(is_first) => IS_FIRST.store(is_first, Relaxed),
        Err(problem) if launched_rank().unwrap_or(0) == 0 && !findings::is_silent() => {
            say(format_args!("mpi-check: {problem}; nothing is compared between ranks"));
        }
        Err(_) => {}
    }
    unseen::note();
    sanitizer::prepare();
}

/// The dynamic linker calls this at the end of the process, after the program's own functions that `atexit` was given. The
/// destructors of its objects may call `MPI_Finalize`, and those of its libraries come later still: so `ended` is only
/// registered here, and runs after all of them.
extern "C" fn unloading() {
    if is_it() {
        after_all(ended);
    }
}

#[used]
#[unsafe(link_section = ".fini_array")]
static UNLOADING: extern "C" fn() = unloading;
