//! Values of any type that `serde` knows: from one process to all, of all at one, and combined.

use std::collections::BTreeMap;

use rmpi::{MessageResult, TypedCommunicator};

type Dictionary = BTreeMap<String, Vec<Option<f64>>>;

fn main() -> MessageResult {
    let context = rmpi::init()?;
    let world = TypedCommunicator::new(context.world())?;
    let (rank, size) = (world.rank()?, world.size()?);
    let of = |rank: usize| Dictionary::from([(format!("rank {rank}"), vec![Some(7.5), None])]);

    // mpi4py: comm.bcast(d), comm.gather(d), comm.allreduce(d, op)
    let first = world.broadcast_value(0, (rank == 0).then(|| of(0)).as_ref())?;
    assert_eq!(first, of(0));
    let all = world.gather_values(0, &of(rank))?;
    assert_eq!(all, (rank == 0).then(|| (0..size).map(of).collect()));
    let merged = world.allreduce_values(of(rank), |mut merged, more| {
        merged.extend(more);
        merged
    })?;
    assert_eq!(merged, (0..size).flat_map(of).collect());
    if rank == 0 {
        println!("right on {size} ranks");
    }
    Ok(())
}
