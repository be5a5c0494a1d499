//! Not every byte is a bool, in a struct neither.
use rmpi::MpiDatatype;

#[derive(Clone, Copy, MpiDatatype)]
struct Particle {
    position: [f64; 3],
    is_alive: bool,
}

fn main() {}
