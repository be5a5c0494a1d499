//! Funneled: it stays on the first thread.
use rmpi::{Funneled, RmpiResult};

fn main() -> RmpiResult {
    let context = rmpi::init_thread(Funneled)?;
    std::thread::spawn(move || context.wtime());
    Ok(())
}
