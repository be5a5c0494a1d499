//! Actors over MPI.
//!
//! A [`Selector`] has a state and a few mailboxes of typed messages, on each process of a communicator.
//! Messages to one process are collected and travel together. A handler gets `&mut` state, and may send on.
//! Handlers run only inside of [`Scope::send`], [`Scope::advance`] and the other functions that borrow the
//! selector mutably, so that handlers and the main program share the state without any lock and without
//! `unsafe`: the compiler sees who has it. [`Selector::finish`] returns when all messages have been handled on
//! all processes, also those that handlers sent.
//!
//! ```no_run
//! use rmpi_actors::{Actor, Context, Domain, Error, Handler, Selector, Settings};
//!
//! struct Histogram {
//!     counts: Vec<u64>,
//! }
//!
//! impl Actor for Histogram {
//!     type Mailboxes = (u32,);
//!     type Error = Error;
//! }
//!
//! impl Handler<u32> for Histogram {
//!     fn handle(&mut self, index: u32, _: &mut Context<'_, '_, Self>) -> Result<(), Error> {
//!         self.counts[index as usize] += 1;
//!         Ok(())
//!     }
//! }
//!
//! fn main() -> Result<(), Error> {
//!     let context = rmpi::init()?;
//!     let domain = Domain::new(context.world())?;
//!     let state = Histogram { counts: vec![0; 1000] };
//!     let mut histogram = Selector::new(&domain, state, Settings::default())?;
//!     histogram.finish(|scope| {
//!         for number in 0..1_000_000_usize {
//!             scope.send(number % scope.size(), number as u32 % 1000)?;
//!         }
//!         Ok(())
//!     })?;
//!     println!("{}", histogram.state().counts[0]);
//!     Ok(())
//! }
//! ```
#![forbid(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../docs/actors.md")]
struct Page;

mod message;
pub mod pmpi_mode;
mod settings;

use rmpi as mpi;

#[path = "library/mod.rs"]
mod library;

pub use library::*;
pub use message::Message;
pub use settings::Settings;
