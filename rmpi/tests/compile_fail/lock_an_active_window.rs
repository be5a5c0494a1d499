//! The processes agreed on how they synchronise.
use rmpi::{Active, Assertion, LockType, RmpiResult, Window};

fn example(window: &mut Window<'_, f64, Active>) -> RmpiResult {
    window.lock(LockType::Shared, 0, Assertion::NONE, |_| Ok(()))
}

fn main() {}
