//! Stops a thread of another process for a moment, by `ptrace`, without a signal that the process could see.
//!
//! `PTRACE_SEIZE` sends nothing, and the kernel lets a thread that was seized go on when the thread that has seized it
//! ends, in whichever way. The functions of the crate `nix` know no real-time signals, and would lose one that comes at that moment.

use std::io;
use std::ptr::null_mut;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use super::processor::{let_call_go_on, registers_of};
use super::refused::status;

/// The registers that say where a thread is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Registers {
    pub(super) instruction: u64,
    pub(super) stack: u64,
    /// Not known of a thread that was not stopped.
    pub(super) frame: Option<u64>,
}

/// Why a thread was not stopped.
#[derive(Debug)]
pub(super) enum Failure {
    /// It is not there any more.
    Gone,
    /// It is in something that must not be interrupted.
    Busy,
    /// A signal has come to it just then, and it was let go to handle that.
    Signal,
    /// It did not stop in time, as it is in the kernel or gets no processor.
    Late,
    Refused(io::Error),
}

/// For how long a thread is waited for.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it is asked for: this adds to the time for which it is stopped.
const INTERVAL: Duration = Duration::from_micros(20);

/// Whether a thread may be stopped, asked when it is seized.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum May {
    Stop,
    /// It is in a system call that must not be disturbed.
    Not,
    /// It is not the thread that was meant.
    Gone,
}

/// Stops a thread, if it still may be, and lets it go on when `look` has seen its registers. Also says for how long it was stopped at most: from the
/// last moment at which it is known to run, until it goes on.
pub(super) fn stopped<T: Send>(
    thread: u32,
    may_stop: impl Fn() -> May + Send + Sync,
    look: impl Fn(Registers) -> T + Send + Sync,
) -> Result<(T, Duration), Failure> {
    // What was seized is let go when the thread ends that has done so, also if it does not stop.
    let once = || {
        thread::scope(|scope| {
            let own = scope.spawn(|| by_this_thread(thread, &may_stop, &look));
            own.join().unwrap_or(Err(Failure::Late))
        })
    };
    let result = match once() {
        Err(Failure::Signal) => once(),
        result => result,
    };
    if result.is_err() {
        wait_until_free(thread);
    }
    result
}

/// The kernel lets a thread go a moment after the one that has seized it can be joined: until then, this program would be taken for a debugger.
/// The number in `TracerPid` is that of a thread that has ended, so it is not compared.
fn wait_until_free(thread: u32) {
    for _ in 0..50 {
        if status(&thread.to_string(), "TracerPid:").is_none_or(|tracer| tracer == "0") {
            return;
        }
        sleep(Duration::from_millis(1));
    }
}

fn by_this_thread<T>(
    thread: u32,
    may_stop: impl Fn() -> May,
    look: impl Fn(Registers) -> T,
) -> Result<(T, Duration), Failure> {
    let thread = libc::pid_t::try_from(thread).map_err(|_| Failure::Gone)?;
    request(libc::PTRACE_SEIZE, thread, 0)?;
    match may_stop() {
        May::Stop => {}
        May::Not => return Err(Failure::Busy),
        May::Gone => return Err(Failure::Gone),
    }
    let begin = Instant::now();
    request(libc::PTRACE_INTERRUPT, thread, 0)?;
    let (signal, begin) = signal_of_stop(thread, begin)?;
    if signal != 0 {
        // The signal is the thread's own, and would be lost if this program ended before it was handed on: nothing comes before that, unless
        // nobody would notice the loss.
        let is_ignored = |signals: Signals| signals.are_ignored(signals.coming() | bit(signal));
        if Signals::of(thread).is_some_and(is_ignored) {
            let_call_go_on(thread);
        }
        request(libc::PTRACE_DETACH, thread, signal)?;
        return Err(Failure::Signal);
    }
    let seen = registers_of(thread).map(look);
    // As late as can be: a signal may have come meanwhile, and has then ended the call itself.
    if Signals::of(thread).is_some_and(|signals| signals.are_ignored(signals.coming())) {
        let_call_go_on(thread);
    }
    let freed = request(libc::PTRACE_DETACH, thread, 0);
    let stopped = begin.elapsed();
    // If it has ended meanwhile, what was seen is as good.
    if let Err(Failure::Refused(error)) = freed {
        return Err(Failure::Refused(error));
    }
    Ok((seen?, stopped))
}

