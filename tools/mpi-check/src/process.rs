//! The beginning and the end of this process.

use core::ffi::c_void;
use core::sync::atomic::{
    AtomicBool, AtomicU32,
    Ordering::{AcqRel, Relaxed},
};

use mpi_tool_layer::mpi_sys::c_int;
use mpi_tool_layer::{FunctionId, Site, launched_rank, say};

use crate::findings::{self, Class};
use crate::{order, shared, unseen, wrappers};

/// Which process it is: a forked child reports nothing.
static PROCESS: AtomicU32 = AtomicU32::new(0);
/// This process has told that it is over.
static FINISHED: AtomicBool = AtomicBool::new(false);
pub(crate) static FAILS: AtomicBool = AtomicBool::new(false);

/// This process is the first one of the host.
pub(crate) static IS_FIRST: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    /// The C library's: a function that runs at the end of the process, and gets the exit status.
    fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

/// The process ends, and nothing of the program runs any more.
extern "C" fn ended(status: c_int, _: *mut c_void) {
    if PROCESS.load(Relaxed) != std::process::id() {
        return;
    }
    if order::is_world_there() && status == 0 {
        let message = "the process ends without MPI_Finalize";
        let function = FunctionId::MPI_Finalize;
        findings::report(Class::CallOrder, function, Site::UNKNOWN, "exit", message, None);
    }
    finish();
    // A launcher ends the others when one fails: so the last one does, when the report is written.
    let is_last = findings::is_last_to_end();
    if FAILS.load(Relaxed) && status == 0 && is_last && findings::count_faults() > 0 {
        // SAFETY: `fflush` takes null for all streams. `_exit` takes a number, and ends the process, which is ending.
        unsafe {
            libc::fflush(core::ptr::null_mut());
            libc::_exit(1);
        }
    }
}

/// This process is over, as far as MPI goes.
pub(crate) fn finish() {
    if !FINISHED.swap(true, AcqRel) {
        findings::finished();
    }
}

/// Before MPI starts.
pub(crate) fn begin() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    if BEGUN.swap(true, AcqRel) {
        return;
    }
    PROCESS.store(std::process::id(), Relaxed);
    findings::prepare();
    wrappers::prepare();
    match shared::join() {
        Ok(is_first) => IS_FIRST.store(is_first, Relaxed),
        Err(problem) if launched_rank().unwrap_or(0) == 0 && !findings::is_silent() => {
            say(format_args!("mpi-check: {problem}; nothing is compared between ranks"));
        }
        Err(_) => {}
    }
    unseen::note();
}

/// The dynamic linker calls this at the end of the process, after the program's own functions that `atexit` was given. The
/// destructors of its objects may call `MPI_Finalize`, and those of its libraries come later still: so `ended` is only
/// registered here, and runs after all of them.
extern "C" fn unloading() {
    if PROCESS.load(Relaxed) == std::process::id() {
        // SAFETY: `on_exit` takes a function that may run at the end of the process; tools are never unloaded.
        unsafe { on_exit(ended, core::ptr::null_mut()) };
    }
}

#[used]
#[unsafe(link_section = ".fini_array")]
static UNLOADING: extern "C" fn() = unloading;
