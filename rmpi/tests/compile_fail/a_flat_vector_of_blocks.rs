//! A block for each process, not one vector of all.
use rmpi::{Communicator, RmpiResult};

fn example(world: &Communicator<'_>) -> RmpiResult {
    let mine = vec![1.0; 3];
    let mut all = vec![0.0; 3 * world.size()?];
    world.allgatherv(&mine, &mut all)
}

fn main() {}
