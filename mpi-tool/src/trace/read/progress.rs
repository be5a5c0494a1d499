//! How far a long trace has been read, for people who wait for it.

use core::cell::Cell;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// Nothing is said before so much time, and not more often.
const PAUSE: Duration = Duration::from_secs(1);

/// Bytes of records that have been read, of all.
pub(super) struct Progress {
    all: Cell<u64>,
    read: Cell<u64>,
    last: Cell<Instant>,
    is_shown: Cell<bool>,
}

impl Progress {
    pub(super) fn new() -> Self {
        let (all, read, is_shown) = (Cell::new(0), Cell::new(0), Cell::new(false));
        Self { all, read, last: Cell::new(Instant::now()), is_shown }
    }

    /// So many bytes are going to be read.
    pub(super) fn expect(&self, bytes: u64) {
        self.all.set(self.all.get() + bytes);
    }

    /// So many have been read. A terminal shows it, in a line that is written over.
    pub(super) fn add(&self, bytes: u64) {
        self.read.set(self.read.get() + bytes);
        if self.last.get().elapsed() < PAUSE || !io::stderr().is_terminal() {
            return;
        }
        self.last.set(Instant::now());
        self.is_shown.set(true);
        let percent = self.read.get() * 100 / self.all.get().max(1);
        let _ = write!(io::stderr(), "\rmpi-tool: {percent} % of the trace is read");
    }

    /// The line is empty again.
    pub(super) fn end(&self) {
        if self.is_shown.take() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
