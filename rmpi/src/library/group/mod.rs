//! Groups, and the communicators that are made of them (MPI-5.0, 7.3 and 7.4).

mod communicators;
mod idup;
mod object;

use super::Library;

pub use communicators::*;
pub use idup::*;
pub use object::*;

pub(super) use object::{Ints, ints, length};
