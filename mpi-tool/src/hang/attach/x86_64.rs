//! What depends on the processor when a thread of another process is stopped, for x86-64: its registers, and the numbers of system
//! calls.

use std::mem::MaybeUninit;
use std::ptr::null_mut;

use super::trace::{Failure, Registers, failure};

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

/// Where a thread is that this one has stopped.
pub(super) fn registers_of(thread: libc::pid_t) -> Result<Registers, Failure> {
    let registers = all_registers_of(thread)?;
    Ok(Registers { instruction: registers.rip, stack: registers.rsp, frame: Some(registers.rbp) })
}

fn all_registers_of(thread: libc::pid_t) -> Result<libc::user_regs_struct, Failure> {
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
pub(super) fn let_call_go_on(thread: libc::pid_t) {
    /// Of the instruction `syscall`.
    const LENGTH: u64 = 2;
    let Ok(registers) = all_registers_of(thread) else { return };
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

#[cfg(test)]
mod tests {
    use super::{is_untouched_by_stop, may_be_repeated};

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
}
