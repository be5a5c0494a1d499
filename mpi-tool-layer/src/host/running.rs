//! MPI while it runs: what a tool is given when MPI has started, and when it is about to end.

use core::marker::PhantomData;

use super::world::ActiveWorld;

/// MPI, which runs in this process: what [`Tool::started`](crate::Tool::started) and
/// [`Tool::ending`](crate::Tool::ending) get.
#[derive(Debug)]
pub struct RunningMpi {
    world: Option<ActiveWorld>,
    /// What rmpi needs, from the first call on that wants it.
    #[cfg(feature = "rmpi")]
    lent: core::cell::OnceCell<Option<crate::rmpi::LentContext>>,
    /// Of the call in which it was made: not for other threads.
    here: PhantomData<*const ()>,
}

impl RunningMpi {
    /// In a call of the application's that starts or ends MPI.
    pub(crate) fn new() -> Self {
        Self { world: ActiveWorld::now(), ..Self::without_world() }
    }

    /// In a call that starts or ends a session. What there is of a world beside it is other threads' matter.
    pub(crate) fn without_world() -> Self {
        Self {
            world: None,
            #[cfg(feature = "rmpi")]
            lent: core::cell::OnceCell::new(),
            here: PhantomData,
        }
    }

    /// This process's rank in `MPI_COMM_WORLD`, and how many ranks there are. `None` of a process that has sessions only,
    /// and where the MPI is not one of the tool's ABI.
    pub fn position(&self) -> Option<(u32, u32)> {
        self.world?.position()
    }

    /// Calls a function with a communicator of all processes of `MPI_COMM_WORLD`, which no other tool nor the application
    /// knows; errors return. Once the tool has returned, an error does not say any more what it means. `None` where there is [no world](Self::position), or if MPI does not make the communicator.
    ///
    /// Collective: the tools of all ranks call it, as often. A rank that has the tool no more, or another version of it that
    /// does not call this, lets the others wait for ever.
    ///
    /// ```
    /// use mpi_tool_layer::{MpiInterceptionLayer, RunningMpi, Tool, rmpi::MpiOp, say};
    ///
    /// struct Ranks;
    /// impl MpiInterceptionLayer for Ranks {}
    ///
    /// impl Tool for Ranks {
    ///     const NEW: Self = Ranks;
    ///
    ///     /// Rank 0 says the sum of all ranks.
    ///     fn ending(&self, mpi: &RunningMpi) {
    ///         let sum = mpi.with_world(|world| {
    ///             let mut sum = 0;
    ///             world.allreduce(&world.rank()?, &mut sum, MpiOp::SUM).map(|()| sum)
    ///         });
    ///         if let (Some(Ok(sum)), Some((0, _))) = (sum, mpi.position()) {
    ///             say(format_args!("sum of ranks: {sum}"));
    ///         }
    ///     }
    /// }
    /// ```
    #[cfg(feature = "rmpi")]
    pub fn with_world<R>(
        &self,
        function: impl for<'a> FnOnce(&crate::rmpi::Communicator<'a>) -> R,
    ) -> Option<R> {
        use crate::host::world::ErrorsReturn;
        use crate::kit::gather::OwnComm;
        use crate::rmpi::{Communicator, RmpiContext, Single};

        let world = self.world?;
        let _errors = ErrorsReturn::on(world).ok()?;
        let own = OwnComm::new(world).ok()?;
        // SAFETY: until it is dropped, MPI must run, be this thread's to call, and nobody else's; errors must return while it is
        // used. It is dropped with this value, before the call returns that starts or ends the world: the standard lets one
        // thread do so, while no other one calls MPI. It is used here only, where errors of the world and of `MPI_COMM_SELF`
        // return.
        let lend = || unsafe { RmpiContext::<Single>::lend() }.ok();
        self.lent.get_or_init(lend).as_ref()?;
        // SAFETY: it must be an intracommunicator whose errors return, which nobody frees meanwhile: it is, and it is freed
        // below. Of MPI, this wants what the context does.
        let comm = unsafe { Communicator::borrow_raw(own.comm()) };
        Some(function(&comm))
    }
}
