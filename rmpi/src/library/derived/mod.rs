//! Datatypes that are made as the program runs (MPI-5.0, 5.1).

mod array;
mod buffers;
mod indexed;
mod numbers;
mod object;
mod regular;

use super::Library;

pub use array::*;
pub use object::*;

pub(super) use buffers::no_padding;
