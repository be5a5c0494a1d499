//! Active messages.

use core::marker::PhantomData;

use rmpi_actors::{Actor, Context, Handler, Message, Selector};

use crate::{Array, Element, Error, LocalLock, Team};

/// Where an active message runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Here {
    /// The process that sent it.
    pub sender: usize,
    /// This process.
    pub rank: usize,
    /// How many processes the team has.
    pub size: usize,
}

/// Data with a function, which runs on another process on a state there, and answers.
pub trait ActiveMessage<S: ?Sized>: Message {
    /// What comes back.
    type Answer: Message;
    /// Runs on the process that the message was for.
    fn run(self, state: &mut S, here: Here) -> Self::Answer;
}

/// A state on which active messages run whose answers nobody wants.
struct Posts<'a, S: ?Sized, A> {
    state: &'a mut S,
    message: PhantomData<A>,
}

impl<S: ?Sized, A: ActiveMessage<S>> Actor for Posts<'_, S, A> {
    type Mailboxes = (A,);
    type Error = rmpi_actors::Error;
}

impl<S: ?Sized, A: ActiveMessage<S>> Handler<A> for Posts<'_, S, A> {
    #[inline]
    fn handle(
        &mut self,
        message: A,
        context: &mut Context<'_, '_, Self>,
    ) -> Result<(), rmpi_actors::Error> {
        let here = Here { sender: context.sender(), rank: context.rank(), size: context.size() };
        message.run(self.state, here);
        Ok(())
    }
}

impl Team<'_> {
    /// Runs active messages as [`execute`](Self::execute) does, and no answers come back. Collective.
    ///
    /// # Errors
    /// As [`execute`](Self::execute), but those before the first one of a wrong process are sent.
    pub fn post<S: ?Sized, A: ActiveMessage<S>>(
        &self,
        state: &mut S,
        messages: impl IntoIterator<Item = (usize, A)>,
    ) -> Result<(), Error> {
        let posts = Posts { state, message: PhantomData::<A> };
        let mut selector = Selector::new(self.domain(), posts, self.settings())?;
        selector.finish(|scope| {
            messages.into_iter().try_for_each(|(to, message)| scope.send(to, message))
        })?;
        Ok(())
    }

    /// Runs active messages on the processes that they are for, each on the state that its process gives, and
    /// returns their answers in their order. Collective: a process with none has an empty list. The messages are gone
    /// through twice: give an iterator over a slice, `messages.iter().copied()`, and not a list that is copied for it.
    ///
    /// # Errors
    /// [`NoSuchProcess`](rmpi_actors::Error::NoSuchProcess), on all processes before anything is sent, and what MPI
    /// says.
    pub fn execute<S: ?Sized, A: ActiveMessage<S>>(
        &self,
        state: &mut S,
        messages: impl IntoIterator<Item = (usize, A), IntoIter: ExactSizeIterator + Clone>,
    ) -> Result<Vec<A::Answer>, Error> {
        let (messages, processes) = (messages.into_iter(), self.size());
        let greatest = messages.clone().fold(0, |greatest, (to, _)| greatest.max(to));
        self.all_right(if greatest < processes {
            Ok(())
        } else {
            Err(rmpi_actors::Error::NoSuchProcess { rank: greatest, processes }.into())
        })?;
        let (rank, size) = (self.rank(), processes);
        let run = |message: A, sender| message.run(state, Here { sender, rank, size });
        Ok(self.domain().ask(self.settings(), messages, run)?)
    }
}

impl<T: Element> Array<'_, T, LocalLock> {
    /// Runs active messages on the parts of the processes that they are for. Collective.
    ///
    /// # Errors
    /// As [`Team::execute`].
    pub fn execute<A: ActiveMessage<[T]>>(
        &mut self,
        messages: impl IntoIterator<Item = (usize, A), IntoIter: ExactSizeIterator + Clone>,
    ) -> Result<Vec<A::Answer>, Error> {
        self.team.execute(&mut self.part[..], messages)
    }
}
