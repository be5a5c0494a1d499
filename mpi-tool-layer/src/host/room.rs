//! Room in files that a tool maps: stores to them must not fail later.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd as _;

/// May a file of this process have so many bytes? A user may limit that (`ulimit -f`, `RLIMIT_FSIZE`), and a process that writes
/// more is ended by a signal, which a tool must not bring about.
///
/// # Errors
/// `EFBIG` if it may not.
pub fn may_have_bytes(bytes: u64) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `getrlimit` writes a limit to where the pointer says, which must be room for one: `limit` is.
    let is_known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &raw mut limit) } == 0;
    match is_known && bytes > limit.rlim_cur {
        true => Err(io::Error::from_raw_os_error(libc::EFBIG)),
        false => Ok(()),
    }
}

/// Makes room for so many bytes in a file, from its beginning, so that no store to the mapped file can fail later.
///
/// # Errors
/// The system's: the disk, a quota or a limit has no room for them.
pub fn make_room(file: &File, bytes: u64) -> io::Result<()> {
    may_have_bytes(bytes)?;
    let length = libc::off_t::try_from(bytes).map_err(io::Error::other)?;
    // SAFETY: `posix_fallocate` takes a descriptor, which `file` has as long as it lives, and numbers.
    match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, length) } {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    }
}
