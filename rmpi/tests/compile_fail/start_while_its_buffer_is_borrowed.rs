//! The elements of a buffer that moved in are borrowed while somebody has them.
use rmpi::{OwnedPersistentRequest, RmpiResult};

fn example(mut request: OwnedPersistentRequest<'_, Vec<f64>>) -> RmpiResult {
    let numbers = request.buffer_mut()?;
    request.start()?;
    numbers[0] = 1.0;
    Ok(())
}

fn main() {}
