//! Partitions are made ready by other threads at level `Multiple` only.

fn main() -> rmpi::RmpiResult {
    let context = rmpi::init()?;
    let world = rmpi::PartitionedCommunicator::new(context.world())?;
    let mut send = world.psend_init(0, vec![0.0; 10], 5, rmpi::Tag::new(0))?;
    send.start()?;
    let parts = send.partitions()?;
    std::thread::scope(|threads| {
        threads.spawn(|| parts.ready_range(0..5));
    });
    send.wait()
}
