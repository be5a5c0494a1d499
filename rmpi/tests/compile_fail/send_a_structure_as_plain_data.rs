//! The envelope has no room for its name: it travels by `send_value`.
use rmpi::{MpiDatatype, RmpiResult, TypedProcess};

#[derive(Clone, Copy, MpiDatatype)]
struct Particle {
    position: [f64; 3],
}

fn example(to: TypedProcess<'_>, particles: &[Particle]) -> RmpiResult {
    to.send(particles)
}

fn main() {}
