//! Measurements: builds what they need, and has `bench-harness` make them.

use anyhow::Result;
use clap::Subcommand;

use crate::environment;
use crate::step::{cargo, run};
use crate::test::build_tools;

#[derive(Subcommand)]
pub(crate) enum Bench {
    /// What a tool adds to a call: instructions, and time against C tools
    Overhead {
        /// Options of the experiment, such as --no-time
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// What rmpi costs beside C: patterns of communication, and instructions of a call
    Library {
        /// Options of the experiment, such as --samples 50
        #[arg(last = true)]
        options: Vec<String>,
    },
}

impl Bench {
    pub(crate) fn run(self) -> Result<()> {
        let mpi = environment::default_mpi()?;
        let (experiment, options) = match self {
            Bench::Overhead { options } => ("overhead", options),
            Bench::Library { options } => ("library", options),
        };
        let tools = build_tools(&mpi)?;
        let root = environment::root();
        // `run` builds the one program only.
        run(cargo()
            .args(["build", "--release", "--quiet", "--package", "bench-harness", "--bins"])
            .current_dir(&root)
            .envs(mpi.variables()))?;
        run(cargo()
            .args(["run", "--release", "--quiet", "--package", "bench-harness", "--", experiment])
            .arg("--sources")
            .arg(root.join("bench-harness/c"))
            .args(options)
            .current_dir(&root)
            .envs(mpi.variables())
            .env("MPI_TOOLS", tools))
    }
}
