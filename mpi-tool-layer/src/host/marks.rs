//! For `mpi-tool run`, which says so if no rank has left a report: each tool of a process notes that MPI has started, and that
//! a report has what the process has counted.
//!
//! The notes are single letters in a file that `mpi-tool run` has made. Ranks on other hosts do not find it, and note nothing.

use core::ffi::CStr;
use std::env;
use std::ffi::CString;
use std::os::unix::ffi::OsStringExt as _;
use std::sync::OnceLock;

use mpi_facts::{MARKS_VARIABLE, Mark};

use crate::host::writing::without_signals;

static FILE: OnceLock<Option<CString>> = OnceLock::new();

/// MPI has started in a process in which a tool is to report something.
pub fn started() {
    let file = FILE.get_or_init(|| CString::new(env::var_os(MARKS_VARIABLE)?.into_vec()).ok());
    note(file.as_deref(), Mark::Started);
}

/// The process's report is there, or a merged one that has its counts. For signal handlers, too.
pub fn reported() {
    note(FILE.get().and_then(Option::as_deref), Mark::Reported);
}

fn note(file: Option<&CStr>, mark: Mark) {
    let Some(file) = file else { return };
    let letter = [mark as u8];
    without_signals(|| write(file, letter));
}

fn write(file: &CStr, letter: [u8; 1]) {
    // SAFETY: `open` reads a C string, which `file` is; `write` reads as many bytes as it is told, which `letter` has; and the
    // descriptor that is closed is the one that was opened here. All three may be called in a signal handler.
    unsafe {
        let descriptor =
            libc::open(file.as_ptr(), libc::O_WRONLY | libc::O_APPEND | libc::O_CLOEXEC);
        if descriptor >= 0 {
            libc::write(descriptor, letter.as_ptr().cast(), letter.len());
            libc::close(descriptor);
        }
    }
}
