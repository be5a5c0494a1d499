//! One vector is not a block for each process.
use rmpi::{Communicator, RmpiResult};

fn example(world: &Communicator<'_>, numbers: &[f64]) -> RmpiResult<Vec<Vec<f64>>> {
    world.alltoallv_vec(numbers)
}

fn main() {}
