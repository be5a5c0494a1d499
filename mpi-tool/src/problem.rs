//! What is told before the start: what will not be as the user wants it, and what is done about it.

use std::fmt;

/// One line on standard error.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    what: String,
    then: &'static str,
}

impl Problem {
    /// `then` says what is done in spite of it; empty if that is clear.
    pub(crate) fn new(what: impl Into<String>, then: &'static str) -> Self {
        Self { what: what.into(), then }
    }

    /// The line for somebody who wants nothing to be started then.
    pub(crate) fn alone(&self) -> &str {
        &self.what
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if self.then.is_empty() { Ok(()) } else { write!(f, "; {}", self.then) }
    }
}
