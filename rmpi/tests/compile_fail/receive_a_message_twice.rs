//! A matched message is received once.
use rmpi::{Message, RmpiResult};

fn example(message: Message<'_>) -> RmpiResult {
    message.mrecv(&mut [0.0; 3])?;
    message.mrecv(&mut [0.0; 3])?;
    Ok(())
}

fn main() {}
