//! Between fences the others may write to it.
use rmpi::{Active, Assertion, RmpiResult, Window};

fn example(window: &mut Window<'_, f64, Active>) -> RmpiResult {
    window.fence(Assertion::NONE, |_| {
        println!("{}", window.local()[0]);
        Ok(())
    })
}

fn main() {}
