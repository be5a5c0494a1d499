//! An exposure can be accompanied by one access after the other, not by two at once.
use rmpi::{Active, Assertion, Group, RmpiResult, Window};

fn example(window: &mut Window<'_, f64, Active>, others: &Group<'_>) -> RmpiResult {
    window.post(others, Assertion::NONE, |exposure| {
        exposure.start(others, Assertion::NONE, |_| {
            exposure.start(others, Assertion::NONE, |_| Ok(()))
        })
    })
}

fn main() {}
