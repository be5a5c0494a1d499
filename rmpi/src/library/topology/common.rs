//! What the three topologies have in common.

use core::ops::Deref;

use rmpi_macros::wraps;

use super::super::communicator::Communicator;
use super::super::error::{Error, ErrorClass, RmpiResult, output};
use super::super::sys::{self, c_int};
use crate::TopologyKind;

/// A communicator whose processes have neighbours: what the three topologies have in common (MPI-5.0,
/// chapter 8), with the neighbourhood collective operations.
#[derive(Debug)]
pub struct Neighborhood<'ctx> {
    pub(super) communicator: Communicator<'ctx>,
    /// As MPI told when this value was made; MPI has it in the communicator, which does not change.
    pub(super) indegree: usize,
    pub(super) outdegree: usize,
}

impl<'ctx> Deref for Neighborhood<'ctx> {
    type Target = Communicator<'ctx>;
    fn deref(&self) -> &Communicator<'ctx> {
        &self.communicator
    }
}

impl Neighborhood<'_> {
    /// How many neighbours this process receives from; some may be `MPI_PROC_NULL`.
    pub const fn indegree(&self) -> usize {
        self.indegree
    }

    /// How many neighbours this process sends to; some may be `MPI_PROC_NULL`.
    pub const fn outdegree(&self) -> usize {
        self.outdegree
    }
}

/// What each kind has: it is its communicator, and can be made of one that has such a topology.
macro_rules! topology {
    ($name:ident = $kind:ident) => {
        impl<'ctx> Deref for $name<'ctx> {
            type Target = Neighborhood<'ctx>;
            fn deref(&self) -> &Neighborhood<'ctx> {
                &self.neighborhood
            }
        }

        impl<'ctx> $name<'ctx> {
            /// The topology of a communicator that has such a one, such as a duplicate.
            ///
            /// # Errors
            /// [`TOPOLOGY`](ErrorClass::TOPOLOGY) if it has not; the communicator is freed.
            pub fn new(communicator: Communicator<'ctx>) -> RmpiResult<Self> {
                if communicator.topo_test()? != TopologyKind::$kind {
                    return Err(Error::refused(
                        ErrorClass::TOPOLOGY,
                        "the communicator has not this topology",
                    ));
                }
                Self::known(communicator)
            }

            /// The communicator of a handle, which is freed with it.
            ///
            /// # Safety
            /// As for [`Communicator::from_raw`], at the level [`Single`](crate::Single).
            ///
            /// # Errors
            /// As [`new`](Self::new).
            pub unsafe fn from_raw(raw: MPI_Comm) -> RmpiResult<Self> {
                // SAFETY: `Communicator::from_raw` requires what this function's caller promises.
                Self::new(unsafe { Communicator::from_raw(raw) })
            }

            /// C's handle, which nobody frees any more.
            pub fn into_raw(self) -> MPI_Comm {
                self.into_communicator().into_raw()
            }

            /// The communicator, of which MPI still knows the topology.
            pub fn into_communicator(self) -> Communicator<'ctx> {
                self.neighborhood.communicator
            }
        }
    };
}
pub(super) use topology;

pub(super) fn refused<T>(reason: &'static str) -> RmpiResult<T> {
    Err(Error::refused(ErrorClass::DIMS, reason))
}

/// Numbers of MPI that are not negative.
pub(super) fn sizes(numbers: &[c_int]) -> Vec<usize> {
    numbers.iter().map(|number| usize::try_from(*number).unwrap_or(0)).collect()
}

impl Communicator<'_> {
    /// Which topology it has. C: `MPI_Topo_test`. Local.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// assert_eq!(world.topo_test()?, rmpi::TopologyKind::Undefined);
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Topo_test)]
    pub fn topo_test(&self) -> RmpiResult<TopologyKind> {
        // SAFETY: MPI_Topo_test requires a communicator, which `self` holds, and writes one int to
        // `kind`.
        let kind = output(sys::MPI_UNDEFINED, |kind| unsafe { mpi.call(self.as_raw(), kind) })?;
        TopologyKind::from_raw(kind)
            .ok_or(Error::refused(ErrorClass::TOPOLOGY, "MPI told an unknown topology"))
    }
}
