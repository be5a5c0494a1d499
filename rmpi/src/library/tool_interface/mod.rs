//! Variables of the MPI library: its settings, and what it counts (MPI-5.0, chapter 15, `MPI_T`).

mod control;
mod interface;
mod kinds;
mod performance;
mod values;

use super::Library;

pub use control::*;
pub use interface::*;
pub use kinds::*;
pub use performance::*;
pub use values::ToolValue;
