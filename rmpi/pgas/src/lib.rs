//! Distributed arrays and active messages over MPI.
//!
//! A [`Team`] is some processes. An [`Array`] has a part on each of them. Batches of element operations travel
//! together and are done by the process that has the elements, so that each is atomic. An [`ActiveMessage`] is data
//! with a function, which runs on another process on a state there, and answers. A [`Darc`] is a value on each
//! process that lives as long as any process uses it.
//!
//! All operations that other processes take part in are collective: every process of the team calls them, with
//! operations of its own or none, and returns when all are done. So nothing changes while the program has a part
//! borrowed, and the compiler sees it.
//!
//! ```no_run
//! use rmpi_pgas::{Array, Atomic, Error, Layout, Team};
//!
//! fn main() -> Result<(), Error> {
//!     let context = rmpi::init()?;
//!     let team = Team::new(context.world())?;
//!     let mut table = Array::<u64, Atomic>::new(&team, 1_000_000, Layout::Block)?;
//!     let places: Vec<usize> = (0..1000).map(|n| n * 7919 % table.len()).collect();
//!     table.batch_add(&places, 1)?;
//!     assert_eq!(table.sum()?, 1000 * team.size() as u64);
//!     Ok(())
//! }
//! ```
// `unchecked` declares unsafe functions. No module has unsafe blocks.
#![deny(unsafe_code)]

#[cfg(doctest)]
#[doc = include_str!("../docs/pgas.md")]
struct Page;

mod array;
mod attempt;
mod batch;
mod call;
mod darc;
mod element;
mod error;
mod fetch;
mod indices;
mod iterate;
mod kind;
mod layout;
mod message;
mod reduce;
mod relay;
mod serve;
mod team;
mod transfer;
mod unchecked;

pub use array::Array;
pub use batch::Operands;
pub use call::{ActiveMessage, Here};
pub use darc::{Darc, DarcId};
pub use element::{Bits, Element, Number, Operation, operations};
pub use error::Error;
pub use indices::{Indices, Places};
pub use iterate::{DistributedIter, LocalElements};
pub use kind::{Atomic, Kind, LocalLock, ReadOnly, Writable};
pub use layout::Layout;
pub use relay::Relay;
pub use serve::{Pending, Remote, serve};
pub use team::Team;
pub use unchecked::UnsafeArray;
