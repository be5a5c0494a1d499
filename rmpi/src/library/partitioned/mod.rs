//! Messages whose parts are made ready, and arrive, one by one (MPI-5.0, chapter 4).

mod communicator;
mod parts;
mod receive;
mod send;

use super::Library;

pub use communicator::*;
pub use receive::*;
pub use send::*;
