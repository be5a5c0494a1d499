//! Signals that end a process: a batch system's, a user's, a crash's.
//!
//! Those that the application has taken are left to it. MPI takes some, too: Open MPI and UCX print where a fault was, and
//! then end the process as the signal would. There the tools write first, and what was there before does its part behind them
//! as if nothing had been in front of it: with the registers of the fault, and on the stack of the fault.

use core::ffi::{c_int, c_void};
use core::mem::zeroed;
use core::ptr;
use core::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};

use libc::{SIG_DFL, SIG_IGN, sigaction};

use crate::host::ends::{AT_ONCE, QUICKLY, tell_all};
use crate::host::neighbours::ToolInfo;
use crate::host::objects::{each_object, path_of};

const ENDING: [(c_int, &str); 12] = [
    (libc::SIGTERM, "SIGTERM"),
    (libc::SIGINT, "SIGINT"),
    (libc::SIGHUP, "SIGHUP"),
    (libc::SIGQUIT, "SIGQUIT"),
    (libc::SIGXCPU, "SIGXCPU"),
    (libc::SIGUSR1, "SIGUSR1"),
    (libc::SIGUSR2, "SIGUSR2"),
    (libc::SIGABRT, "SIGABRT"),
    (libc::SIGSEGV, "SIGSEGV"),
    (libc::SIGBUS, "SIGBUS"),
    (libc::SIGFPE, "SIGFPE"),
    (libc::SIGILL, "SIGILL"),
];

/// Those of [`ENDING`] that come of a fault. MPI takes them to say where it was.
const FIRST_FAULT: usize = 7;

/// What reports say of an end: of a signal, or of what stands in one's place.
pub(crate) fn name(signal: c_int) -> &'static str {
    match signal {
        AT_ONCE => "the process ended by _exit",
        QUICKLY => "the process ended by quick_exit",
        _ => {
            ENDING.iter().find(|(number, _)| *number == signal).map_or("a signal", |(_, name)| name)
        }
    }
}

unsafe extern "C" {
    /// The C library's `sigaction`: UCX has a function of that name, which does nothing for faults.
    fn __sigaction(signal: c_int, new: *const sigaction, old: *mut sigaction) -> c_int;
}

/// What a signal does at present; `None` for one that there is not.
fn action(signal: c_int) -> Option<sigaction> {
    // SAFETY: `sigaction` is plain data, for which zeros are a value; the function writes one, a local.
    unsafe {
        let mut action: sigaction = zeroed();
        (__sigaction(signal, ptr::null(), &mut action) == 0).then_some(action)
    }
}

/// The handlers of faults before MPI was started.
static BEFORE_MPI: [AtomicUsize; ENDING.len()] =
    [const { AtomicUsize::new(SIG_DFL) }; ENDING.len()];
static IS_NOTED: AtomicBool = AtomicBool::new(false);

/// Before MPI starts: notes which signals the application has taken.
pub(crate) fn before_mpi() {
    for (place, (signal, _)) in BEFORE_MPI.iter().zip(ENDING).skip(FIRST_FAULT) {
        place.store(action(signal).map_or(SIG_DFL, |action| action.sa_sigaction), Relaxed);
    }
    IS_NOTED.store(true, Release);
}

/// Has MPI, or a library below it, taken this one of [`ENDING`]?
fn is_mpis(index: usize, handler: usize) -> bool {
    if index < FIRST_FAULT || handler == SIG_IGN || is_a_tools(handler) {
        return false;
    }
    // UCX does so when it is loaded, which may be before the application runs.
    let is_in_ucx = || {
        let path = path_of(handler).unwrap_or_default();
        path.to_bytes()
            .rsplit(|byte| *byte == b'/')
            .next()
            .is_some_and(|it| it.starts_with(b"libucs"))
    };
    let has_changed = || IS_NOTED.load(Acquire) && BEFORE_MPI[index].load(Relaxed) != handler;
    has_changed() || is_in_ucx()
}

/// Is this the handler below, in this tool or another one?
fn is_a_tools(handler: usize) -> bool {
    let mut is_a_tools = false;
    each_object(|object| {
        is_a_tools |= object.addresses().contains(&handler) && object.exports(ToolInfo::SYMBOL);
    });
    is_a_tools
}

