//! MPI forbids overlapping buffers.
use rmpi::{Process, RmpiResult, Tag};

fn example(to: Process<'_>, from: Process<'_>) -> RmpiResult {
    let mut numbers = [0.0; 3];
    to.sendrecv(&numbers, Tag::new(0), &from, &mut numbers, Tag::new(0))?;
    Ok(())
}

fn main() {}
