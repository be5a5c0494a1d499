//! Messages from one process to another (MPI-5.0, chapter 3).

mod object;
mod probe;
mod receive;
mod send;
mod send_later;
mod vector;

use super::Library;

pub use object::*;
pub use probe::*;
