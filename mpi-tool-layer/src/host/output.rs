//! Writing without allocation, so that a report can also be written from a signal handler; and the standard streams, which
//! a program may close and open anew as something else.

use core::ffi::{CStr, c_int};
use core::fmt::{self, Write as _};
use core::sync::atomic::{
    AtomicBool, AtomicI32, AtomicU64,
    Ordering::{AcqRel, Acquire, Relaxed, Release},
};

use crate::host::writing::without_signals;

/// Writes a line to standard error, in one piece.
pub fn say(line: fmt::Arguments<'_>) {
    let mut sink = Sink::to(&STANDARD_ERROR);
    let _ = writeln!(sink, "{line}");
    let _ = sink.flush();
}

/// Prints a text to the process's standard output as it was when this tool came.
pub fn print(text: &str) {
    let mut sink = Sink::to(&STANDARD_OUTPUT);
    let _ = sink.write_str(text);
    let _ = sink.flush();
}

/// A standard stream of the process as it was when this tool came. What the application puts in its place later, such as a
/// file of its data, is not written to.
pub(crate) struct Stream {
    descriptor: c_int,
    /// It is known what the stream is.
    is_known: AtomicBool,
    /// Device and inode; zeros for a stream that was closed.
    file: [AtomicU64; 2],
    /// Another descriptor of the same, or -1.
    kept: AtomicI32,
}

pub(crate) static STANDARD_OUTPUT: Stream = Stream::new(libc::STDOUT_FILENO);
pub(crate) static STANDARD_ERROR: Stream = Stream::new(libc::STDERR_FILENO);

impl Stream {
    const fn new(descriptor: c_int) -> Self {
        Self {
            descriptor,
            is_known: AtomicBool::new(false),
            file: [const { AtomicU64::new(0) }; 2],
            kept: AtomicI32::new(-1),
        }
    }

    /// The descriptor that leads to the stream now, if one does.
    fn now(&self) -> Option<c_int> {
        if !self.is_known.load(Acquire) {
            return Some(self.descriptor);
        }
        let file = self.file.each_ref().map(|word| word.load(Relaxed));
        let both = [self.descriptor, self.kept.load(Relaxed)];
        both.into_iter().find(|descriptor| file_of(*descriptor) == Some(file))
    }

    fn remember(&self) {
        if let Some(file) = file_of(self.descriptor) {
            for (word, value) in self.file.iter().zip(file) {
                word.store(value, Relaxed);
            }
        }
        self.is_known.store(true, Release);
    }

    /// Keeps a descriptor of its own, out of the way of those that the application gets, and closed by `exec`.
    fn keep(&self) {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `getrlimit` writes one `rlimit`, which `limit` is.
        unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
        // What `select` can name.
        let end = c_int::try_from(limit.rlim_cur).unwrap_or(c_int::MAX).min(1024);
        // SAFETY: `fcntl` with this command takes any number for a descriptor, and the least one for the new.
        let kept = unsafe { libc::fcntl(self.descriptor, libc::F_DUPFD_CLOEXEC, end - end / 8) };
        self.kept.store(kept, Relaxed);
    }
}

/// What a descriptor is of: device and inode. `None` for one that is not open.
fn file_of(descriptor: c_int) -> Option<[u64; 2]> {
    // SAFETY: `fstat` takes any number for a descriptor and writes one `stat`: a local, of plain data, for which zeros are a
    // value.
    unsafe {
        let mut file: libc::stat = core::mem::zeroed();
        (libc::fstat(descriptor, &mut file) == 0).then_some([file.st_dev, file.st_ino])
    }
}

/// Notes what the standard streams are, once: before the application of a process with MPI can put something else there.
/// Standard error is kept open, since reports go there if the application closes it.
pub(crate) fn remember_streams() {
    static DONE: AtomicBool = AtomicBool::new(false);
    if !DONE.swap(true, AcqRel) {
        STANDARD_OUTPUT.remember();
        STANDARD_ERROR.remember();
        STANDARD_ERROR.keep();
    }
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
    /// To a standard stream, or to standard error where no descriptor leads to the stream any more. What is written is lost
    /// if none leads there, either.
    pub(crate) fn to(stream: &Stream) -> Self {
        let descriptor = stream.now().or_else(|| STANDARD_ERROR.now());
        let error = descriptor.is_none().then_some(libc::EBADF);
        Self { error, ..Self::new(descriptor.unwrap_or(-1)) }
    }

    fn new(descriptor: c_int) -> Self {
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
        without_signals(|| self.write())
    }

    fn write(&mut self) -> Result<(), c_int> {
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
