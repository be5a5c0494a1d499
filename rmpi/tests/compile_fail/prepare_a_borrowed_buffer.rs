//! A persistent request outside of a scope may be forgotten: a borrowed buffer would not last.
use rmpi::{Process, RmpiResult, Tag};

fn example(to: Process<'_>) -> RmpiResult {
    let numbers = [1.0; 100];
    let mut request = to.send_init_owned(&numbers[..], Tag::new(0))?;
    request.start()?;
    core::mem::forget(request);
    Ok(())
}

fn main() {}
