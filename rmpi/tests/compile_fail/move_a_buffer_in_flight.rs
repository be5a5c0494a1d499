//! What is borrowed cannot be dropped.
use rmpi::{Process, RmpiResult, Tag};

fn example(to: Process<'_>) -> RmpiResult {
    let numbers = vec![1.0, 2.0];
    rmpi::scope(|scope| {
        let request = to.isend(scope, &numbers, Tag::new(0))?;
        drop(numbers);
        request.wait()?;
        Ok(())
    })
}

fn main() {}
