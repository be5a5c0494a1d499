use super::super::communicator::Communicator;
use super::super::error::RmpiResult;
#[cfg(doc)]
use super::{PartitionedReceive, PartitionedSend};

/// A communicator for partitioned messages: one buffer, whose parts are made ready by the sender and arrive at the
/// receiver one by one, often by several threads ([`PartitionedSend`], [`PartitionedReceive`]).
///
/// It is a duplicate, since the two sides of a message tell each other its length first, in a small message when they
/// are prepared. The standard has both sides agree on that, and not every MPI looks: Open MPI writes behind a receive
/// buffer that is too short. Programs that call C on the other side take part if they send that message, too.
///
/// ```no_run
/// use rmpi::{PartitionedCommunicator, Tag};
///
/// let context = rmpi::init()?;
/// let world = PartitionedCommunicator::new(context.world())?;
/// match world.communicator().rank()? {
///     0 => {
///         let mut send = world.psend_init(1, vec![0.0; 100], 10, Tag::new(0))?;
///         for step in 0..5 {
///             send.start()?;
///             let parts = send.partitions()?;
///             for number in 0..parts.len() {
///                 let mut part = parts.get(number)?;
///                 part.fill(f64::from(step));
///                 part.ready()?;
///             }
///             send.wait()?;
///         }
///     }
///     1 => {
///         let mut receive = world.precv_init(0, vec![0.0; 100], 10, Tag::new(0))?;
///         for _ in 0..5 {
///             receive.start()?;
///             while receive.arrivals()?.get(3)?.is_none() {}
///             receive.wait()?;
///             println!("{:?}", receive.buffer()?);
///         }
///     }
///     _ => {}
/// }
/// # Ok::<(), rmpi::Error>(())
/// ```
#[derive(Debug)]
pub struct PartitionedCommunicator<'ctx> {
    pub(super) communicator: Communicator<'ctx>,
}

impl<'ctx> PartitionedCommunicator<'ctx> {
    /// A duplicate for partitioned messages. C: `MPI_Comm_dup`. Collective.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let messages = rmpi::PartitionedCommunicator::new(world)?;
    /// # Ok(()) }
    /// ```
    pub fn new(communicator: &Communicator<'ctx>) -> RmpiResult<Self> {
        Ok(Self { communicator: communicator.dup()? })
    }

    /// The communicator below, for its rank and size, and for collective operations. Messages in it disturb those of
    /// this one.
    pub const fn communicator(&self) -> &Communicator<'ctx> {
        &self.communicator
    }
}
