//! A communicator borrows the context.
use rmpi::RmpiResult;

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let copy = context.world().dup()?;
    context.finalize()?;
    copy.barrier()
}
