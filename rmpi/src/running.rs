//! Which contexts and sessions there are in this process, in either mode of the library: who may call
//! MPI without borrowing one of them.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering::SeqCst};
use std::ffi::CString;
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
/// Somebody began to initialize MPI by `MPI_Init` or `MPI_Init_thread`, which is allowed once in a process.
static STARTED: AtomicBool = AtomicBool::new(false);
/// There is, or was, a context of an MPI that somebody else runs, nobody knows for how long.
static ASSUMED: AtomicBool = AtomicBool::new(false);

/// Nobody that is left began with rmpi: a tool, or a library of a program in C.
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

/// The classes of errors that this program added to MPI's, until MPI ends.
pub(crate) static ADDED_CLASSES: Mutex<Vec<mpi_sys::c_int>> = Mutex::new(Vec::new());

/// The ports that this program opened and has not closed.
pub(crate) static OPEN_PORTS: Mutex<Vec<CString>> = Mutex::new(Vec::new());

/// Who has the parent, of which MPI gives the same handle each time: one of these.
pub(crate) static PARENT: AtomicU8 = AtomicU8::new(PARENT_FREE);
pub(crate) const PARENT_FREE: u8 = 0;
pub(crate) const PARENT_TAKEN: u8 = 1;
/// It was disconnected.
pub(crate) const PARENT_GONE: u8 = 2;

/// Is this the first one here that initializes MPI? The next ones are not.
pub(crate) fn starts() -> bool {
    !STARTED.swap(true, SeqCst)
}

/// There is a context of an MPI that somebody else runs.
#[inline]
pub(crate) fn assume() {
    if !ASSUMED.load(SeqCst) {
        ASSUMED.store(true, SeqCst);
    }
}

/// Does, or did, somebody else run MPI, who does not tell when it ends?
pub(crate) fn is_assumed() -> bool {
    ASSUMED.load(SeqCst)
}

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
    running.begin::<L>();
    Ok(())
}

impl Running {
    fn begin<L: ThreadLevel>(&mut self) {
        let one_thread = L::RAW != Multiple::RAW;
        self.count += 1;
        self.thread = one_thread.then(|| std::thread::current().id());
        self.moves = L::RAW == Serialized::RAW;
        THREAD.store(if one_thread { this_thread() } else { ANY }, SeqCst);
        STATE.store(RUNNING_NOW, SeqCst);
    }
}

/// A session that somebody else made is rmpi's now. Whether its level goes with what there is already, is its
/// adopter's affair; what comes after it has to go with it.
pub(crate) fn adopt<L: ThreadLevel>() {
    let mut running = running();
    if running.count == 0 {
        running.begin::<L>();
    } else {
        running.count += 1;
    }
}

/// A context or session is about to end. With the last one, nobody calls MPI any more that borrows
/// nothing, and the datatypes of Rust types are freed: unless somebody else runs MPI, too, who may have some.
pub(crate) fn leave() {
    let mut running = running();
    running.count = running.count.saturating_sub(1);
    if running.count > 0 {
        return;
    }
    let assumed = ASSUMED.load(SeqCst);
    STATE.store(if assumed { NEVER } else { ENDED }, SeqCst);
    while CALLING.load(SeqCst) > 0 {
        std::thread::yield_now();
    }
    if assumed {
        return;
    }
    for free in running.free.drain(..) {
        free();
    }
    ADDED_CLASSES.lock().unwrap_or_else(PoisonError::into_inner).clear();
    OPEN_PORTS.lock().unwrap_or_else(PoisonError::into_inner).clear();
}

/// As [`leave`], of one that MPI had begun.
pub(crate) fn end() {
    leave();
    OVER.store(running().count == 0, SeqCst);
}

/// As [`end`], of the world: who else ran it, has ended with it.
pub(crate) fn end_of_the_world() {
    ASSUMED.store(false, SeqCst);
    end();
}

/// Did all contexts and sessions end that there were?
pub(crate) fn is_over() -> bool {
    // Where somebody else runs MPI, it goes on.
    !ASSUMED.load(SeqCst) && OVER.load(SeqCst) && running().count == 0
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
