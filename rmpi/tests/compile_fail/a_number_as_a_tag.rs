//! A tag is no number: numbers under zero mean something else to MPI.
use rmpi::{Process, RmpiResult};

fn example(other: Process<'_>) -> RmpiResult {
    let mut numbers = [0.0; 3];
    other.send(&numbers, 0)?;
    other.recv(&mut numbers, 0)
}

fn main() {}
