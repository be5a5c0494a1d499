//! MPI sends and receives with committed datatypes only, and the message says what is missing.

use rmpi::{Datatype, DatatypeRef, RmpiContext, RmpiResult, Tag, TypeDynamicBufferRef};

fn example(context: &RmpiContext) -> RmpiResult {
    let three = Datatype::contiguous(context, 3, &DatatypeRef::of::<i32>(context)?)?;
    let numbers = [0_u8; 12];
    let buffer = TypeDynamicBufferRef::from_bytes(&numbers, 1, three.as_ref())?;
    context.world().process(0).send(buffer, Tag::new(0))
}

fn main() {}
