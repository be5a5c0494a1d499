//! MPI reads the buffer until the send is complete.
use rmpi::{Process, RmpiResult, Tag};

fn example(to: Process<'_>) -> RmpiResult {
    let mut numbers = [1.0, 2.0];
    rmpi::scope(|scope| {
        let request = to.isend(scope, &numbers, Tag::new(0))?;
        numbers[0] = 3.0;
        request.wait()?;
        Ok(())
    })
}

fn main() {}
