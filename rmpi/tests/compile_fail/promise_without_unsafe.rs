//! MPI believes what is asserted of a window's memory.
use rmpi::Assertion;

fn main() {
    let _ = Assertion::noput() | Assertion::nostore();
}
