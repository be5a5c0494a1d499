//! A request is waited for where it was begun.
use rmpi::{OwnedRequest, RmpiResult};

fn example(request: OwnedRequest<'_, Vec<f64>>) {
    std::thread::scope(|threads| {
        threads.spawn(move || request.wait().is_ok());
    });
}

fn main() -> RmpiResult {
    Ok(())
}