/// Signals of a thread, a bit for each.
#[derive(Debug, Clone, Copy)]
struct Signals {
    pending: u64,
    blocked: u64,
    ignored: u64,
    handled: u64,
}

impl Signals {
    fn of(thread: libc::pid_t) -> Option<Self> {
        let signals = |name| {
            let value = status(&thread.to_string(), name)?;
            u64::from_str_radix(&value, 16).ok()
        };
        Some(Self {
            pending: signals("SigPnd:")? | signals("ShdPnd:")?,
            blocked: signals("SigBlk:")?,
            ignored: signals("SigIgn:")?,
            handled: signals("SigCgt:")?,
        })
    }

    /// What is on its way to the thread.
    fn coming(&self) -> u64 {
        self.pending & !self.blocked
    }

    /// Does nothing come of some signals? They would not have ended a call if nobody had looked.
    fn are_ignored(&self, some: u64) -> bool {
        let by_default = [libc::SIGCHLD, libc::SIGCONT, libc::SIGURG, libc::SIGWINCH]
            .into_iter()
            .fold(0, |all, signal| all | bit(signal.into()));
        some & !(self.ignored | (by_default & !self.handled)) == 0
    }
}

/// Of a signal among others.
fn bit(signal: libc::c_long) -> u64 {
    u32::try_from(signal - 1).ok().and_then(|at| 1_u64.checked_shl(at)).unwrap_or(0)
}

/// Waits until a thread has stopped. Gives the signal that is on its way to it, or 0, and a moment at which it had not stopped yet.
fn signal_of_stop(thread: libc::pid_t, begin: Instant) -> Result<(libc::c_long, Instant), Failure> {
    let mut before = begin;
    loop {
        let mut status = 0;
        let now = Instant::now();
        // SAFETY: the kernel writes a status to a variable of ours.
        match unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL | libc::WNOHANG) } {
            0 if begin.elapsed() > PATIENCE => return Err(Failure::Late),
            0 => {
                before = now;
                sleep(INTERVAL);
            }
            -1 => return Err(failure()),
            _ if !libc::WIFSTOPPED(status) => return Err(Failure::Gone),
            // A stop by itself, or of a process that a signal had stopped before: nothing is to be delivered.
            _ if status >> 16 != 0 => return Ok((0, before)),
            _ => return Ok((libc::WSTOPSIG(status).into(), before)),
        }
    }
}

/// A request without a result.
fn request(what: libc::c_uint, thread: libc::pid_t, data: libc::c_long) -> Result<(), Failure> {
    // SAFETY: these requests take numbers, and touch no memory of this process.
    let result = unsafe { libc::ptrace(what, thread, null_mut::<u8>(), data) };
    if result == 0 { Ok(()) } else { Err(failure()) }
}

pub(super) fn failure() -> Failure {
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ESRCH | libc::ECHILD) => Failure::Gone,
        _ => Failure::Refused(error),
    }
}

#[cfg(test)]
mod tests {
    use super::{Signals, bit};

    /// signal(7): 17 is SIGCHLD, 10 is SIGUSR1.
    #[test]
    fn signals_of_which_nothing_comes_are_known() {
        let none = Signals { pending: 0, blocked: 0, ignored: 0, handled: 0 };
        assert!(none.are_ignored(0) && none.are_ignored(1 << 16));
        assert!(!none.are_ignored(1 << 9) && !none.are_ignored(1 << 16 | 1 << 9));
        assert!(Signals { ignored: 1 << 9, ..none }.are_ignored(1 << 9));
        assert!(!Signals { handled: 1 << 16, ..none }.are_ignored(1 << 16));
        let blocked = Signals { pending: 0b11, blocked: 0b01, ..none };
        assert_eq!(blocked.coming(), 0b10);
        assert_eq!([bit(1), bit(17), bit(64)], [1, 1 << 16, 1 << 63]);
    }
}
