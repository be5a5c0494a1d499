//! Writing whose failure is an error, and no signal that ends the application.

use core::mem::MaybeUninit;

/// The signals that a failed `write` raises in its thread: of a pipe or a socket that nobody reads, and of a file that is as long as
/// the user lets it be (`ulimit -f`). Both end a process that does not expect them.
const RAISED: [libc::c_int; 2] = [libc::SIGPIPE, libc::SIGXFSZ];

/// Writes something. If nobody reads it, or there may be no more of it, that is an error (`EPIPE`, `EFBIG`) and raises no signal, whatever
/// the application does with such ones. May be called in a signal handler.
pub fn without_signals<R>(write: impl FnOnce() -> R) -> R {
    let held = Held::new();
    let result = write();
    // SAFETY: `__errno_location` gives the address of the calling thread's own `errno`, which lives as long as the thread.
    let errno = unsafe { *libc::__errno_location() };
    drop(held);
    // SAFETY: as above. What `write` has left there is for the caller.
    unsafe { *libc::__errno_location() = errno };
    result
}

/// While it is there, the signals stay away from this thread.
struct Held {
    raised: libc::sigset_t,
    before: libc::sigset_t,
    /// One was pending already, which is not this thread's to take.
    was_pending: bool,
}

impl Held {
    fn new() -> Self {
        let mut raised = MaybeUninit::uninit();
        let mut before = MaybeUninit::uninit();
        // SAFETY: `sigemptyset` fills the set, `sigaddset` takes one that is filled and numbers of signals, and `pthread_sigmask`
        // reads the filled one and fills the other.
        unsafe {
            libc::sigemptyset(raised.as_mut_ptr());
            for signal in RAISED {
                libc::sigaddset(raised.as_mut_ptr(), signal);
            }
            let (raised, was_pending) = (raised.assume_init(), is_pending());
            libc::pthread_sigmask(libc::SIG_BLOCK, &raised, before.as_mut_ptr());
            Self { raised, before: before.assume_init(), was_pending }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: the sets are filled, and the time is a local. `sigtimedwait` takes a signal that is pending, and does not wait.
        unsafe {
            if !self.was_pending && is_pending() {
                let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
                libc::sigtimedwait(&self.raised, core::ptr::null_mut(), &at_once);
            }
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, core::ptr::null_mut());
        }
    }
}

/// Is one of the signals pending for this thread or for the process?
fn is_pending() -> bool {
    let mut pending = MaybeUninit::uninit();
    // SAFETY: `sigpending` fills the set, unless it fails, which is only for a bad address; `sigismember` reads a filled one.
    unsafe {
        libc::sigpending(pending.as_mut_ptr()) == 0
            && RAISED.iter().any(|signal| libc::sigismember(pending.as_ptr(), *signal) == 1)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::io::pipe;

    use super::{is_pending, without_signals};

    /// Rust's test programs ignore the signal: the default is set in a child, which must live.
    #[test]
    fn nobody_reads() {
        let (reader, mut writer) = pipe().unwrap();
        drop(reader);
        // SAFETY: the child calls nothing but functions that may be called in a signal handler, and ends at once.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: the default takes nothing of this program's.
            unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
            let error = without_signals(|| writer.write_all(b"words")).unwrap_err();
            let is_right = error.kind() == std::io::ErrorKind::BrokenPipe && !is_pending();
            // SAFETY: `_exit` takes a number.
            unsafe { libc::_exit(if is_right { 0 } else { 1 }) };
        }
        let mut status = 0;
        // SAFETY: the child is this test's own, and the status a local.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
    }
}
