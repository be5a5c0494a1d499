//! heimdallr's second faulty program: the buffer is MPI's until the request gives it back.
use rmpi::{Process, RmpiResult, Tag};

fn example(to: Process<'_>) -> RmpiResult {
    let mut numbers = vec![1.0; 100];
    let request = to.isend_owned(numbers, Tag::new(0))?;
    for number in &mut numbers {
        *number = 42.0;
    }
    request.wait().map(drop)
}

fn main() {}
