//! A receive writes.
use rmpi::{RmpiResult, Source, Tag};

fn example(from: Source<'_>) -> RmpiResult {
    let numbers = [0.0; 3];
    from.recv(&numbers, Tag::new(0))
}

fn main() {}
