//! heimdallr's first faulty program: numbers of one type, and a message of another. The buffer's type
//! is the message's.
use rmpi::{Process, RmpiResult, Tag, TypedProcess};

fn example(to: Process<'_>, typed: TypedProcess<'_>) -> RmpiResult {
    let numbers = vec![42.0_f64; 100];
    to.isend_owned::<Vec<f32>>(numbers.clone(), Tag::new(0))?;
    typed.send::<f32>(&numbers)
}

fn main() {}
