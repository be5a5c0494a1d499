//! The same actors over `PMPI_*`, for tools: no tool sees their calls.

use rmpi::pmpi_mode as mpi;

#[allow(clippy::duplicate_mod, reason = "the point: the same source over other functions")]
#[path = "library/mod.rs"]
mod library;

pub use crate::{Message, Settings};
pub use library::*;
