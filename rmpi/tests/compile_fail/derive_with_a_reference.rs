//! An address means nothing to another process.
use rmpi::MpiDatatype;

#[derive(Clone, Copy, MpiDatatype)]
struct Name {
    text: &'static str,
    length: u32,
}

fn main() {}
