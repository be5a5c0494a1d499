//! Builds for aarch64 and runs it here, below an emulator.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};

use crate::environment::aarch64::{self, Cross, CrossMpi, LIBRARIES, TARGET};
use crate::environment::root;
use crate::step::{run, step};

/// Build for aarch64 and run it here, below an emulator (x86-64 machines)
///
/// Fetches, into target/aarch64 and without root, Debian's Rust for both processors, a C compiler, qemu, and MPIs.
#[derive(Args)]
pub(crate) struct Aarch64 {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Print the variables with which `"$CARGO" build` builds for aarch64, and `"$CARGO" test` runs tests below qemu
    Env {
        /// For the ABI of which MPI
        #[arg(default_value = "mpich", value_parser = names())]
        mpi: String,
    },
    /// Build packages as for a release
    Build {
        /// For the ABI of which MPI
        #[arg(long, default_value = "mpich", value_parser = names())]
        mpi: String,
        #[arg(required = true, value_name = "PACKAGE")]
        packages: Vec<String>,
    },
    /// Start a program under an MPI, with tools preloaded that `build` has built
    Run {
        #[arg(long, default_value = "mpich", value_parser = names())]
        mpi: String,
        /// How many ranks
        #[arg(short, default_value_t = 2)]
        n: u32,
        /// A tool's package, or a shared object
        #[arg(long, value_name = "TOOL")]
        tool: Vec<String>,
        /// A program of aarch64, or a source in C, which is compiled
        program: PathBuf,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
}

fn names() -> PossibleValuesParser {
    PossibleValuesParser::new(aarch64::MPIS.map(|(short, _)| short))
}

impl Aarch64 {
    pub(crate) fn run(self) -> Result<()> {
        let cross = aarch64::cross()?;
        match self.what {
            What::Env { mpi } => {
                for (name, value) in variables(&cross, &cross.mpi(&mpi)?) {
                    println!("export {name}='{value}'");
                }
                Ok(())
            }
            What::Build { mpi, packages } => {
                println!("{}", build(&cross, &cross.mpi(&mpi)?, &packages)?.display());
                Ok(())
            }
            What::Run { mpi, n, tool, program, arguments } => {
                let mpi = cross.mpi(&mpi)?;
                let mut program =
                    fs::canonicalize(&program).with_context(|| program.display().to_string())?;
                if program.extension().is_some_and(|extension| extension == "c") {
                    let folder = mpi.builds().join("c");
                    fs::create_dir_all(&folder)?;
                    let file = folder.join(program.file_stem().context("a program has a name")?);
                    let mut compiler = Command::new(&mpi.mpicc);
                    compiler.args(["-g", "-O1", "-pthread"]).arg(&program).args(["-lm", "-o"]);
                    run(compiler.arg(&file))?;
                    program = file;
                }
                let tools: Result<Vec<_>> = tool.iter().map(|tool| library(&mpi, tool)).collect();
                let mut launcher = Command::new(&mpi.mpiexec);
                launcher.args(["-n", &n.to_string()]).arg(program).args(arguments);
                launcher.envs(mpi.variables());
                if !tool.is_empty() {
                    launcher.env("LD_PRELOAD", tools?.join(":"));
                }
                run(&mut launcher)
            }
        }
    }
}

/// The environment in which cargo builds for an ABI, and tests run below the emulator.
pub(crate) fn variables(cross: &Cross, mpi: &CrossMpi) -> Vec<(&'static str, String)> {
    let mut variables = cross.variables();
    variables.extend([
        ("CARGO_TARGET_DIR", mpi.builds().display().to_string()),
        ("MPI_ABI", mpi.abi().to_owned()),
        (LIBRARIES, mpi.libraries.clone()),
    ]);
    variables
}

/// Builds packages for the ABI of an MPI: the folder with what is built.
pub(crate) fn build(cross: &Cross, mpi: &CrossMpi, packages: &[String]) -> Result<PathBuf> {
    step(&format!("Building for aarch64 and {}", mpi.name()), || {
        let mut build = Command::new(&cross.cargo);
        build.args(["build", "--release", "--quiet"]).current_dir(root());
        build.envs(variables(cross, mpi));
        run(build.args(packages.iter().map(|package| format!("--package={package}"))))
    })?;
    Ok(release_folder(mpi))
}

/// Where [`build`] puts what it builds.
fn release_folder(mpi: &CrossMpi) -> PathBuf {
    mpi.builds().join(TARGET).join("release")
}

/// The shared object of a tool that is built.
fn library(mpi: &CrossMpi, tool: &str) -> Result<String> {
    let file = if tool.contains('/') {
        fs::canonicalize(tool).with_context(|| tool.to_owned())?
    } else {
        release_folder(mpi).join(format!("lib{}.so", tool.replace('-', "_")))
    };
    ensure!(
        file.is_file(),
        "{} is not there: `cargo xtask aarch64 build --mpi {} {tool}` builds it",
        file.display(),
        mpi.name().split('-').next().unwrap_or_default()
    );
    Ok(file.display().to_string())
}
