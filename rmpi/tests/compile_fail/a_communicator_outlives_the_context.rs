//! Nothing that calls MPI leaves the block.
use rmpi::RmpiResult;

fn main() -> RmpiResult {
    let copy = {
        let context = rmpi::init()?;
        context.world().dup()?
    };
    copy.barrier()
}
