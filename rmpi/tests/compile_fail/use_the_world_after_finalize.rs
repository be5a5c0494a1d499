//! So does the world.
use rmpi::RmpiResult;

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    context.finalize()?;
    println!("{}", world.rank()?);
    Ok(())
}
