//! A window accesses nothing: only an epoch does.
use rmpi::{Active, RmpiResult, Window};

fn example(window: &mut Window<'_, f64, Active>) -> RmpiResult {
    window.process(0).put(&[1.0], 0)
}

fn main() {}
