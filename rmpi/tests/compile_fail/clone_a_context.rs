//! Two contexts would finalize twice.
use rmpi::RmpiResult;

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let second = context.clone();
    Ok(())
}
