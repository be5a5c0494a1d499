//! Two receives at once into the same memory.
use rmpi::{RmpiResult, Source, Tag};

fn example(from: Source<'_>) -> RmpiResult {
    let mut numbers = [0.0; 3];
    rmpi::scope(|scope| {
        let first = from.irecv(scope, &mut numbers, Tag::new(0))?;
        let second = from.irecv(scope, &mut numbers, Tag::new(1))?;
        first.wait()?;
        second.wait()?;
        Ok(())
    })
}

fn main() {}
