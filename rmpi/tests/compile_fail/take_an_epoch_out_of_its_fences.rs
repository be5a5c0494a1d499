//! After the second fence there is no epoch any more.
use rmpi::{Active, Assertion, RmpiResult, Window};

fn example(window: &mut Window<'_, f64, Active>) -> RmpiResult {
    let epoch = window.fence(Assertion::NONE, |epoch| Ok(epoch))?;
    epoch.process(0).put(&[1.0], 0)
}

fn main() {}
