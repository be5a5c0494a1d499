//! Epochs: when a window is accessed (MPI-5.0, 12.5).

mod active;
mod assertion;
mod flush;
mod object;
mod passive;

use super::Library;

pub use active::*;
pub use assertion::*;
pub use object::*;
