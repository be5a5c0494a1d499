//! MPI writes to what is received into.
use rmpi::{Process, RmpiResult, Tag};

fn example(other: Process<'_>) -> RmpiResult {
    let numbers = vec![0.0; 3];
    other.recv(&numbers, Tag::new(0))
}

fn main() {}
