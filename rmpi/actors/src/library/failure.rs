//! Panics of handlers.

use core::any::Any;
use std::io::Write as _;

use super::Domain;

/// The exit code of a Rust program that panics.
const PANICKED: i32 = 101;

/// Says which handler panicked and where, and ends all processes: the others wait for this one's messages.
#[cold]
pub(super) fn end(domain: &Domain<'_>, mailbox: &str, from: usize, panic: &(dyn Any + Send)) -> ! {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a value that is no text");
    let said = format!(
        "rmpi-actors: rank {}: the handler of mailbox `{mailbox}` panicked in a message from rank {from}: {text}\n",
        domain.rank()
    );
    // At once: launchers put what others say between pieces.
    let _ = std::io::stderr().write_all(said.as_bytes());
    domain.communicator().abort(PANICKED)
}
