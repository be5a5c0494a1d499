//! Nor is a communicator of such a context.
use rmpi::{Communicator, RmpiResult};

fn example(world: &Communicator<'_>) {
    std::thread::scope(|threads| {
        threads.spawn(|| world.rank());
    });
}

fn main() -> RmpiResult {
    Ok(())
}
