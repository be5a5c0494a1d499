//! A value travels in serde's form: its type derives both of serde's traits.
use rmpi::{MessageResult, TypedCommunicator};

struct Settings {
    steps: u32,
}

fn example(world: &TypedCommunicator<'_>, settings: &Settings) -> MessageResult<Settings> {
    world.broadcast_value(0, Some(settings))
}

fn main() {}
