//! With one thread, MPI stays on it.
use rmpi::RmpiResult;

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    std::thread::spawn(move || context.wtime());
    Ok(())
}
