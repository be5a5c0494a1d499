//! Messages around a ring, then three collective operations. `cargo xtask matrix` counts its calls with the
//! same program in other languages, in `system-tests/tests/visibility`.

use rmpi::{MpiOp, RmpiResult, Tag};

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    let (rank, size) = (world.rank()?, world.size()?);
    let (left, right) = (world.process((rank + size - 1) % size), world.process((rank + 1) % size));
    let sent = [rank as i32; 1000];
    let mut received = [0; 1000];
    for _ in 0..5 {
        rmpi::scope(|scope| {
            let receive = left.irecv(scope, &mut received, Tag::new(1))?;
            let send = right.isend(scope, &sent, Tag::new(1))?;
            receive.wait()?;
            send.wait().map(drop)
        })?;
        right.sendrecv(&sent, Tag::new(2), &left, &mut received, Tag::new(2))?;
    }
    world.process(0).bcast(&mut [0.0; 500])?;
    let mut sums = [0; 10];
    world.allreduce(&received[..10], &mut sums[..], MpiOp::SUM)?;
    world.barrier()?;
    // Each process got its neighbour's rank.
    assert_eq!(sums, [(size * (size - 1) / 2) as i32; 10]);
    if rank == 0 {
        println!("ring: right on {size} ranks");
    }
    Ok(())
}
