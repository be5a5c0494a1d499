//! Another thread, or this one, could write while MPI reads.
use core::cell::Cell;
use rmpi::{Process, RmpiResult, Tag};

fn example(to: Process<'_>) -> RmpiResult {
    let number = Cell::new(1.0);
    to.send(&number, Tag::new(0))
}

fn main() {}
