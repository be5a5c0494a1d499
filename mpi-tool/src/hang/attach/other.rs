//! What depends on the processor when a thread of another process is stopped, for those on which nothing of it is known: no thread
//! is stopped. `super::run` says so before anything is looked at.

use std::io;

use super::trace::{Failure, Registers};

/// May a thread that sleeps in a system call, by its number, be stopped?
pub(super) fn is_untouched_by_stop(_number: i64) -> bool {
    false
}

/// Where a thread is that this one has stopped.
pub(super) fn registers_of(_thread: libc::pid_t) -> Result<Registers, Failure> {
    Err(Failure::Refused(io::ErrorKind::Unsupported.into()))
}

/// Makes a thread do its system call again if the stop has ended it.
pub(super) fn let_call_go_on(_thread: libc::pid_t) {}
