//! A request that is forgotten keeps its buffer for ever: a borrowed one would not last.
use rmpi::{Process, RmpiResult, Tag};

fn example(to: Process<'_>) -> RmpiResult {
    let numbers = [1.0; 100];
    core::mem::forget(to.isend_owned(&numbers[..], Tag::new(0))?);
    Ok(())
}

fn main() {}
