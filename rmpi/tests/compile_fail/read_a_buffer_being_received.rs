//! MPI writes to the buffer until the receive is complete.
use rmpi::{RmpiResult, Source, Tag};

fn example(from: Source<'_>) -> RmpiResult {
    let mut numbers = [1.0, 2.0];
    rmpi::scope(|scope| {
        let request = from.irecv(scope, &mut numbers, Tag::new(0))?;
        println!("{}", numbers[0]);
        request.wait()?;
        Ok(())
    })
}

fn main() {}
