//! Active messages that go on.

use core::marker::PhantomData;

use rmpi_actors::{Actor, Context, Handler, Message, Selector};

use crate::{Error, Here, Team};

/// Data with a function, which runs on another process on a state there, and may go on to a next one.
///
/// Nothing comes back: what a message has found out it takes along, or leaves in the state.
///
/// ```no_run
/// use rmpi::MpiDatatype;
/// use rmpi_pgas::{Here, Relay, Team};
///
/// /// Looks for a process that has room for it.
/// #[derive(Clone, Copy, Default, MpiDatatype)]
/// struct Guest(u64);
///
/// impl Relay<Vec<u64>> for Guest {
///     fn run(self, room: &mut Vec<u64>, here: Here) -> Option<(usize, Self)> {
///         if room.len() < 2 {
///             room.push(self.0);
///             return None;
///         }
///         Some(((here.rank + 1) % here.size, self))
///     }
/// }
///
/// # fn example(team: &Team<'_>) -> Result<(), rmpi_pgas::Error> {
/// let mut room = Vec::new();
/// team.relay(&mut room, [(0, Guest(team.rank() as u64))])?;
/// # Ok(()) }
/// ```
pub trait Relay<S: ?Sized>: Message {
    /// Runs on the process that the message was for. Returns where it goes next, and as what; if nothing, it has
    /// ended.
    fn run(self, state: &mut S, here: Here) -> Option<(usize, Self)>;
}

struct Relays<'a, S: ?Sized, R> {
    state: &'a mut S,
    message: PhantomData<R>,
}

impl<S: ?Sized, R: Relay<S>> Actor for Relays<'_, S, R> {
    type Mailboxes = (R,);
    type Error = rmpi_actors::Error;
}

impl<S: ?Sized, R: Relay<S>> Handler<R> for Relays<'_, S, R> {
    #[inline]
    fn handle(
        &mut self,
        message: R,
        context: &mut Context<'_, '_, Self>,
    ) -> Result<(), rmpi_actors::Error> {
        let here = Here { sender: context.sender(), rank: context.rank(), size: context.size() };
        match message.run(self.state, here) {
            Some((to, next)) => context.send(to, next),
            None => Ok(()),
        }
    }
}

impl Team<'_> {
    /// Runs active messages that go on, each on the state that the process gives, and returns when all have ended
    /// on all processes. Collective.
    ///
    /// # Errors
    /// [`NoSuchProcess`](rmpi_actors::Error::NoSuchProcess) if a message is for none, on the process that sends it,
    /// or where it was: it ends there, and the others go on. What MPI says.
    pub fn relay<S: ?Sized, R: Relay<S>>(
        &self,
        state: &mut S,
        messages: impl IntoIterator<Item = (usize, R)>,
    ) -> Result<(), Error> {
        let relays = Relays { state, message: PhantomData::<R> };
        let mut selector = Selector::new(self.domain(), relays, self.settings())?;
        selector.finish(|scope| {
            messages.into_iter().try_for_each(|(to, message)| scope.send(to, message))
        })?;
        Ok(())
    }
}
