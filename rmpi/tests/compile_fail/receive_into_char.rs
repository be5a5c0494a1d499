//! Not every number is a char.
use rmpi::{RmpiResult, Source, Tag};

fn example(from: Source<'_>) -> RmpiResult {
    let mut letter = 'a';
    from.recv(&mut letter, Tag::new(0))
}

fn main() {}
