//! The buffer lives longer than the scope.
use rmpi::{Process, RmpiResult, Tag};

fn example(to: Process<'_>) -> RmpiResult {
    rmpi::scope(|scope| {
        let numbers = vec![1.0, 2.0];
        to.isend(scope, &numbers, Tag::new(0))?;
        Ok(())
    })
}

fn main() {}
