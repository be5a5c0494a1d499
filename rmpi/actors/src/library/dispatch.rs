//! Which lane a message takes, and which handler it gets: by its type, when the program is compiled.

use core::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use super::failure;
use super::lane::{Batch, Lane};
use super::task::Tasks;
use super::{Context, Domain, Error, Handler};
use crate::Settings;
use crate::message::{self, Message};

/// The place of a mailbox in its tuple. The compiler infers it from the type of the message.
#[derive(Debug)]
pub struct At<const PLACE: usize>(());

/// Lanes that have one for a message.
pub trait Has<'c, M: Message, I>: sealed::Sealed {
    #[doc(hidden)]
    fn lane(&mut self) -> &mut Lane<'c, M>;
}

/// A tuple of one to eight message types, each handled by the actor.
#[diagnostic::on_unimplemented(
    message = "`{Self}` are no mailboxes of `{S}`",
    note = "mailboxes are a tuple of messages, such as `(Request, Reply)`, and `{S}` implements \
            `Handler<M>` for each of them"
)]
pub trait Mailboxes<S: super::Actor>: sealed::Sealed + Sized {
    #[doc(hidden)]
    type Lanes<'c>: Lanes;
    #[doc(hidden)]
    fn lanes<'c>(domain: &'c Domain<'_>, settings: &Settings) -> Result<Self::Lanes<'c>, Error>;
    /// Handles one batch of each mailbox, where there is one; returns whether there was.
    #[doc(hidden)]
    fn poll<'c>(
        state: &mut S,
        lanes: &mut Self::Lanes<'c>,
        tasks: &mut Tasks<'c, S>,
        domain: &'c Domain<'_>,
        failed: &mut Option<S::Error>,
    ) -> Result<bool, Error>;
}

/// What does not depend on the messages' types.
#[doc(hidden)]
pub trait Lanes: sealed::Sealed {
    /// How many mailboxes.
    const COUNT: usize;
    fn flush(&mut self) -> Result<bool, Error>;
    fn send_waiting(&mut self) -> Result<bool, Error>;
    fn is_overfull(&self) -> bool;
    fn is_empty(&self) -> bool;
    /// What is sent from now on belongs to the next scope.
    fn turn(&mut self);
    /// Messages sent and handled.
    fn counts(&self) -> (u64, u64);
    /// Opens or closes mailboxes to the main program, by bits; returns which were open.
    fn open(&mut self, open: u8) -> u8;
}

mod sealed {
    pub trait Sealed {}
}

/// Runs the handlers of a batch.
fn handle<'c, S, M>(
    state: &mut S,
    lanes: &mut <S::Mailboxes as Mailboxes<S>>::Lanes<'c>,
    tasks: &mut Tasks<'c, S>,
    domain: &'c Domain<'_>,
    batch: &Batch<M>,
) -> Option<S::Error>
where
    S: Handler<M>,
    M: Message,
{
    let (from, rank, size) = (batch.from, domain.rank(), domain.size());
    let result = catch_unwind(AssertUnwindSafe(|| {
        let mut context = Context { lanes, tasks, from, rank, size };
        let mut first = None;
        for message in &batch.buffer[..batch.length] {
            if let Err(error) = state.handle(*message, &mut context) {
                first.get_or_insert(error);
            }
        }
        first
    }));
    match result {
        Ok(first) => first,
        Err(panic) => failure::end(domain, message::name::<M>(), from, &*panic),
    }
}

macro_rules! mailboxes {
    ($($M:ident $place:tt),* ; $($reverse:tt)*) => {
        impl<$($M: Message),*> sealed::Sealed for ($($M,)*) {}
        impl<$($M: Message),*> sealed::Sealed for ($(Lane<'_, $M>,)*) {}

        impl<S, $($M: Message),*> Mailboxes<S> for ($($M,)*)
        where
            S: super::Actor<Mailboxes = Self> $(+ Handler<$M>)*,
        {
            type Lanes<'c> = ($(Lane<'c, $M>,)*);

            fn lanes<'c>(
                domain: &'c Domain<'_>,
                settings: &Settings,
            ) -> Result<Self::Lanes<'c>, Error> {
                let first = domain.agree(settings, <Self::Lanes<'c> as Lanes>::COUNT as u64)?;
                Ok(($(Lane::new(domain, first + $place, settings)?,)*))
            }

            fn poll<'c>(
                state: &mut S,
                lanes: &mut Self::Lanes<'c>,
                tasks: &mut Tasks<'c, S>,
                domain: &'c Domain<'_>,
                failed: &mut Option<S::Error>,
            ) -> Result<bool, Error> {
                let mut has_handled = false;
                // The last mailbox first: replies make room for requests.
                $(
                    let local = lanes.$reverse.receive_local();
                    let received = lanes.$reverse.receive()?;
                    for batch in local.into_iter().chain(received) {
                        let error = handle(state, lanes, tasks, domain, &batch);
                        if failed.is_none() {
                            *failed = error;
                        }
                        lanes.$reverse.recycle(batch)?;
                        has_handled = true;
                    }
                )*
                Ok(has_handled)
            }
        }

        impl<$($M: Message),*> Lanes for ($(Lane<'_, $M>,)*) {
            const COUNT: usize = [$($place),*].len();

            fn flush(&mut self) -> Result<bool, Error> {
                let mut has_sent = false;
                $(has_sent |= self.$place.flush()?;)*
                Ok(has_sent)
            }

            fn send_waiting(&mut self) -> Result<bool, Error> {
                let mut is_all = true;
                $(is_all &= self.$place.send_waiting()?;)*
                Ok(is_all)
            }

            fn is_overfull(&self) -> bool {
                $(self.$place.is_overfull())||*
            }

            fn is_empty(&self) -> bool {
                $(self.$place.is_empty())&&*
            }

            fn turn(&mut self) {
                $(self.$place.turn();)*
            }

            fn counts(&self) -> (u64, u64) {
                (0 $(+ self.$place.sent)*, 0 $(+ self.$place.handled)*)
            }

            fn open(&mut self, open: u8) -> u8 {
                let before = 0 $(| u8::from(self.$place.is_open) << $place)*;
                $(self.$place.is_open = open >> $place & 1 != 0;)*
                before
            }
        }

        mailboxes! { has [$($M $place),*] $($M $place),* }
    };
    (has $all:tt $($M:ident $place:tt),*) => {
        $(mailboxes! { one $all $M $place })*
    };
    (one [$($All:ident $every:tt),*] $M:ident $place:tt) => {
        impl<'c, $($All: Message),*> Has<'c, $M, At<$place>> for ($(Lane<'c, $All>,)*) {
            #[inline]
            fn lane(&mut self) -> &mut Lane<'c, $M> {
                &mut self.$place
            }
        }
    };
}

mailboxes! { A 0; 0 }
mailboxes! { A 0, B 1; 1 0 }
mailboxes! { A 0, B 1, C 2; 2 1 0 }
mailboxes! { A 0, B 1, C 2, D 3; 3 2 1 0 }
mailboxes! { A 0, B 1, C 2, D 3, E 4; 4 3 2 1 0 }
mailboxes! { A 0, B 1, C 2, D 3, E 4, F 5; 5 4 3 2 1 0 }
mailboxes! { A 0, B 1, C 2, D 3, E 4, F 5, G 6; 6 5 4 3 2 1 0 }
mailboxes! { A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7; 7 6 5 4 3 2 1 0 }
