//! `mpi-tool report` of simulated runs: pages in a real browser, comparisons and placements. These tests need no MPI.

mod browser;
mod comparison;
mod malformed;
mod pages;
mod programs;
mod schema;
mod simulated;

use std::path::Path;
use std::process::Command;

/// What a command has come to.
#[derive(Debug)]
struct Outcome {
    status: Option<i32>,
    stdout: String,
    stderr: String,
}

/// `mpi-tool report ARGUMENTS` in a folder.
fn report(folder: &Path, arguments: &[&str]) -> Outcome {
    mpi_tool(folder, &[&["report"], arguments].concat())
}

/// `mpi-tool ARGUMENTS` in a folder.
fn mpi_tool(folder: &Path, arguments: &[&str]) -> Outcome {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mpi-tool"));
    let output = command.args(arguments).current_dir(folder).output().unwrap();
    Outcome {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}
