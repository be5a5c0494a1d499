//! Not every byte is a bool.
use rmpi::{RmpiResult, Source, Tag};

fn example(from: Source<'_>) -> RmpiResult {
    let mut flags = [false; 3];
    from.recv(&mut flags, Tag::new(0))
}

fn main() {}
