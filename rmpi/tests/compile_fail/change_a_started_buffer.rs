//! The elements of a persistent buffer are borrowed while somebody has them.
use rmpi::{PersistentRequest, RmpiResult};

fn example(mut request: PersistentRequest<'_, Vec<f64>>) -> RmpiResult {
    let numbers = request.buffer_mut().expect("not started");
    request.start()?;
    numbers[0] = 1.0;
    Ok(())
}

fn main() {}
