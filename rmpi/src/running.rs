//! Which contexts and sessions there are in this process, in either mode of the library: who may call
//! MPI without borrowing one of them.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};
use std::thread::ThreadId;

use crate::{Multiple, Serialized, ThreadLevel};

/// What [`RUNNING`] has, for questions in passing.
static STATE: AtomicUsize = AtomicUsize::new(NEVER);
/// Who may call MPI without borrowing anything: a number of a thread, or one of these.
static THREAD: AtomicUsize = AtomicUsize::new(ANY);
/// Who does at the moment.
static CALLING: AtomicUsize = AtomicUsize::new(0);

/// The last context or session ended.
static OVER: AtomicBool = AtomicBool::new(false);

/// Nobody began with rmpi: a tool, or a library of a program in C.
const NEVER: usize = 0;
const RUNNING_NOW: usize = 1;
const ENDED: usize = 2;

/// All threads may call MPI.
const ANY: usize = 0;

/// A number of this thread.
fn this_thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| core::ptr::from_ref(here).addr())
}

/// The classes of errors that this program added to MPI's.
pub(crate) static ADDED_CLASSES: Mutex<Vec<mpi_sys::c_int>> = Mutex::new(Vec::new());

/// The thread that called `MPI_Init` or `MPI_Init_thread`, and has to call `MPI_Finalize` (MPI-5.0, 11.6).
static INITIALIZER: Mutex<Option<ThreadId>> = Mutex::new(None);

/// This thread initializes MPI.
pub(crate) fn initializes_here() {
    *INITIALIZER.lock().unwrap_or_else(PoisonError::into_inner) = Some(std::thread::current().id());
}

/// Is this the thread that initialized MPI? Also if nobody here knows.
pub(crate) fn initialized_here() -> bool {
    let initializer = *INITIALIZER.lock().unwrap_or_else(PoisonError::into_inner);
    initializer.is_none_or(|thread| thread == std::thread::current().id())
}

struct Running {
    count: usize,
    /// Their thread, unless all are of level [`Multiple`].
    thread: Option<ThreadId>,
    /// There is one that may move to another thread, and that goes with no second one.
    moves: bool,
    /// What frees the datatypes of Rust types, of each mode that made some.
    free: Vec<fn()>,
}

static RUNNING: Mutex<Running> =
    Mutex::new(Running { count: 0, thread: None, moves: false, free: Vec::new() });

fn running() -> std::sync::MutexGuard<'static, Running> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A context or session is about to be made. Refused, with the reason, if MPI could be called by two
/// threads at once then that were not announced to it: a session knows of its own level only.
pub(crate) fn enter<L: ThreadLevel>() -> Result<(), &'static str> {
    let mut running = running();
    let moves = L::RAW == Serialized::RAW;
    let thread = (L::RAW != Multiple::RAW).then(|| std::thread::current().id());
    if running.count > 0 && (moves || running.moves || running.thread != thread) {
        return Err("MPI runs on another thread, or with a level that does not go with this one");
    }
    running.count += 1;
    (running.thread, running.moves) = (thread, moves);
    THREAD.store(if thread.is_some() { this_thread() } else { ANY }, SeqCst);
    STATE.store(RUNNING_NOW, SeqCst);
    Ok(())
}

/// A session that somebody else made is rmpi's now; its level is its adopter's affair.
pub(crate) fn adopt() {
    running().count += 1;
    STATE.store(RUNNING_NOW, SeqCst);
}

/// A context or session is about to end. With the last one, nobody calls MPI any more that borrows
/// nothing, and the datatypes of Rust types are freed.
pub(crate) fn leave() {
    let mut running = running();
    running.count = running.count.saturating_sub(1);
    if running.count > 0 {
        return;
    }
    STATE.store(ENDED, SeqCst);
    while CALLING.load(SeqCst) > 0 {
        std::thread::yield_now();
    }
    for free in running.free.drain(..) {
        free();
    }
}

/// As [`leave`], of one that MPI had begun.
pub(crate) fn end() {
    leave();
    OVER.store(running().count == 0, SeqCst);
}

/// Did all contexts and sessions end that there were?
pub(crate) fn is_over() -> bool {
    OVER.load(SeqCst) && running().count == 0
}

/// A mode has made datatypes of Rust types, which `free` frees.
pub(crate) fn free_at_the_end(free: fn()) {
    running().free.push(free);
}

/// A thread that may call MPI until this is dropped, though it borrows nothing.
pub(crate) struct Calling(());

impl Drop for Calling {
    fn drop(&mut self) {
        CALLING.fetch_sub(1, SeqCst);
    }
}

/// May this thread ask MPI something now, without borrowing context or session? `outside` says if MPI
/// runs where it is not rmpi that began it.
///
/// At level [`Serialized`] only the thread that began may: where the context is, nobody knows.
pub(crate) fn calling(outside: impl FnOnce() -> bool) -> Option<Calling> {
    CALLING.fetch_add(1, SeqCst);
    let calling = Calling(());
    let may = match STATE.load(SeqCst) {
        NEVER => outside(),
        ENDED => false,
        _ => {
            let thread = THREAD.load(SeqCst);
            thread == ANY || thread == this_thread()
        }
    };
    may.then_some(calling)
}

/// Was the level such that a context may be on another thread than any that asks?
pub(crate) fn may_have_moved() -> bool {
    running().moves
}
