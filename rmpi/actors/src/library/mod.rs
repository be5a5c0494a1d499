//! The library, compiled once over `MPI_*` and once over `PMPI_*`.

use super::mpi;

mod actor;
mod ask;
mod context;
mod dispatch;
mod domain;
mod error;
mod failure;
mod finish;
mod lane;
mod rest;
mod scope;
mod selector;
mod task;

pub use actor::{Actor, Handler};
pub use context::Context;
pub use dispatch::{At, Has, Mailboxes};
pub use domain::Domain;
pub use error::Error;
pub use lane::Lane;
pub use scope::Scope;
pub use selector::Selector;
#[doc(hidden)]
pub use task::Tasks;
