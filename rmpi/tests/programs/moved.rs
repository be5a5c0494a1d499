//! What owned and typed messages move, to the byte: prints what a tool should have measured on this
//! rank, for `tests/examples.rs`.

use std::collections::BTreeMap;

use rmpi::{MessageResult, Tag, TypedCommunicator};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Point {
    x: f64,
    name: String,
}

/// Elements by what a tool calls them.
#[derive(Default)]
struct Moved(BTreeMap<(&'static str, &'static str), (u64, u64)>);

impl Moved {
    /// So many elements of a size, both ways.
    fn both(&mut self, datatype: &'static str, elements: u64, size: u64) {
        for flow in ["sent", "received"] {
            let moved = self.0.entry((flow, datatype)).or_default();
            *moved = (moved.0 + elements, moved.1 + elements * size);
        }
    }
}

fn main() -> MessageResult {
    let context = rmpi::init()?;
    let world = TypedCommunicator::new(context.world())?;
    let me = world.process(world.rank()?);
    let other = context.world().process(world.rank()?);
    let mut moved = Moved::default();

    for length in [0, 1, 100, 10_000] {
        let sent = other.isend_owned(vec![1_i64; length], Tag::new(0))?;
        other.irecv_owned(vec![0_i64; length].into_boxed_slice(), Tag::new(0))?.wait()?;
        sent.wait()?;
        moved.both("MPI_INT64_T", length as u64, 8);
        // The envelope has the type: nothing is added.
        let sent = me.isend_owned(vec![1.0; length])?;
        me.recv_vec::<f64>()?;
        sent.wait()?;
        moved.both("MPI_DOUBLE", length as u64, 8);
        let sent = me.isend_owned(vec![1_u16; length])?;
        me.recv(&mut vec![0_u16; length])?;
        sent.wait()?;
        moved.both("MPI_UINT16_T", length as u64, 2);

        // A header of 14 bytes and the name; eight bytes of the number, the length of the text in
        // groups of seven bits, and the text.
        let value = Point { x: 0.5, name: "n".repeat(length) };
        let sent = me.isend_value(&value)?;
        let (got, _) = me.recv_value::<Point>()?;
        assert!(got.x == value.x && got.name == value.name);
        sent.wait()?;
        let prefix = if length < 128 { 1 } else { 2 };
        let bytes = 14 + "moved::Point".len() + 8 + prefix + length;
        moved.both("MPI_UINT8_T", bytes as u64, 1);
    }
    // A message that is refused was received all the same.
    let sent = me.isend_owned(vec![1_f32; 10])?;
    assert!(me.recv_vec::<i32>().is_err());
    sent.wait()?;
    moved.both("MPI_FLOAT", 10, 4);

    for ((flow, datatype), (elements, bytes)) in moved.0 {
        println!("elements|{flow}|point-to-point|{datatype} {elements}");
        println!("bytes|{flow}|point-to-point|{datatype} {bytes}");
    }
    println!("moved: right on {} ranks", world.size()?);
    Ok(())
}
