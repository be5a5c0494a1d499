//! Communicators between two groups (MPI-5.0, 7.6), and the programs that they connect (chapter 11).

mod object;
mod ports;
mod spawn;

use super::Library;

pub use object::*;
pub use ports::*;
pub use spawn::*;
