//! Blocks are slices, which do not overlap.
use rmpi::{Communicator, RmpiResult};

fn example(world: &Communicator<'_>) -> RmpiResult {
    let mut all = [0.0; 8];
    world.allgatherv(&[1.0; 5][..], &mut [&mut all[0..5], &mut all[3..8]])
}

fn main() {}
