//! What a handler has beside its state and the message.

use super::lane::Lane;
use super::task::Tasks;
use super::{Actor, Error, Has, Mailboxes};
use crate::Message;

/// Where a handler runs, and by what it sends on.
pub struct Context<'a, 'c, S: Actor> {
    pub(super) lanes: &'a mut <S::Mailboxes as Mailboxes<S>>::Lanes<'c>,
    pub(super) tasks: &'a mut Tasks<'c, S>,
    pub(super) from: usize,
    pub(super) rank: usize,
    pub(super) size: usize,
}

impl<S: Actor> core::fmt::Debug for Context<'_, '_, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Context").field("from", &self.from).field("rank", &self.rank).finish()
    }
}

impl<'c, S: Actor> Context<'_, 'c, S> {
    /// The rank of the process that sent the message; of a task, this process.
    #[inline]
    pub const fn sender(&self) -> usize {
        self.from
    }

    /// This process's rank.
    #[inline]
    pub const fn rank(&self) -> usize {
        self.rank
    }

    /// How many processes there are.
    #[inline]
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Sends a message to the mailbox of its type on a process, which may be this one. No handler runs before this
    /// one returns, and this function never waits: what cannot leave is kept.
    ///
    /// # Errors
    /// [`Error::NoSuchProcess`], before anything is sent, and what MPI says.
    #[inline]
    pub fn send<M: Message, I>(&mut self, to: usize, message: M) -> Result<(), Error>
    where
        <S::Mailboxes as Mailboxes<S>>::Lanes<'c>: Has<'c, M, I>,
    {
        let lane = self.lanes.lane();
        if lane.keep(to, message) {
            return Ok(());
        }
        send_slowly(lane, to, message)
    }
}

#[cold]
#[inline(never)]
fn send_slowly<M: Message>(lane: &mut Lane<'_, M>, to: usize, message: M) -> Result<(), Error> {
    lane.check(to)?;
    lane.make_room(to)?;
    lane.keep(to, message);
    Ok(())
}
