//! Standard output. Whoever reads it may stop before its end, as `head` does: that is no error, and nothing more is written.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write as _};
use std::process;

use anyhow::Result;

/// Prints what was made.
pub(crate) fn print(bytes: impl AsRef<[u8]>) -> Result<()> {
    match io::stdout().write_all(bytes.as_ref()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}

/// Prints a part of what is made while it is printed. Where nobody reads it any more, the program ends.
pub(crate) fn part(text: Arguments<'_>) {
    if let Err(error) = io::stdout().write_fmt(text) {
        leave(&error);
    }
}

/// Ends the program, since its output cannot be written.
pub(crate) fn leave(error: &io::Error) -> ! {
    if error.kind() == ErrorKind::BrokenPipe {
        process::exit(0);
    }
    eprintln!("mpi-tool: nothing can be written to standard output: {error}");
    process::exit(2);
}

/// `println!` for an output that may be closed.
macro_rules! outln {
    ($($text:tt)*) => {
        $crate::out::part(format_args!("{}\n", format_args!($($text)*)))
    };
}
pub(crate) use outln;
