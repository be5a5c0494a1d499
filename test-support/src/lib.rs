//! What the tests of several crates share: compiles programs, and runs them under a launcher, with and without
//! tools.
//!
//! `cargo xtask test` says by variables which MPI there is, and where the tools are. Tests run in the folder of
//! their crate, whose `tests/c` has the programs.

mod compile;
mod kept;
pub mod profile;
mod run;
pub mod schema;
mod settings;

pub use compile::{build_folder, compile, compile_by, compile_cxx, compile_with, made, stranger};
pub use kept::kept;
pub use run::{Outcome, Run, has_not_begun, output};
pub use settings::{
    TOOLS, abi, c_type, example, exported, is_debian, is_mpich_before_5, is_openmpi, is_openmpi_4,
    mpi_name, program, setting, tool, universal,
};
