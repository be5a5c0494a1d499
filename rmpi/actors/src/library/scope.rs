//! What the main program does in a scope.

use super::dispatch::Lanes as _;
use super::{Actor, Error, Has, Mailboxes, Selector};
use crate::message::{self, Message};

/// A [`finish`](Selector::finish) that runs.
pub struct Scope<'s, 'c, S: Actor> {
    pub(super) selector: &'s mut Selector<'c, S>,
}

impl<S: Actor + core::fmt::Debug> core::fmt::Debug for Scope<'_, '_, S> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Scope").field("selector", &self.selector).finish()
    }
}

impl<'s, 'c, S: Actor> Scope<'s, 'c, S> {
    pub(super) const fn new(selector: &'s mut Selector<'c, S>) -> Self {
        Self { selector }
    }

    /// This process's rank.
    pub const fn rank(&self) -> usize {
        self.selector.domain.rank()
    }

    /// How many processes there are.
    pub const fn size(&self) -> usize {
        self.selector.domain.size()
    }

    /// The state.
    #[inline]
    pub const fn state(&self) -> &S {
        &self.selector.state
    }

    /// The state, to change. No handler runs while it is borrowed.
    #[inline]
    pub const fn state_mut(&mut self) -> &mut S {
        &mut self.selector.state
    }

    /// Sends a message to the mailbox of its type on a process, which may be this one. If the buffer for that
    /// process is full, it leaves; if too many are on their way, handlers run until one has arrived.
    ///
    /// # Errors
    /// [`Error::NoSuchProcess`] and [`Error::Done`], before anything is sent, and what MPI says.
    #[inline]
    pub fn send<M: Message, I>(&mut self, to: usize, message: M) -> Result<(), S::Error>
    where
        <S::Mailboxes as Mailboxes<S>>::Lanes<'c>: Has<'c, M, I>,
    {
        let lane = self.selector.lanes.lane();
        if lane.is_open && lane.keep(to, message) {
            return Ok(());
        }
        self.send_slowly::<M, I>(to, message)
    }

    #[cold]
    #[inline(never)]
    fn send_slowly<M: Message, I>(&mut self, to: usize, message: M) -> Result<(), S::Error>
    where
        <S::Mailboxes as Mailboxes<S>>::Lanes<'c>: Has<'c, M, I>,
    {
        let lane = self.selector.lanes.lane();
        if !lane.is_open {
            return Err(Error::Done { mailbox: message::name::<M>() }.into());
        }
        lane.check(to)?;
        // What has come is handled as often as a buffer leaves, so that neither side gets far ahead.
        self.selector.poll()?;
        loop {
            let lane = self.selector.lanes.lane();
            if lane.keep(to, message) {
                return Ok(());
            }
            if lane.try_make_room(to)? {
                continue;
            }
            let is_busy = self.selector.poll()?;
            self.selector.rest.after(is_busy);
        }
    }

    /// Says that the main program sends no more to the mailbox of these messages in this scope, and sends what is
    /// collected for it. Handlers may still send to it.
    ///
    /// ```no_run
    /// # use rmpi_actors::{Actor, Context, Error, Handler, Selector};
    /// # struct Sum { total: u64 }
    /// # impl Actor for Sum { type Mailboxes = (u64,); type Error = Error; }
    /// # impl Handler<u64> for Sum {
    /// #     fn handle(&mut self, m: u64, _: &mut Context<'_, '_, Self>) -> Result<(), Error> { Ok(()) }
    /// # }
    /// # fn example(selector: &mut Selector<'_, Sum>) -> Result<(), Error> {
    /// selector.finish(|scope| {
    ///     scope.send(0, 1_u64)?;
    ///     scope.done::<u64, _>()
    /// })
    /// # }
    /// ```
    ///
    /// # Errors
    /// What MPI says.
    pub fn done<M: Message, I>(&mut self) -> Result<(), S::Error>
    where
        <S::Mailboxes as Mailboxes<S>>::Lanes<'c>: Has<'c, M, I>,
    {
        let lane = self.selector.lanes.lane();
        lane.is_open = false;
        lane.flush()?;
        Ok(())
    }

    /// Sends what is collected, as far as it may leave.
    ///
    /// # Errors
    /// What MPI says.
    pub fn flush(&mut self) -> Result<(), S::Error> {
        self.selector.lanes.flush()?;
        Ok(())
    }

    /// Handles what has come; if nothing has, sends what is collected. Returns whether it did anything.
    ///
    /// # Errors
    /// What MPI says.
    pub fn advance(&mut self) -> Result<bool, S::Error> {
        Ok(self.selector.advance()?)
    }

    /// A scope inside of this one. When it returns, the messages of this one that were sent before have been
    /// handled, too. Collective.
    ///
    /// # Errors
    /// As [`Selector::finish`].
    pub fn finish<R>(
        &mut self,
        body: impl FnOnce(&mut Scope<'_, 'c, S>) -> Result<R, S::Error>,
    ) -> Result<R, S::Error> {
        self.selector.finish(body)
    }
}
