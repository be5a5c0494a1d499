//! Operations that reduce (MPI-5.0, 6.9).

mod predefined;
mod reduction;
mod slots;
mod user;

use super::Library;

pub use predefined::*;
pub use reduction::*;
pub use user::*;

pub(super) use reduction::Reduction;
