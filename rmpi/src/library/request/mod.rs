//! Requests of non-blocking operations, and the buffers that MPI uses until they are complete (MPI-5.0, 3.7).

mod exchange;
mod future;
mod owned;
mod owned_persistent;
mod persistent;
mod scope;
mod set;
mod single;

use super::Library;

pub use exchange::*;
pub use future::*;
pub use owned::*;
pub use owned_persistent::*;
pub use persistent::*;
pub use scope::*;
pub use set::*;
pub use single::*;

pub(super) use persistent::{may_start, not_started, started};
pub(super) use scope::placed;
