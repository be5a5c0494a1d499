//! The same with rsmpi.

use mpi::collective::SystemOperation;
use mpi::point_to_point::send_receive_into_with_tags;
use mpi::traits::*;

fn main() {
    let universe = mpi::initialize().expect("MPI is not initialized");
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let left = world.process_at_rank((rank + size - 1) % size);
    let right = world.process_at_rank((rank + 1) % size);
    let sent = [rank; 1000];
    let mut received = [0; 1000];
    for _ in 0..5 {
        mpi::request::scope(|scope| {
            let receive = left.immediate_receive_into_with_tag(scope, &mut received[..], 1);
            let send = right.immediate_send_with_tag(scope, &sent[..], 1);
            receive.wait();
            send.wait();
        });
        send_receive_into_with_tags(&sent[..], &right, 2, &mut received[..], &left, 2);
    }
    let mut values = [0.0; 500];
    world.process_at_rank(0).broadcast_into(&mut values[..]);
    let mut sums = [0; 10];
    world.all_reduce_into(&received[..10], &mut sums[..], SystemOperation::sum());
    world.barrier();
    if rank == 0 {
        println!("sum {}", sums[9]);
    }
}
