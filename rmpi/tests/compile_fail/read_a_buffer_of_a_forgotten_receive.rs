//! To forget the request does not end the borrow: the scope does.
use rmpi::{RmpiResult, Source, Tag};

fn example(from: Source<'_>) -> RmpiResult {
    let mut numbers = [1.0, 2.0];
    rmpi::scope(|scope| {
        core::mem::forget(from.irecv(scope, &mut numbers, Tag::new(0))?);
        println!("{}", numbers[0]);
        Ok(())
    })
}

fn main() {}
