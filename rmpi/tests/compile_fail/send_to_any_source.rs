//! Any process is one to receive from.
use rmpi::{Communicator, RmpiResult, Tag};

fn example(world: &Communicator<'_>) -> RmpiResult {
    world.any_source().send(&1.0, Tag::new(0))
}

fn main() {}
