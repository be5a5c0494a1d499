//! A tuple is a datatype if all of its elements are.
use rmpi::{Process, RmpiResult, Tag};

fn example(other: Process<'_>, pairs: &[(u32, Vec<f64>)]) -> RmpiResult {
    other.send(pairs, Tag::new(0))
}

fn main() {}
