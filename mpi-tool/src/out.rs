//! Standard output and standard error. Whoever reads the output may stop before its end, as `head` does: that is no error,
//! and nothing more is written. A device that is full is an error of the output; of standard error nobody can be told.

use std::fmt::Arguments;
use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;
use std::process;

use anyhow::{Context as _, Result};

/// Prints what was made.
pub(crate) fn print(bytes: impl AsRef<[u8]>) -> Result<()> {
    let mut out = io::stdout();
    match out.write_all(bytes.as_ref()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context(NOWHERE),
        _ => Ok(()),
    }
}

/// Writes what was made to the file that the user names, or prints it.
pub(crate) fn deliver(file: Option<&Path>, bytes: &[u8]) -> Result<()> {
    match file {
        Some(path) => fs::write(path, bytes).with_context(|| path.display().to_string()),
        None => print(bytes),
    }
}

/// Prints a part of what is made while it is printed. Where nobody reads it any more, the program ends.
pub(crate) fn part(text: Arguments<'_>) {
    if let Err(error) = io::stdout().write_fmt(text) {
        leave(&error);
    }
}

/// Writes what is still to be written. Where nobody reads it any more, that is no error.
pub(crate) fn finish() {
    if let Err(error) = io::stdout().flush()
        && error.kind() != ErrorKind::BrokenPipe
    {
        leave(&error);
    }
}

/// Ends the program, since its output cannot be written.
pub(crate) fn leave(error: &io::Error) -> ! {
    if error.kind() == ErrorKind::BrokenPipe {
        process::exit(0);
    }
    errln!("mpi-tool: {NOWHERE}: {error}");
    process::exit(2);
}

const NOWHERE: &str = "nothing can be written to standard output";

/// Says something on standard error, if anything can be written there.
pub(crate) fn say(text: Arguments<'_>) {
    let _ = io::stderr().write_fmt(text);
}

/// `println!` for an output that may be closed.
macro_rules! outln {
    ($($text:tt)*) => {
        $crate::out::part(format_args!("{}\n", format_args!($($text)*)))
    };
}
pub(crate) use outln;

/// `eprintln!` for a standard error that may be closed.
macro_rules! errln {
    ($($text:tt)*) => {
        $crate::out::say(format_args!("{}\n", format_args!($($text)*)))
    };
}
pub(crate) use errln;
