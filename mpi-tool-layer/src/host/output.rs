//! Writing without allocation, so that a report can also be written from a signal handler.

use core::ffi::{CStr, c_int};
use core::fmt::{self, Write as _};

/// Writes a line to standard error, in one piece.
pub fn say(line: fmt::Arguments<'_>) {
    let mut sink = Sink::new(libc::STDERR_FILENO);
    let _ = writeln!(sink, "{line}");
    let _ = sink.flush();
}

const SIZE: usize = 2048;

/// A buffer in front of a file descriptor; small, since a signal's stack may be.
pub(crate) struct Sink {
    descriptor: c_int,
    close: bool,
    buffer: [u8; SIZE],
    filled: usize,
    /// The first error, as an `errno`.
    error: Option<c_int>,
}

impl Sink {
    pub(crate) fn new(descriptor: c_int) -> Self {
        Self { descriptor, close: false, buffer: [0; SIZE], filled: 0, error: None }
    }

    /// Opens a file to be written anew.
    pub(crate) fn create(path: &CStr) -> Result<Self, c_int> {
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC | libc::O_CLOEXEC;
        // SAFETY: `open` reads a C string, which `path` is, and takes a mode where a file may be created.
        let descriptor = unsafe { libc::open(path.as_ptr(), flags, 0o666) };
        if descriptor < 0 {
            return Err(errno());
        }
        Ok(Self { close: true, ..Self::new(descriptor) })
    }

    pub(crate) fn flush(&mut self) -> Result<(), c_int> {
        let mut written = 0;
        while written < self.filled && self.error.is_none() {
            let rest = &self.buffer[written..self.filled];
            // SAFETY: `write` reads as many bytes as it is told: `rest` is a slice of that length.
            let result = unsafe { libc::write(self.descriptor, rest.as_ptr().cast(), rest.len()) };
            match usize::try_from(result) {
                Ok(count) => written += count,
                Err(_) if errno() == libc::EINTR => {}
                Err(_) => self.error = Some(errno()),
            }
        }
        self.filled = 0;
        self.error.map_or(Ok(()), Err)
    }

    /// Flushes and closes: what a full disk or a quota refuses may show only here.
    pub(crate) fn finish(mut self) -> Result<(), c_int> {
        let flushed = self.flush();
        if self.close {
            // SAFETY: nobody else may use the descriptor: `create` has opened it for this sink only, which
            // ends here.
            let closed = unsafe { libc::close(self.descriptor) };
            if closed != 0 && flushed.is_ok() {
                return Err(errno());
            }
        }
        flushed
    }
}

impl fmt::Write for Sink {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut bytes = text.as_bytes();
        while !bytes.is_empty() && self.error.is_none() {
            if self.filled == self.buffer.len() {
                let _ = self.flush();
                continue;
            }
            let (now, later) = bytes.split_at(bytes.len().min(self.buffer.len() - self.filled));
            self.buffer[self.filled..][..now.len()].copy_from_slice(now);
            self.filled += now.len();
            bytes = later;
        }
        Ok(())
    }
}

/// Is standard error a terminal?
pub(crate) fn is_terminal() -> bool {
    // SAFETY: `isatty` takes any number and touches no memory of the caller's.
    unsafe { libc::isatty(libc::STDERR_FILENO) == 1 }
}

pub(crate) fn errno() -> c_int {
    // SAFETY: `__errno_location` gives the address of the calling thread's own `errno`, an `int` that lives
    // as long as the thread and that nobody else writes.
    unsafe { *libc::__errno_location() }
}

/// What an `errno` means, for a message; `strerror` may allocate.
pub(crate) fn reason(errno: c_int) -> Reason {
    Reason(errno)
}

pub(crate) struct Reason(c_int);

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            libc::EACCES | libc::EPERM => "permission denied",
            libc::EDQUOT => "disk quota exceeded",
            libc::EIO => "input/output error",
            libc::EISDIR => "is a directory",
            libc::EMFILE | libc::ENFILE => "too many open files",
            libc::ENAMETOOLONG => "name too long",
            libc::ENOENT => "no such directory",
            libc::ENOSPC => "no space left on device",
            libc::ENOTDIR => "not a directory",
            libc::EROFS => "read-only file system",
            other => return write!(f, "error {other}"),
        })
    }
}
