//! Stops a thread of another process for a moment, by `ptrace`, without a signal that the process could see.
//!
//! `PTRACE_SEIZE` sends nothing, and the kernel lets a thread that was seized go on when the thread that has seized it
//! ends, in whichever way. The functions of the crate `nix` know no real-time signals, and would lose one that comes at that moment.

use std::io;
use std::mem::MaybeUninit;
use std::ptr::null_mut;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use super::refused::status;

/// The registers that say where a thread is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Registers {
    pub(super) instruction: u64,
    pub(super) stack: u64,
    /// Not known of a thread that was not stopped.
    pub(super) frame: Option<u64>,
}

/// May a thread that sleeps in a system call, by its number, be stopped? Only where a stop changes nothing: the kernel goes on with the call, and
/// nothing of it was done that could be told in part.
pub(super) fn is_untouched_by_stop(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_futex
            | libc::SYS_futex_waitv
            | libc::SYS_nanosleep
            | libc::SYS_clock_nanosleep
            | libc::SYS_poll
            | libc::SYS_ppoll
            | libc::SYS_select
            | libc::SYS_pselect6
            | libc::SYS_wait4
            | libc::SYS_waitid
            | libc::SYS_pause
            | libc::SYS_rt_sigsuspend
            | libc::SYS_restart_syscall
    )
}

/// Does a stop end a system call with `EINTR`, though no handler of a signal has run, and may the call then be made again? signal(7) has the list. After
/// `EINTR`, these have done nothing. `close` is not in the list, since it may have closed the file; nor are `connect` and `io_uring_enter`.
fn may_be_repeated(number: i64) -> bool {
    /// `libc` does not name it.
    const IO_PGETEVENTS: i64 = 333;
    matches!(
        number,
        // Those of sockets end so if a limit of time is set for the socket.
        libc::SYS_read
            | libc::SYS_write
            | libc::SYS_readv
            | libc::SYS_writev
            | libc::SYS_sendfile
            | libc::SYS_splice
            | libc::SYS_accept
            | libc::SYS_accept4
            | libc::SYS_sendto
            | libc::SYS_recvfrom
            | libc::SYS_sendmsg
            | libc::SYS_recvmsg
            | libc::SYS_sendmmsg
            | libc::SYS_recvmmsg
            | libc::SYS_semop
            | libc::SYS_semtimedop
            | libc::SYS_rt_sigtimedwait
            | libc::SYS_io_getevents
            | IO_PGETEVENTS
            | libc::SYS_epoll_wait
            | libc::SYS_epoll_pwait
            | libc::SYS_epoll_pwait2
            | libc::SYS_fallocate
    )
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
    let seen = registers_of(thread).map(|registers| {
        look(Registers {
            instruction: registers.rip,
            stack: registers.rsp,
            frame: Some(registers.rbp),
        })
    });
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

fn registers_of(thread: libc::pid_t) -> Result<libc::user_regs_struct, Failure> {
    let mut registers = MaybeUninit::<libc::user_regs_struct>::uninit();
    // SAFETY: the kernel writes the registers of a thread that this one has stopped to where there is room for them.
    let result = unsafe {
        libc::ptrace(libc::PTRACE_GETREGS, thread, null_mut::<u8>(), registers.as_mut_ptr())
    };
    if result == 0 {
        // SAFETY: the kernel has written all of it.
        Ok(unsafe { registers.assume_init() })
    } else {
        Err(failure())
    }
}

/// Makes a thread do its system call again if the stop has ended it, as the kernel does for calls that go on: the thread may have come to it after it was
/// asked for, and would see `EINTR`.
fn let_call_go_on(thread: libc::pid_t) {
    /// Of the instruction `syscall`.
    const LENGTH: u64 = 2;
    let Ok(registers) = registers_of(thread) else { return };
    let is_ended = registers.rax.cast_signed() == -i64::from(libc::EINTR);
    if !is_ended || !may_be_repeated(registers.orig_rax.cast_signed()) {
        return;
    }
    let again = libc::user_regs_struct {
        rax: registers.orig_rax,
        rip: registers.rip.wrapping_sub(LENGTH),
        ..registers
    };
    // SAFETY: the kernel reads the registers, which are there, for a thread that this one has stopped. If it has ended, nothing is to be done.
    unsafe { libc::ptrace(libc::PTRACE_SETREGS, thread, null_mut::<u8>(), &raw const again) };
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

fn failure() -> Failure {
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ESRCH | libc::ECHILD) => Failure::Gone,
        _ => Failure::Refused(error),
    }
}

#[cfg(test)]
mod tests {
    use super::{Signals, bit, is_untouched_by_stop, may_be_repeated};

    /// signal(7): what comes back short or ends with EINTR after a stop is left alone. The numbers are those of x86-64's table of calls.
    #[test]
    fn calls_that_a_stop_would_change_are_known() {
        for number in [202, 449, 35, 230, 7, 271, 23, 270, 61, 247, 34, 130, 219] {
            assert!(is_untouched_by_stop(number), "{number}");
        }
        // read, write, recvfrom, sendto, sendfile, splice, writev, sendmmsg, close, connect, io_uring_enter, epoll_wait, fallocate.
        for number in [0, 1, 45, 44, 40, 275, 20, 307, 3, 42, 426, 232, 285] {
            assert!(!is_untouched_by_stop(number), "{number}");
        }
        assert!(may_be_repeated(232) && may_be_repeated(285) && may_be_repeated(0));
        assert!(!may_be_repeated(3) && !may_be_repeated(42) && !may_be_repeated(426));
    }

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
