//! A tool as a level of a QMPI stack: what `install_qmpi_layer!` adds to a PMPI tool.
//!
//! Three kinds of hosts run stacks: this framework's `libqmpi.so`, TUM's library, and an MPICH with its own
//! QMPI. In each of them every level has a layer of its own. A tool has one body for a function, its *entry*
//! (`stack.rs`); how the calls of the other two reach it, and go on from it, is the same for all functions
//! (`thunk.rs`).

mod foreign;
mod mpich;
mod pcontrol;
mod stack;
pub(crate) mod thunk;
pub(crate) mod tum;

pub use crate::arch::from_tum;
pub use crate::host::objects::Code;
pub use foreign::ForeignTool;
pub use mpich::{MpichTool, register};
pub use stack::*;
pub use tum::{Cell, DynamicLib, TUM_FUNCTIONS, TumTool, Vector};
