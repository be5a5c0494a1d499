//! Windows: memory that other processes access (MPI-5.0, chapter 12).

mod agreed;
mod create;
mod dynamic;
mod ending;
mod exposed;
mod local;
mod meeting;
mod object;
mod scope;

use super::Library;

pub use dynamic::*;
pub use exposed::*;
pub use object::*;
pub use scope::*;

pub(super) use agreed::Core;
pub(super) use create::segment;
pub(super) use dynamic::foreign;
pub(super) use ending::{End, Ending};
