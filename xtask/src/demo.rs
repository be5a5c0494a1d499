//! `mpi-tool demo`, by what this source tree builds and under an MPI of its own: what people see who have installed the
//! wheel.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use clap::Args;

use crate::environment::{self, Mpi};
use crate::step::{cargo, run, step};

/// The tool that `mpi-tool demo` shows.
const TOOL: &str = "mpi-profile";

/// Build what `mpi-tool demo` needs, and run it: a profile of an example program under MPICH
///
/// Installs MPICH into target/mpi, builds mpi-tool and mpi-profile, and runs `mpi-tool demo`, which prints the same
/// where it is installed.
#[derive(Args)]
pub(crate) struct Demo {
    /// Options of `mpi-tool demo`, such as `-n 2`
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<String>,
}

impl Demo {
    pub(crate) fn run(self) -> Result<()> {
        let mpi = environment::mpich()?;
        let launchers = mpi.mpiexec.parent().context("mpiexec is in a folder")?;
        step(&format!("Building mpi-tool and {TOOL}"), || build(&mpi))?;
        let program = installed(mpi.abi())?;
        run(Command::new(&program)
            .arg("demo")
            .args(&self.options)
            .env("PATH", in_front(launchers)?))?;
        eprintln!(
            "\nHere, mpi-tool is {}. To install it: `cargo install --locked --path mpi-tool`, and then \
             `mpi-tool build`.",
            program.display()
        );
        Ok(())
    }
}

/// Builds both without what costs time and shows nothing here: optimization, since the example makes few calls, what a
/// debugger needs, and what makes the next build faster.
fn build(mpi: &Mpi) -> Result<()> {
    let mut build = cargo();
    build.args(["build", "--quiet", "--package=mpi-tool"]).arg(format!("--package={TOOL}"));
    build.arg("--target-dir").arg(environment::root().join("target"));
    build.current_dir(environment::root()).envs(mpi.variables());
    build.env("CARGO_INCREMENTAL", "0");
    for (setting, value) in
        [("DEBUG", "0"), ("DEBUG_ASSERTIONS", "false"), ("OVERFLOW_CHECKS", "false")]
    {
        build.env(format!("CARGO_PROFILE_DEV_{setting}"), value);
    }
    run(&mut build)
}

/// Puts what was built where it lies below the prefix of an installation, and returns the program.
fn installed(abi: &str) -> Result<PathBuf> {
    let built = environment::root().join("target/debug");
    let prefix = environment::root().join("target/demo");
    let library = format!("lib{}.so", TOOL.replace('-', "_"));
    let program = prefix.join("bin/mpi-tool");
    let tool = prefix.join("lib/mpi-tools").join(abi).join(&library);
    for (from, to) in [(built.join("mpi-tool"), &program), (built.join(&library), &tool)] {
        fs::create_dir_all(to.parent().context("a folder")?)?;
        // A new file: another process may have the old one open.
        let _ = fs::remove_file(to);
        fs::copy(&from, to).with_context(|| from.display().to_string())?;
    }
    Ok(program)
}

/// `PATH` with this MPI's launcher before all others.
fn in_front(folder: &Path) -> Result<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = [folder.to_owned()].into_iter().chain(env::split_paths(&path));
    env::join_paths(folders).context("a folder of PATH has a colon in its name")
}
