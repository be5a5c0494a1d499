//! Signals that end a process: a batch system's, a user's, a crash's.

use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::{
    AtomicPtr,
    Ordering::{Acquire, Release},
};

use crate::host::neighbours::ToolInfo;

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

pub(crate) fn name(signal: c_int) -> &'static str {
    ENDING.iter().find(|(number, _)| *number == signal).map_or("a signal", |(_, name)| name)
}

/// The first tool that this one can speak for, since a signal handler must not look it up.
static FIRST: AtomicPtr<ToolInfo> = AtomicPtr::new(ptr::null_mut());

/// Has the process's tools write what they have before a signal ends the process. Only signals
/// that the application and its libraries left alone: theirs stay as they are. One tool does
/// it for all, since the next one finds its handler.
pub(crate) fn watch(own: &'static ToolInfo) {
    FIRST.store(own.first().cast_mut(), Release);
    for (signal, _) in ENDING {
        // SAFETY: `sigaction` is plain data, for which zeros are a value, and the pointers are to locals or
        // null. A handler must do only what is safe while any code is interrupted: this one reads atomics,
        // takes no lock but one that is free, allocates nothing, and writes to file descriptors.
        unsafe {
            let mut before: libc::sigaction = core::mem::zeroed();
            if libc::sigaction(signal, ptr::null(), &mut before) != 0
                || before.sa_sigaction != libc::SIG_DFL
            {
                continue;
            }
            let mut ours: libc::sigaction = core::mem::zeroed();
            ours.sa_sigaction = ending as *const () as usize;
            ours.sa_flags =
                libc::SA_SIGINFO | libc::SA_RESETHAND | libc::SA_NODEFER | libc::SA_ONSTACK;
            libc::sigaction(signal, &ours, ptr::null_mut());
        }
    }
}

/// The handler: writes what there is, and has the signal do what it does without the tools.
///
/// # Safety
/// The kernel calls this, as `SA_SIGINFO` has it: `info` points to what it says of the signal.
unsafe extern "C" fn ending(signal: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    // SAFETY: `from` wants null or a tool's information: `watch` has stored such a pointer before it set
    // this handler. Each has had itself never unloaded (`stay`).
    for tool in unsafe { ToolInfo::from(FIRST.load(Acquire)) } {
        tool.signalled(signal);
    }
    // The default action is back in place (SA_RESETHAND). A fault comes again by itself, with
    // the registers of where it happened; what was sent is sent again.
    // SAFETY: with `SA_SIGINFO`, which `watch` asks for, the kernel passes a pointer to a `siginfo_t` that is
    // there until the handler returns.
    if unsafe { (*info).si_code } <= 0 || signal == libc::SIGABRT {
        // SAFETY: `raise` may be called in a signal handler; it takes a number, and this is that of a signal
        // that came.
        unsafe { libc::raise(signal) };
    }
}
