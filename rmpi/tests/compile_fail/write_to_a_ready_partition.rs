//! What is ready is MPI's.

fn main() -> rmpi::RmpiResult {
    let context = rmpi::init()?;
    let world = rmpi::PartitionedCommunicator::new(context.world())?;
    let mut send = world.psend_init(0, vec![0.0; 10], 5, rmpi::Tag::new(0))?;
    send.start()?;
    let mut part = send.partitions()?.get(0)?;
    part.ready()?;
    part[0] = 1.0;
    send.wait()
}
