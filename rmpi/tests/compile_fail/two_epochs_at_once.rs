//! An epoch borrows its window.
use rmpi::{Assertion, LockType, Passive, RmpiResult, Window};

fn example(window: &mut Window<'_, f64, Passive>) -> RmpiResult {
    window.lock_all(Assertion::NONE, |_| {
        window.lock(LockType::Shared, 0, Assertion::NONE, |epoch| epoch.target().put(&[1.0], 0))
    })
}

fn main() {}
