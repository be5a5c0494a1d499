//! Sends and receives have buffers of different types, and so do their requests.
use rmpi::{Process, RequestSlice, RmpiResult, Tag};

fn example(left: Process<'_>, mine: &[f64], theirs: &mut [f64]) -> RmpiResult {
    rmpi::scope(|scope| -> RmpiResult {
        let mut requests = Vec::new();
        requests.push(Some(left.isend(scope, mine, Tag::new(0))?));
        requests.push(Some(left.irecv(scope, theirs, Tag::new(0))?));
        RequestSlice::new(&mut requests).waitall()
    })
}

fn main() {}
