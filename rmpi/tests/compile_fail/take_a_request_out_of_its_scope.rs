//! The scope ends it.
use rmpi::{Process, RmpiResult, Tag};

fn example(to: Process<'_>, numbers: &[f64]) -> RmpiResult {
    let request = rmpi::scope(|scope| to.isend(scope, numbers, Tag::new(0)))?;
    request.wait()?;
    Ok(())
}

fn main() {}
