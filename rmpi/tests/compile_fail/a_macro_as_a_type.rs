//! A macro may make another type each time it is asked, and a type map of another type would let MPI make invalid
//! values.

use rmpi::{MpiDatatype, SendDatatype};

macro_rules! number {
    () => {
        u8
    };
}

macro_rules! length {
    () => {
        3
    };
}

#[derive(Clone, Copy, MpiDatatype)]
struct Received {
    number: number!(),
}

#[derive(Clone, Copy, SendDatatype)]
struct Sent([u8; length!()]);

fn main() {}
