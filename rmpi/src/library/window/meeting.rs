//! Where the processes of a window meet.

use core::cell::RefCell;

use super::super::communicator::Communicator;
use super::super::error::{Error, ErrorClass, RmpiResult};

/// A communicator of a window's processes that nobody else has.
///
/// MPI's functions of a window know a process that comes from one that comes to another function: a process that frees a
/// window may meet one that begins an epoch of fences, and go on, and the other one writes to memory that is
/// somebody else's then. Here nobody comes but to free the window, or to do what else all of its processes do together, and
/// so nobody is in an epoch.
#[derive(Debug)]
pub(super) struct Meeting(RefCell<Option<Communicator<'static>>>);

impl Meeting {
    /// For a window that is made next. Collective.
    pub(super) fn new(communicator: &Communicator<'_>) -> RmpiResult<Self> {
        let copy = communicator.dup()?;
        // SAFETY: `from_raw` asks for an intracommunicator whose errors return, which nobody else frees, while
        // MPI runs for its lifetime. `dup` made one, with its parent's error handler. It ends with the
        // window, or with the scope of its memory, and MPI runs until then.
        let copy = unsafe { Communicator::<'static>::from_raw(copy.into_raw()) };
        Ok(Self(RefCell::new(Some(copy))))
    }

    /// Does something with the communicator, which there is until the window is freed.
    pub(super) fn with<R>(
        &self,
        f: impl FnOnce(&Communicator<'static>) -> RmpiResult<R>,
    ) -> RmpiResult<R> {
        match &*self.0.borrow() {
            Some(communicator) => f(communicator),
            None => Err(Error::refused(ErrorClass::WIN, "the window is freed")),
        }
    }

    /// Waits for all processes of the window.
    pub(super) fn wait(&self) -> RmpiResult {
        self.with(Communicator::barrier)
    }

    /// The window is freed: nobody meets any more.
    pub(super) fn end(&self) {
        drop(self.0.take());
    }
}
