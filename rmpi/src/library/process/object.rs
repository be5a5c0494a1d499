//! Processes, to send to, and sources, to receive from.

use core::ops::Deref;

use super::super::communicator::Communicator;
use super::super::error::{Error, ErrorClass, RmpiResult};
use super::super::sys::{self, MPI_Comm, c_int};
use crate::TagSelector;
use crate::place::Place;

/// To or from whom, and with which tag: C's two numbers, which rmpi has looked at.
#[derive(Clone, Copy)]
pub(super) struct Envelope {
    pub(super) rank: c_int,
    pub(super) tag: c_int,
}

/// Where messages come from: a [`Process`], or any, by
/// [`any_source`](Communicator::any_source). What can be received and probed is here.
#[derive(Debug, Clone, Copy)]
pub struct Source<'c> {
    pub(in super::super) communicator: &'c Communicator<'c>,
    pub(in super::super) rank: c_int,
}

/// A process of a communicator: a communicator and a rank. Messages can be sent to it;
/// it is the root of collective operations; and it is a [`Source`].
#[derive(Debug, Clone, Copy)]
pub struct Process<'c>(Source<'c>);

impl<'c> Deref for Process<'c> {
    type Target = Source<'c>;
    fn deref(&self) -> &Source<'c> {
        &self.0
    }
}

impl<'c> From<Process<'c>> for Source<'c> {
    fn from(process: Process<'c>) -> Self {
        process.0
    }
}

impl<'c> Source<'c> {
    pub(in super::super) fn new(communicator: &'c Communicator<'c>, rank: c_int) -> Self {
        Self { communicator, rank }
    }

    /// The communicator.
    pub const fn communicator(&self) -> &'c Communicator<'c> {
        self.communicator
    }

    /// The rank; `None` for `MPI_ANY_SOURCE` and `MPI_PROC_NULL`.
    pub fn rank(&self) -> Option<usize> {
        self.rank.try_into().ok()
    }

    /// C's arguments: the communicator and the rank.
    pub const fn into_raw(self) -> (MPI_Comm, c_int) {
        (self.communicator.as_raw(), self.rank)
    }

    /// An error of a function of this source.
    #[cold]
    #[inline(never)]
    pub(in super::super) fn blame(&self, error: &mut Error, place: &'static Place) {
        self.communicator.blame(error, place);
    }

    #[inline]
    pub(in super::super) fn comm(&self) -> MPI_Comm {
        self.communicator.as_raw()
    }

    /// C's rank, if the communicator has such a process. Not every MPI looks: what it does not check, it
    /// takes for the index of an array.
    ///
    /// # Errors
    /// [`RANK`](ErrorClass::RANK) if there is none.
    #[inline]
    pub(in super::super) fn peer(&self) -> RmpiResult<c_int> {
        // The special ranks are negative, and every communicator has them.
        if self.rank < self.communicator.peers()? {
            return Ok(self.rank);
        }
        Err(Error::refused(ErrorClass::RANK, "the communicator has no process of that rank"))
    }

    #[inline]
    pub(super) fn envelope(&self, tag: impl TagSelector) -> RmpiResult<Envelope> {
        Ok(Envelope { rank: self.peer()?, tag: tag_of(tag)? })
    }
}

/// C's tag, if it is one.
#[inline]
pub(in super::super) fn tag_of(tag: impl TagSelector) -> RmpiResult<c_int> {
    tag.number().ok_or(Error::refused(ErrorClass::TAG, "a tag is at most 2147483647"))
}

/// A call with a message's arguments, which most functions here begin with.
macro_rules! call {
    ($mpi:ident, $peer:expr, $raw:ident, $envelope:ident $(, $last:expr)?) => {
        $mpi.call(
            $raw.pointer,
            $raw.count,
            $raw.datatype,
            $envelope.rank,
            $envelope.tag,
            $peer.comm(),
            $($last)?
        )
    };
}
pub(super) use call;

impl<'c> Process<'c> {
    pub(in super::super) fn new(communicator: &'c Communicator<'c>, rank: c_int) -> Self {
        Self(Source::new(communicator, rank))
    }

    /// An error of a function of this process.
    #[cold]
    #[inline(never)]
    pub(in super::super) fn blame(&self, error: &mut Error, place: &'static Place) {
        self.communicator.blame(error, place);
    }

    /// The process of C's arguments.
    ///
    /// # Safety
    /// The rank is `MPI_PROC_NULL`, or not negative: whether the communicator has it is asked for later, but other
    /// special ones would go to MPI, where they mean nothing.
    pub const unsafe fn from_raw(communicator: &'c Communicator<'c>, rank: c_int) -> Self {
        Self(Source { communicator, rank })
    }
}

impl Communicator<'_> {
    /// The process of this rank. Calls nothing: if there is none, sending to it is an error of class
    /// [`RANK`](ErrorClass::RANK). The first message of a communicator asks for its size, once.
    pub fn process(&self, rank: usize) -> Process<'_> {
        // No MPI has as many processes, and negative numbers have meanings.
        Process::new(self, c_int::try_from(rank).unwrap_or(c_int::MAX))
    }

    /// `MPI_PROC_NULL`: sends to it and receives from it do nothing.
    pub fn process_null(&self) -> Process<'_> {
        Process::new(self, sys::MPI_PROC_NULL)
    }

    /// `MPI_ANY_SOURCE`: receives from it take a message of any process.
    pub fn any_source(&self) -> Source<'_> {
        Source::new(self, sys::MPI_ANY_SOURCE)
    }
}
