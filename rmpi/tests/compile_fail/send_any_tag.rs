//! A message has a tag.
use rmpi::{AnyTag, Process, RmpiResult};

fn example(to: Process<'_>) -> RmpiResult {
    to.send(&1.0, AnyTag)
}

fn main() {}
