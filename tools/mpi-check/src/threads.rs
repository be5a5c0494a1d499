//! Several threads in MPI at once, where MPI has given no more than `MPI_THREAD_SERIALIZED`.
//!
//! That a thread is in a call is certain only when the call has returned: a thread may leave one by a jump, or by an
//! exception. So each thread that comes to MPI notes that it has met those that may be inside, and who has been met says so
//! when it returns. A thread's call that calls the program, which calls MPI, is forgotten.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use mpi_tool_layer::{FunctionId, Site};

use crate::findings::{Class, Other, report};
use crate::order;

/// A thread in a call.
struct Inside {
    thread: usize,
    function: FunctionId,
    site: Site,
    /// The call that another thread has begun meanwhile.
    met: Option<(FunctionId, Site)>,
}

static INSIDE: Mutex<Vec<Inside>> = Mutex::new(Vec::new());

/// One thread at a time may call MPI.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// How many threads are known that are inside, or have left by a jump.
const MOST: usize = 256;

/// From now on, one thread at a time may call MPI. Where MPI has threads of its own that go on with communication, it may call
/// the program's functions there.
pub(crate) fn begin() {
    let progresses = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        name.to_string_lossy().contains("ASYNC_PROGRESS")
            && !["0", "no", "off", "false"].iter().any(|off| value.eq_ignore_ascii_case(off))
    };
    IS_ON.store(!std::env::vars_os().any(progresses), Relaxed);
}

/// Nobody knows any more how many threads may call MPI.
pub(crate) fn end() {
    IS_ON.store(false, Relaxed);
}

/// A thread comes to a call.
#[cold]
pub(crate) fn entered(thread: usize, function: FunctionId, site: Site) {
    if !IS_ON.load(Relaxed) {
        return;
    }
    let mut all = INSIDE.lock().unwrap_or_else(PoisonError::into_inner);
    all.retain(|one| one.thread != thread);
    for one in all.iter_mut().filter(|one| one.met.is_none()) {
        one.met = Some((function, site));
    }
    if all.len() < MOST {
        all.push(Inside { thread, function, site, met: None });
    }
}

/// A thread returns from a call.
#[inline(always)]
pub(crate) fn left(function: FunctionId) {
    if IS_ON.load(Relaxed) {
        leave(function);
    }
}

#[cold]
fn leave(function: FunctionId) {
    // It has not come, and must not be taken for a call that was left by a jump.
    if order::is_for_any_thread(function) {
        return;
    }
    // SAFETY: `pthread_self` asks for nothing, and returns the calling thread's number.
    let thread = unsafe { libc::pthread_self() } as usize;
    let inside = {
        let mut all = INSIDE.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all.iter().position(|one| one.thread == thread);
        at.map(|at| all.swap_remove(at))
    };
    if let Some(Inside { function, site, met: Some((other, other_site)), .. }) = inside {
        let message = format!(
            "{other} is called while another thread is in {function}, and MPI has given no more than MPI_THREAD_SERIALIZED"
        );
        let first = Some(Other::new("the other thread at", site));
        report(Class::CallOrder, other, other_site, "two threads", &message, first);
    }
}
