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
///
/// A handler has the state until it returns, and no longer:
///
/// ```compile_fail
/// # use rmpi_actors::{Actor, Context, Error, Handler};
/// struct Sum<'a> {
///     total: u64,
///     kept: Option<&'a mut u64>,
/// }
///
/// impl Actor for Sum<'_> {
///     type Mailboxes = (u64,);
///     type Error = Error;
/// }
///
/// impl Handler<u64> for Sum<'_> {
///     fn handle(&mut self, m: u64, _: &mut Context<'_, '_, Self>) -> Result<(), Error> {
///         self.kept = Some(&mut self.total);
///         Ok(())
///     }
/// }
/// ```
///
/// and neither does a task keep what another one has:
///
/// ```compile_fail,E0521
/// # use rmpi_actors::{Actor, Context, Error, Handler, Selector};
/// # struct Sum { total: u64 }
/// # impl Actor for Sum { type Mailboxes = (u64,); type Error = Error; }
/// # impl Handler<u64> for Sum {
/// #     fn handle(&mut self, m: u64, _: &mut Context<'_, '_, Self>) -> Result<(), Error> { Ok(()) }
/// # }
/// fn example(selector: &mut Selector<'_, Sum>) -> Result<(), Error> {
///     let mut kept: Option<&mut u64> = None;
///     selector.finish(|scope| {
///         scope.spawn(|sum, _| {
///             kept = Some(&mut sum.total);
///             Ok(())
///         });
///         Ok(())
///     })
/// }
/// ```
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
