//! An address means nothing to another process.
use rmpi::{RmpiResult, Source, Tag};

fn example(from: Source<'_>) -> RmpiResult {
    let mut names = ["a", "b"];
    from.recv(&mut names, Tag::new(0))
}

fn main() {}
