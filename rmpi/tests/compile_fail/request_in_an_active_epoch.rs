//! Operations with requests are for passive targets.
use rmpi::{Active, Assertion, RmpiResult, Window};

fn example(window: &mut Window<'_, f64, Active>, numbers: &[f64]) -> RmpiResult {
    window.fence(Assertion::NONE, |epoch| epoch.process(0).rput(numbers, 0)?.wait().map(drop))
}

fn main() {}
