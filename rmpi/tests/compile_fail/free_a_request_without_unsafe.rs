//! Nobody knows when MPI is done with the buffer of a freed request.
use rmpi::{Request, RmpiResult};

fn example(request: Request<'_, &[f64]>) -> RmpiResult {
    request.free()
}

fn main() {}
