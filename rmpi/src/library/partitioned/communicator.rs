use core::cell::Cell;

use super::super::communicator::Communicator;
use super::super::error::{Error, ErrorClass, RmpiResult};
use super::super::failure::open_mpi_goes_on;
use super::super::sys::c_int;
#[cfg(doc)]
use super::{PartitionedReceive, PartitionedSend};

/// A communicator for partitioned messages: one buffer, whose parts are made ready by the sender and arrive at the
/// receiver one by one, often by several threads ([`PartitionedSend`], [`PartitionedReceive`]).
///
/// It is two duplicates, which nobody else has: in one, the sender tells the length in a small message when it is prepared,
/// and in the other one the parts travel. The standard has both sides agree on the length, and not every MPI looks: Open MPI
/// 5.0.11 writes behind a receive buffer that is too short, even before the receive is started (tried).
///
/// ```no_run
/// use rmpi::{PartitionedCommunicator, Tag};
///
/// let context = rmpi::init()?;
/// let world = PartitionedCommunicator::new(context.world())?;
/// match world.rank()? {
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
    /// For what the sender tells.
    pub(super) words: Communicator<'ctx>,
    /// For the parts.
    pub(super) data: Communicator<'ctx>,
    /// The tag of the next send, and the last one that there is.
    tags: (Cell<c_int>, c_int),
}

impl<'ctx> PartitionedCommunicator<'ctx> {
    /// Duplicates for partitioned messages. C: `MPI_Comm_dup`, twice. Collective.
    ///
    /// # Errors
    /// [`UNSUPPORTED_OPERATION`](ErrorClass::UNSUPPORTED_OPERATION) if Open MPI was started so that processes go on where others
    /// fail (`--with-ft ulfm`): 5.0.11 says then that the message of a process that has failed has come, and waits for one
    /// that it was to receive. What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let messages = rmpi::PartitionedCommunicator::new(world)?;
    /// # Ok(()) }
    /// ```
    pub fn new(communicator: &Communicator<'ctx>) -> RmpiResult<Self> {
        if mpi_sys::ABI == mpi_sys::Abi::OpenMpi && open_mpi_goes_on() == Some(true) {
            return Err(Error::refused(
                ErrorClass::UNSUPPORTED_OPERATION,
                "Open MPI takes partitioned messages of processes that have failed for complete, or waits for them",
            ));
        }
        // All MPIs have so many.
        let last = communicator.tag_ub()?.and_then(|last| c_int::try_from(last).ok());
        Ok(Self {
            words: communicator.dup()?,
            data: communicator.dup()?,
            tags: (Cell::new(0), last.unwrap_or(32767)),
        })
    }

    /// This process's rank. C: `MPI_Comm_rank`. Local.
    ///
    /// # Errors
    /// What MPI says.
    pub fn rank(&self) -> RmpiResult<usize> {
        self.words.rank()
    }

    /// How many processes there are. C: `MPI_Comm_size`. Local.
    ///
    /// # Errors
    /// What MPI says.
    pub fn size(&self) -> RmpiResult<usize> {
        self.words.size()
    }

    /// A tag that no send before has had: what was left of one, such as of one that was forgotten, is not received by
    /// others.
    pub(super) fn next_tag(&self) -> RmpiResult<c_int> {
        let (next, last) = &self.tags;
        let tag = next.get();
        if tag >= *last {
            return Err(Error::refused(
                ErrorClass::TAG,
                "there were as many sends as there are tags: make another partitioned communicator",
            ));
        }
        next.set(tag + 1);
        Ok(tag)
    }
}
