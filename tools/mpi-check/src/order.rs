//! Whether a call comes at a time at which the standard allows it.

use core::sync::atomic::{
    AtomicI32, AtomicU8, AtomicUsize,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use mpi_tool_layer::{FunctionClass, FunctionId, Site};

use crate::findings::{Class, report};
use crate::{functions, threads};

const BEFORE: u8 = 0;
const RUNNING: u8 = 1;
const AFTER: u8 = 2;

static WORLD: AtomicU8 = AtomicU8::new(BEFORE);
static SESSIONS: AtomicI32 = AtomicI32::new(0);

/// The thread that may call MPI, if only one may; 0 if all may, or if nobody knows.
static ONLY_THREAD: AtomicUsize = AtomicUsize::new(0);

/// No thread: any may call MPI, but one at a time.
const ANY_THREAD: usize = 1;

/// The world gives no more than `MPI_THREAD_FUNNELED`: only the thread that has started it, which this is, may call MPI from
/// now on (MPI-4.0, 11.6).
pub(crate) fn only_this_thread() {
    if SESSIONS.load(Acquire) == 0 {
        ONLY_THREAD.store(this_thread(), Relaxed);
    }
}

/// The world gives `MPI_THREAD_SERIALIZED`.
pub(crate) fn one_thread_at_a_time() {
    if SESSIONS.load(Acquire) == 0 {
        ONLY_THREAD.store(ANY_THREAD, Relaxed);
        threads::begin();
    }
}

#[inline]
fn this_thread() -> usize {
    // SAFETY: `pthread_self` asks for nothing, and returns the calling thread's number.
    unsafe { libc::pthread_self() as usize }
}

/// The thread that has started the world.
static MAIN_THREAD: AtomicUsize = AtomicUsize::new(0);

/// Is this another thread than the one that has started the world, which is to end it (MPI-4.0, 11.4.2)?
fn is_called_elsewhere() -> bool {
    WORLD.load(Acquire) == RUNNING && MAIN_THREAD.load(Relaxed) != this_thread()
}

/// May any thread call the function at any time, whatever level MPI has given?
pub(crate) fn is_for_any_thread(function: FunctionId) -> bool {
    use FunctionId::{MPI_Is_thread_main, MPI_Query_thread};
    functions::facts(function).is_free || matches!(function, MPI_Is_thread_main | MPI_Query_thread)
}

/// Looks at a call by another thread than the one that may call MPI, or by any if only one at a time may.
#[cold]
fn by_another_thread(function: FunctionId, site: Site) {
    if is_for_any_thread(function) {
        return;
    }
    if ONLY_THREAD.load(Relaxed) == ANY_THREAD {
        threads::entered(this_thread(), function, site);
        return;
    }
    let message = format!(
        "{function} is called by another thread than the one that has started MPI, which has given no more than MPI_THREAD_FUNNELED"
    );
    report(Class::CallOrder, function, site, "thread", &message, None);
}

/// Does MPI run?
pub(crate) fn is_running() -> bool {
    WORLD.load(Acquire) == RUNNING || SESSIONS.load(Acquire) > 0
}

/// Is the world between `MPI_Init` and `MPI_Finalize`?
pub(crate) fn is_world_there() -> bool {
    WORLD.load(Acquire) == RUNNING
}

/// Has the world been there, and is it over?
pub(crate) fn is_world_over() -> bool {
    WORLD.load(Acquire) == AFTER
}

/// Are there sessions, which do not end with the world?
pub(crate) fn has_sessions() -> bool {
    SESSIONS.load(Acquire) > 0
}

/// May the function be called at any time?
pub(crate) fn is_free(function: FunctionId) -> bool {
    use FunctionId::{
        MPI_Abort, MPI_Error_class, MPI_Error_string, MPI_Finalized, MPI_Get_library_version,
        MPI_Get_version, MPI_Init, MPI_Init_thread, MPI_Initialized, MPI_Pcontrol,
        MPI_Session_create_errhandler, MPI_Session_init,
    };
    let name = function.name();
    matches!(
        function.class(),
        FunctionClass::Info
            | FunctionClass::ToolInterface
            | FunctionClass::Conversion
            | FunctionClass::ErrorHandling
    ) || matches!(
        function,
        MPI_Abort
            | MPI_Error_class
            | MPI_Error_string
            | MPI_Finalized
            | MPI_Get_library_version
            | MPI_Get_version
            | MPI_Init
            | MPI_Init_thread
            | MPI_Initialized
            | MPI_Pcontrol
            | MPI_Session_create_errhandler
            | MPI_Session_init
    ) || name.starts_with("MPI_Abi_")
        || name.starts_with("MPI_Session_")
        || name.starts_with("MPI_Status_")
        || name.contains("_buffer")
        || name.contains("_Wti")
}

/// Looks at a call that is about to be passed on: `false` if MPI does not run.
pub(crate) fn check(function: FunctionId, site: Site) -> bool {
    use FunctionId::{MPI_Finalize, MPI_Init, MPI_Init_thread};
    let world = WORLD.load(Acquire);
    let message = match function {
        MPI_Init | MPI_Init_thread if world == RUNNING => {
            format!("{function} is called a second time")
        }
        MPI_Init | MPI_Init_thread if world == AFTER => {
            format!("{function} is called after MPI_Finalize")
        }
        MPI_Finalize if world == AFTER => "MPI_Finalize is called a second time".into(),
        MPI_Finalize if world == BEFORE => "MPI_Finalize is called before MPI_Init".into(),
        MPI_Finalize if is_called_elsewhere() => {
            let message =
                "MPI_Finalize is called by another thread than the one that has started MPI";
            report(Class::CallOrder, function, site, "thread", message, None);
            return true;
        }
        _ if is_running() => {
            let only = ONLY_THREAD.load(Relaxed);
            if only != 0 && only != this_thread() {
                by_another_thread(function, site);
            }
            return true;
        }
        _ if functions::facts(function).is_free => return false,
        _ if world == BEFORE => format!("{function} is called before MPI_Init"),
        _ => format!("{function} is called after MPI_Finalize"),
    };
    report(Class::CallOrder, function, site, "order", &message, None);
    false
}

/// A call of a function that starts or ends MPI was accepted.
pub(crate) fn accepted(function: FunctionId) {
    use FunctionId::{
        MPI_Finalize, MPI_Init, MPI_Init_thread, MPI_Session_finalize, MPI_Session_init,
    };
    match function {
        MPI_Init | MPI_Init_thread => {
            MAIN_THREAD.store(this_thread(), Relaxed);
            WORLD.store(RUNNING, Release);
        }
        MPI_Finalize => WORLD.store(AFTER, Release),
        MPI_Session_init => {
            SESSIONS.fetch_add(1, AcqRel);
            // Sessions have a level of their own.
            ONLY_THREAD.store(0, Relaxed);
            threads::end();
        }
        MPI_Session_finalize => {
            SESSIONS.fetch_sub(1, AcqRel);
        }
        _ => {}
    }
}
