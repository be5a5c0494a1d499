//! What MPI uses in the background is borrowed by a scope.
use rmpi::{Process, RmpiResult, Tag};

fn example(left: Process<'_>, right: Process<'_>) -> RmpiResult {
    let (mine, mut theirs) = ([1.0; 10], [0.0; 10]);
    let receive = left.irecv(&mut theirs, Tag::new(0))?;
    let send = right.isend(&mine, Tag::new(0))?;
    receive.wait()?;
    send.wait()
}

fn main() {}
