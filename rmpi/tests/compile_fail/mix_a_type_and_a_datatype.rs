//! Bytes with a datatype are no slice of a type.
use rmpi::{DatatypeRef, RmpiResult, TypeDynamicBufferMut};

fn example(numbers: &mut [f64], datatype: DatatypeRef<'_>) -> RmpiResult {
    let buffer = TypeDynamicBufferMut::from_bytes(numbers, 3, datatype)?;
    Ok(())
}

fn main() {}
