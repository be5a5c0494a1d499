//! What the tests of several crates share: compiles programs, and runs them under a launcher, with and without
//! tools.
//!
//! `cargo xtask test` says by variables which MPI there is, and where the tools are. Tests run in the folder of
//! their crate, whose `tests/c` has the programs.

mod compile;
pub mod profile;
mod run;
pub mod schema;
mod settings;

pub use compile::{build_folder, compile, compile_cxx, compile_with, once, stranger};
pub use run::{Outcome, Run, has_not_begun, output};
pub use settings::{
    TOOLS, example, exported, is_debian, is_mpich_before_5, is_openmpi, is_openmpi_4, setting,
    tool, universal,
};
