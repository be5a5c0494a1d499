//! Until the receive is complete, nobody but MPI has the buffer.
use rmpi::{RmpiResult, Source, Tag};

fn example(from: Source<'_>) -> RmpiResult {
    let numbers = vec![0.0; 100];
    let request = from.irecv_owned(numbers, Tag::new(0))?;
    println!("{}", numbers[0]);
    request.wait().map(drop)
}

fn main() {}