/// What each signal did before this tool took it; null if that was the default.
static BEFORE: [AtomicPtr<sigaction>; ENDING.len()] =
    [const { AtomicPtr::new(ptr::null_mut()) }; ENDING.len()];

/// Has the tools that [`ends::watch`](super::ends::watch) knows write what they have before a signal ends the process. One tool
/// does it for all, since the next one finds its handler. To be called when MPI has started, by the thread that has started it.
pub(crate) fn watch() {
    let mut may_overflow = false;
    for (index, (signal, _)) in ENDING.into_iter().enumerate() {
        let Some(before) = action(signal) else { continue };
        // SAFETY: zeros are a value of `sigaction`.
        let mut ours: sigaction = unsafe { zeroed() };
        if is_mpis(index, before.sa_sigaction) && before.sa_sigaction != SIG_DFL {
            ours.sa_mask = before.sa_mask;
            BEFORE[index].store(Box::into_raw(Box::new(before)), Release);
        } else if before.sa_sigaction != SIG_DFL {
            continue;
        }
        may_overflow |= signal == libc::SIGSEGV;
        ours.sa_sigaction = ending as *const () as usize;
        ours.sa_flags = libc::SA_SIGINFO | libc::SA_RESETHAND | libc::SA_ONSTACK;
        // SAFETY: a handler must do only what is safe while any code is interrupted: this one reads atomics, takes no lock
        // but one that is free, allocates nothing, and writes to file descriptors. The pointers are to a local and null.
        unsafe { __sigaction(signal, &ours, ptr::null_mut()) };
    }
    if may_overflow {
        make_room_for_overflow();
    }
}

/// Gives this thread a stack for signal handlers, if it has none: where its own is full, nothing can be written else.
fn make_room_for_overflow() {
    /// What a report takes, and a processor with large registers, several times.
    const SIZE: usize = 256 << 10;
    // SAFETY: `stack_t` is plain data, for which zeros are a value, and `sigaltstack` writes one, a local. It gets a stack
    // that nobody else has: memory that `mmap` has chosen, which stays.
    unsafe {
        let mut stack: libc::stack_t = zeroed();
        if libc::sigaltstack(ptr::null(), &mut stack) != 0 || stack.ss_flags & libc::SS_DISABLE == 0
        {
            return;
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK;
        let memory = libc::mmap(ptr::null_mut(), SIZE, protection, flags, -1, 0);
        if memory != libc::MAP_FAILED {
            let ours = libc::stack_t { ss_sp: memory, ss_flags: 0, ss_size: SIZE };
            libc::sigaltstack(&ours, ptr::null_mut());
        }
    }
}

/// The handler: writes what there is, and has the signal do what it does without the tools.
///
/// # Safety
/// The kernel calls this, as `SA_SIGINFO` has it: `info` points to what it says of the signal.
unsafe extern "C" fn ending(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    tell_all(signal);
    // The default action is back in place (SA_RESETHAND).
    let index = ENDING.iter().position(|(number, _)| *number == signal);
    let before = index.map_or(ptr::null_mut(), |index| BEFORE[index].load(Acquire));
    if !before.is_null() {
        // SAFETY: what is stored there is a `sigaction` that stays, and that nobody writes.
        unsafe { __sigaction(signal, before, ptr::null_mut()) };
    }
    // A fault comes again by itself when this returns, with the registers of where it happened. What was sent is sent again,
    // and comes then, too, since the signal is blocked until this returns.
    // SAFETY: with `SA_SIGINFO`, which `watch` asks for, the kernel passes a pointer to a `siginfo_t` that is
    // there until the handler returns. The system call reads it, and takes numbers; `raise` may be called in a signal handler
    // and takes the number of a signal that came.
    unsafe {
        if (*info).si_code <= 0 || signal == libc::SIGABRT {
            let (process, thread) = (libc::getpid(), libc::syscall(libc::SYS_gettid));
            // Says again who sent it. The kernel allows that to a process's first thread.
            if libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, signal, info) != 0 {
                libc::raise(signal);
            }
        }
    }
}
