//! Communicators whose processes have neighbours (MPI-5.0, chapter 8).

mod cart;
mod common;
mod dims;
mod dist_graph;
mod graph;

use super::Library;

pub use cart::*;
pub use common::*;
pub use dims::*;
pub use dist_graph::*;
pub use graph::*;
