//! What owns memory is no datatype: values go by a typed communicator.
use rmpi::{Communicator, RmpiResult};

fn example(world: &Communicator<'_>, names: &[String]) -> RmpiResult<Vec<String>> {
    world.allgatherv_vec(names)
}

fn main() {}
