//! What a program implements.

use super::{Context, Error, Mailboxes};
use crate::Message;

/// The state of a selector on each process.
pub trait Actor: Sized {
    /// The types of the messages, a mailbox each: a tuple of one to eight different types.
    type Mailboxes: Mailboxes<Self>;
    /// What can go wrong in handlers.
    type Error: From<Error>;
}

/// How an actor handles the messages of one mailbox.
pub trait Handler<M: Message>: Actor {
    /// Handles a message. The context says who sent it, and sends others.
    ///
    /// # Errors
    /// The first error of a process is what its [`finish`](super::Selector::finish) returns, after all messages
    /// have been handled.
    fn handle(
        &mut self,
        message: M,
        context: &mut Context<'_, '_, Self>,
    ) -> Result<(), Self::Error>;
}
