//! The communicator of selectors.

use core::cell::Cell;

use super::Error;
use super::mpi::{Communicator, MpiOp};
use crate::Settings;

/// A communicator for selectors alone, so that no message of the program meets theirs.
#[derive(Debug)]
pub struct Domain<'ctx> {
    communicator: Communicator<'ctx>,
    rank: usize,
    size: usize,
    next_tag: Cell<u32>,
}

/// How many mailboxes have tags, two each: every MPI has 32,768 tags (MPI-5.0, 9.1.1).
const TAGS: u32 = 16_384;

impl<'ctx> Domain<'ctx> {
    /// Duplicates a communicator. At most 2,048 selectors of a domain may live at once. Collective. C: `MPI_Comm_dup`.
    ///
    /// # Errors
    /// What MPI says.
    pub fn new(communicator: &Communicator<'ctx>) -> Result<Self, Error> {
        let communicator = communicator.dup()?;
        let (rank, size) = (communicator.rank()?, communicator.size()?);
        Ok(Self { communicator, rank, size, next_tag: Cell::new(0) })
    }

    /// This process's rank.
    pub const fn rank(&self) -> usize {
        self.rank
    }

    /// How many processes there are.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// The communicator, for collective operations outside of [`finish`](super::Selector::finish). Messages on it
    /// may take tags of selectors: send them on another one.
    pub const fn communicator(&self) -> &Communicator<'ctx> {
        &self.communicator
    }

    /// The first tag of a new selector with so many mailboxes. The processes make selectors in one order, so that
    /// they all take the same. A tag is taken again after all others: when a selector is made, the one that had
    /// the tag is gone on all processes, since [`agree`](Self::agree) waits for them.
    pub(super) fn take_tags(&self, mailboxes: u32) -> u32 {
        let next = self.next_tag.get();
        let first = if next + mailboxes > TAGS { 0 } else { next };
        self.next_tag.set(first + mailboxes);
        first
    }

    /// Are the settings possible, and the same everywhere? Collective.
    pub(super) fn agree(&self, settings: &Settings) -> Result<(), Error> {
        let possible = settings.buffer > 0
            && settings.away > 0
            && settings.receives > 0
            && i32::try_from(settings.buffer).is_ok();
        let length = settings.buffer as u64;
        let mine = [length, u64::MAX - length, u64::from(!possible)];
        let mut greatest = [0; 3];
        self.communicator.allreduce(&mine[..], &mut greatest[..], MpiOp::MAX)?;
        if greatest[2] != 0 {
            return Err(Error::Settings(
                "buffer, away and receives must be at least 1, and a buffer shorter than 2^31",
            ));
        }
        if greatest[0] != u64::MAX - greatest[1] {
            return Err(Error::Settings("all processes must give buffers the same length"));
        }
        Ok(())
    }
}
