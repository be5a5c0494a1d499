//! A request lives no longer than MPI.
use rmpi::{RmpiResult, Tag};

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let request = context.world().process(0).isend_owned(vec![1.0; 100], Tag::new(0))?;
    context.finalize()?;
    request.wait().map(drop)
}
