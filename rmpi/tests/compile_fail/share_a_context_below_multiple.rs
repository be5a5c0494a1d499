//! Serialized: a context moves, but is not shared.
use rmpi::{RmpiResult, Serialized};

fn main() -> RmpiResult {
    let context = rmpi::init_thread(Serialized)?;
    std::thread::scope(|threads| {
        threads.spawn(|| context.wtime());
    });
    Ok(())
}
