//! What travels as bytes has no padding, and is valid whatever they are.
use rmpi::{Foreign, Process, RmpiResult, Tag};

#[derive(Clone, Copy)]
#[repr(C)]
struct Padded {
    small: u8,
    large: u32,
}

fn example(other: Process<'_>, padded: &[Padded], flags: &mut [bool]) -> RmpiResult {
    other.send(Foreign::slice(padded), Tag::new(0))?;
    other.recv(Foreign::slice_mut(flags), Tag::new(0))
}

fn main() {}
