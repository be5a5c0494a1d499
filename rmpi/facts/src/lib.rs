//! What is known of MPI without an MPI: data, and questions to it.
//!
//! * [`mpi_functions!`]: the list of all 700 functions, from which everything expands that exists for each of them;
//! * [`FunctionId`]: the functions as data, with their parameters, kinds and versions;
//! * [`Shape`]: which parameter of a function is what, and how its data move;
//! * [`Width`]: how functions differ from their large-count twins;
//! * [`Abi`]: the ABIs, and the names of the libraries that have them;
//! * [`fortran`]: the entry points that tools have for Fortran;
//! * [`note`]: what a tool's file says of itself, and where a tool's builds lie;
//! * [`trace`]: the trace files of `mpi-trace`;
//! * [`watch`]: what stands where in the state files of `mpi-watch`.
//!
//! The crate has no dependency and no build script. It does not know the ABI that it is compiled for, so that programs
//! which run outside an MPI's process use it as well: `mpi-tool`, build scripts, procedural macros.

#[macro_use]
mod list;
mod abi;
pub mod fortran;
mod function;
mod marks;
pub mod note;
mod shape;
mod text;
pub mod trace;
mod twins;
pub mod watch;
mod wrappers;

pub use abi::{Abi, is_fortran_library, is_mpi_library, is_mpi_plugin, is_part_of_mpi};
pub use function::{
    Direction, FunctionClass, FunctionId, MpiVersion, Parameter, ParameterKind, UnknownFunction,
};
pub use marks::{MARKS_VARIABLE, Mark};
pub use shape::{
    Completion, Data, NONE, Pattern, Position, Shape, Timing, is_collective,
    is_collective_on_object, is_scan, only_tells,
};
pub use twins::Width;
pub use wrappers::{is_library_file, is_wrapper, name_in_language, wrappers};

/// The example of the README is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
