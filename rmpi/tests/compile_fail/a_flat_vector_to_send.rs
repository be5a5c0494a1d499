//! A block for each process, not one vector of all.
use rmpi::{Communicator, RmpiResult};

fn example(world: &Communicator<'_>) -> RmpiResult {
    let mine = vec![1.0; 3 * world.size()?];
    let mut theirs = vec![vec![0.0; 3]; world.size()?];
    world.alltoallv(&mine, &mut theirs)
}

fn main() {}
