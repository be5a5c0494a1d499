//! Programs that hang, one by one, by the first argument. Lines that a test asks for end in a comment.

use rmpi::{Communicator, RmpiResult, Tag};

fn receive_from(world: &Communicator<'_>, source: usize) -> RmpiResult {
    let mut buffer = [0_u8];
    world.process(source).recv(&mut buffer, Tag::new(5)) // receive
}

fn main() -> RmpiResult {
    let what = std::env::args().nth(1).unwrap_or_default();
    let context = rmpi::init()?;
    let world = context.world();
    let (rank, size) = (world.rank()?, world.size()?);
    match what.as_str() {
        "receive cycle" => receive_from(world, (rank + 1) % size)?,
        "missing collective" if rank != 1 => world.barrier()?, // barrier
        "wrong tag" if rank == 0 => receive_from(world, 1)?,
        "wrong tag" => world.process(0).ssend(&[0_u8], Tag::new(6))?, // tag 6
        _ => {}
    }
    Ok(())
} // finalize
