//! A fence comes with its epoch, and so with the fence that ends it.
use rmpi::{Active, Assertion, RmpiResult, Window};

fn example(window: &mut Window<'_, f64, Active>) -> RmpiResult {
    window.fence(Assertion::NONE)
}

fn main() {}
