//! The same library over `PMPI_*`: no tool sees its calls, and it loads into processes that have no
//! MPI. What tools use.
//!
//! Values are those of the crate's root (`Tag`, `ThreadLevel`, datatypes); what calls MPI is compiled
//! a second time from the same source, and its types are other types.

use crate::functions::pmpi as sys;

#[allow(clippy::duplicate_mod, reason = "the point: the same source over other functions")]
#[path = "library/mod.rs"]
mod library;

pub use crate::{MpiDatatype, Plain, SendDatatype, names::*, thread_level::*, typemap::*};
pub use library::*;
pub use mpi_sys::pmpi as mpi_sys;
