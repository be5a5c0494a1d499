//! Nor can a derive say so.
use rmpi::MpiDatatype;

#[derive(Clone, Copy, MpiDatatype)]
#[repr(u8)]
enum Color {
    Red,
    Green,
}

fn main() {}
