//! A request ends once.
use rmpi::{Request, RmpiResult};

fn example(request: Request<'_, &[f64]>) -> RmpiResult {
    request.wait()?;
    request.wait()?;
    Ok(())
}

fn main() {}
