//! MPI has meanings of its own for numbers that are no tags.
use rmpi::TagSelector;

#[derive(Clone, Copy)]
struct Mine;

impl TagSelector for Mine {
    fn into_raw(self) -> i32 {
        -7
    }
}

fn main() {}
