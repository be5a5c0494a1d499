//! A reduction of the program's own values by its own function: the box around the points of all processes.

use rmpi::{MpiDatatype, RmpiResult, UserOp};

#[derive(Debug, Clone, Copy, PartialEq, MpiDatatype)]
struct Extent {
    least: [f64; 2],
    most: [f64; 2],
}

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    let (rank, size) = (world.rank()?, world.size()?);

    // Commutative: MPI may take the processes in any order.
    let around = UserOp::create(&context, true, |some: &[Extent], all: &mut [Extent]| {
        for (some, all) in some.iter().zip(all) {
            for axis in 0..2 {
                all.least[axis] = all.least[axis].min(some.least[axis]);
                all.most[axis] = all.most[axis].max(some.most[axis]);
            }
        }
    })?;
    // On a line from the left and above to the right and below.
    let point = [rank as f64, -(rank as f64)];
    let mut all = Extent { least: [0.0; 2], most: [0.0; 2] };
    world.allreduce(&Extent { least: point, most: point }, &mut all, &around)?;

    let last = (size - 1) as f64;
    assert_eq!(all, Extent { least: [0.0, -last], most: [last, 0.0] });
    if rank == 0 {
        println!("extent: right on {size} ranks");
    }
    Ok(())
}
