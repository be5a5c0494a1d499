//! What a put reads lives until the epoch ends.
use rmpi::{Active, Assertion, RmpiResult, Window};

fn example(window: &mut Window<'_, f64, Active>) -> RmpiResult {
    window.fence(Assertion::NONE, |epoch| {
        let numbers = vec![1.0; 4];
        epoch.process(0).put(&numbers, 0)
    })
}

fn main() {}
