//! A false promise would let two processes write to the same memory.
use rmpi::Assertion;

fn main() {
    let _ = Assertion::nocheck();
}
