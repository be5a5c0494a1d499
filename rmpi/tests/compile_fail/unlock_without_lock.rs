//! There is no unlock: the end of what runs in the lock is it.
use rmpi::{Passive, RmpiResult, Window};

fn example(window: &mut Window<'_, f64, Passive>) -> RmpiResult {
    window.unlock(0)
}

fn main() {}
