//! A communicator that is made while the process goes on.

use core::marker::PhantomData;
use core::ptr::NonNull;

use rmpi_macros::wraps;

use super::super::communicator::{Communicator, made, none_made};
use super::super::error::{RmpiResult, output};
use super::super::request::{Request, Scope};
use super::super::sys::{self, MPI_Comm};

impl<'ctx> Communicator<'ctx> {
    /// Begins to make a communicator of the same processes. C: `MPI_Comm_idup`. Local; all processes
    /// call it, in the same order as other collective operations.
    ///
    /// # Errors
    /// What MPI says.
    ///
    /// ```no_run
    /// # fn example(world: &rmpi::Communicator<'_>) -> rmpi::RmpiResult {
    /// let copy = rmpi::scope(|scope| world.idup(scope)?.wait()?.into_communicator())?;
    /// # Ok(()) }
    /// ```
    #[wraps(MPI_Comm_idup)]
    pub fn idup<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
    ) -> RmpiResult<Request<'scope, NewCommunicator<'ctx>>> {
        self.intra()?;
        let new = NewCommunicator {
            raw: NonNull::from(Box::leak(Box::new(sys::MPI_COMM_NULL))),
            _context: PhantomData,
        };
        // SAFETY: `begin_lasting` requires an operation that uses the buffer's memory only, wherever
        // the buffer moves, while MPI runs for `'scope`: MPI writes the handle to a box that was leaked
        // above and is freed by `into_communicator` only, after the wait; and `self`, of which MPI
        // makes it, is borrowed for `'scope`.
        unsafe {
            scope.begin_lasting(new, |new| {
                output(sys::MPI_REQUEST_NULL, |request| {
                    mpi.call(self.as_raw(), new.raw.as_ptr(), request)
                })
            })
        }
    }
}

/// Where [`Communicator::idup`] puts the new communicator. One that nobody takes is leaked.
#[derive(Debug)]
#[must_use = "a communicator that nobody takes is leaked"]
pub struct NewCommunicator<'ctx> {
    raw: NonNull<MPI_Comm>,
    _context: PhantomData<&'ctx ()>,
}

impl<'ctx> NewCommunicator<'ctx> {
    /// The communicator.
    ///
    /// # Errors
    /// [`COMM`](super::super::ErrorClass::COMM) if MPI made none.
    pub fn into_communicator(self) -> RmpiResult<Communicator<'ctx>> {
        // SAFETY: `Box::from_raw` requires the pointer of a box, once: `idup` leaked it, `self` is
        // moved here, and no request writes to it any more: a request gives its buffer back when it is
        // complete.
        made(*unsafe { Box::from_raw(self.raw.as_ptr()) }).ok_or_else(none_made)
    }
}
