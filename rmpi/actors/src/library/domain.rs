//! The communicator of selectors.

use core::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use super::Error;
use super::mpi::{Communicator, MpiOp};
use crate::Settings;
use rmpi::Tag;

/// A communicator for selectors alone, so that no message of the program meets theirs.
#[derive(Debug)]
pub struct Domain<'ctx> {
    communicator: Communicator<'ctx>,
    rank: usize,
    size: usize,
    tags: Tags,
}

/// How many mailboxes have tags, two each: every MPI has 32,768 tags (MPI-5.0, 9.1.1).
const TAGS: u64 = 16_384;

/// The tags of mailboxes.
#[derive(Debug, Default)]
pub(super) struct Tags {
    /// The turn of the next mailbox. Its tag is the remainder by [`TAGS`], so that a tag is taken again as late as
    /// can be.
    next: Cell<u64>,
    taken: RefCell<BTreeSet<u64>>,
}

/// A tag of a mailbox, which nobody else has until this is dropped.
#[derive(Debug)]
pub(super) struct MailboxTag<'d> {
    tags: &'d Tags,
    number: u64,
}

impl MailboxTag<'_> {
    /// The two tags of messages.
    pub(super) fn pair(&self) -> [Tag; 2] {
        let first = 2 * self.number as u32;
        [Tag::new(first), Tag::new(first + 1)]
    }
}

impl Drop for MailboxTag<'_> {
    fn drop(&mut self) {
        self.tags.taken.borrow_mut().remove(&self.number);
    }
}

impl Tags {
    /// The next turn with so many free tags, one after the other; [`u64::MAX`] if there is none.
    fn propose(&self, mailboxes: u64) -> u64 {
        let (taken, start) = (self.taken.borrow(), self.next.get());
        let mut turn = start;
        while turn < start + TAGS {
            let first = turn % TAGS;
            if first + mailboxes > TAGS {
                turn += TAGS - first;
                continue;
            }
            match taken.range(first..first + mailboxes).next_back() {
                None => return turn,
                Some(last) => turn += last + 1 - first,
            }
        }
        u64::MAX
    }

    /// The tag of a turn.
    pub(super) fn take(&self, turn: u64) -> MailboxTag<'_> {
        let number = turn % TAGS;
        self.taken.borrow_mut().insert(number);
        MailboxTag { tags: self, number }
    }
}

impl<'ctx> Domain<'ctx> {
    /// Duplicates a communicator. The selectors of a domain may have
    /// 16,384 mailboxes at once. Collective. C: `MPI_Comm_dup`.
    ///
    /// # Errors
    /// What MPI says.
    pub fn new(communicator: &Communicator<'ctx>) -> Result<Self, Error> {
        let communicator = communicator.dup()?;
        let (rank, size) = (communicator.rank()?, communicator.size()?);
        Ok(Self { communicator, rank, size, tags: Tags::default() })
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

    pub(super) const fn tags(&self) -> &Tags {
        &self.tags
    }

    /// Are the settings possible, and the same everywhere? Returns the turn of the first of so many mailboxes, whose
    /// tags are free on all processes. Collective.
    ///
    /// The processes make selectors in one order, but may drop them in any.
    pub(super) fn agree(&self, settings: &Settings, mailboxes: u64) -> Result<u64, Error> {
        let possible = settings.buffer > 0
            && settings.away > 0
            && settings.receives > 0
            && i32::try_from(settings.buffer).is_ok();
        let length = settings.buffer as u64;
        loop {
            let turn = self.tags.propose(mailboxes);
            let mine = [length, !length, u64::from(!possible), turn, !turn];
            let mut greatest = [0; 5];
            self.communicator.allreduce(&mine[..], &mut greatest[..], MpiOp::MAX)?;
            let [longest, shortest, impossible, last, first] = greatest;
            if impossible != 0 {
                return Err(Error::Settings(
                    "buffer, away and receives must be at least 1, and a buffer shorter than 2^31",
                ));
            }
            if longest != !shortest {
                return Err(Error::Settings("all processes must give buffers the same length"));
            }
            if last == u64::MAX {
                return Err(Error::Settings("16,384 mailboxes of a domain live: drop some before"));
            }
            if last == !first {
                self.tags.next.set(last + mailboxes);
                return Ok(last);
            }
            self.tags.next.set(last);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_that_is_taken_is_passed_over() {
        let tags = Tags::default();
        let kept = tags.take(tags.propose(1));
        for turn in 1..3 * TAGS {
            tags.next.set(turn);
            let proposed = tags.propose(1);
            assert_eq!(proposed, if turn % TAGS == 0 { turn + 1 } else { turn });
        }
        // Of eight, none is among them, and none is beyond the end.
        tags.next.set(TAGS - 3);
        assert_eq!(tags.propose(8), TAGS + 1);
        drop(kept);
        assert_eq!(tags.propose(8), TAGS);
        let _all: Vec<_> = (0..TAGS).map(|turn| tags.take(turn)).collect();
        assert_eq!(tags.propose(1), u64::MAX);
    }
}
