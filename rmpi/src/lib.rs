//! Safe MPI, as close to C as safety allows.
#[macro_use]
mod functions;
pub mod call;
mod names;
pub mod pmpi_mode;
mod thread_level;
mod typemap;

use functions::mpi as sys;

#[path = "library/mod.rs"]
mod library;

pub use library::*;
pub use mpi_sys;
pub use names::*;
pub use thread_level::*;
pub use tool_macros::{MpiDatatype, SendDatatype};
pub use typemap::*;

