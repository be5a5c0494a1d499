//! Whoever has a lock writes to it: there are no slices but in a lock of one's own.
use rmpi::{Passive, Window};

fn example(window: &Window<'_, f64, Passive>) -> f64 {
    window.local()[0]
}

fn main() {}
