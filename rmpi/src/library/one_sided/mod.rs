//! Operations on the memory of other processes (MPI-5.0, 12.3).

mod operations;
mod origin;
mod place;
mod requests;
mod target;

use super::Library;

pub use origin::*;
pub use place::*;
pub use target::*;
