//! Not every number is a variant.
use rmpi::{RmpiResult, SendDatatype, Source, Tag};

#[derive(Clone, Copy, SendDatatype)]
#[repr(u8)]
enum Color {
    Red,
    Green,
}

fn example(from: Source<'_>) -> RmpiResult {
    let mut color = Color::Red;
    from.recv(&mut color, Tag::new(0))
}

fn main() {
    let _ = Color::Green;
}
