//! Whether the matching receive has begun, only the program knows.
use rmpi::{RmpiResult, Tag};

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    context.world().process(1).rsend(&[1.0], Tag::new(0))?;
    context.world().process(1).irsend_owned(vec![1.0], Tag::new(0))?.wait()?;
    rmpi::scope(|scope| {
        context.world().process(1).irsend(scope, &1.0, Tag::new(0))?;
        context.world().process(1).rsend_init(scope, &1.0, Tag::new(0))?.start()
    })
}
