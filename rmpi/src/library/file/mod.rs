//! Files (MPI-5.0, chapter 14).

mod access;
mod modes;
mod object;
mod split;
mod steps;
mod view;

use super::Library;

pub use modes::*;
pub use object::*;
pub use split::*;
