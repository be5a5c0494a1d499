//! Nor does one finalize twice.
use rmpi::RmpiResult;

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    context.finalize()?;
    context.finalize()
}
