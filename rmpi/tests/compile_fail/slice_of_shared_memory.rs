//! The other processes of the node write to it as they like.
use rmpi::{Active, Shared, Window};

fn example(window: &Window<'_, f64, Active, Shared>) -> f64 {
    window.local()[0]
}

fn main() {}
