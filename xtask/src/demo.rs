//! The call counter on a real program.

use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::environment::{self, Mpi};
use crate::step::{run, step};
use crate::tools::build;

#[derive(Args)]
pub(crate) struct Demo {
    /// How many ranks
    #[arg(short = 'n', long, default_value_t = 4)]
    ranks: u32,
    /// The benchmarks of IMB-MPI1 to run
    #[arg(default_values_t = ["PingPong".to_owned(), "Allreduce".to_owned()])]
    benchmarks: Vec<String>,
}

impl Demo {
    pub(crate) fn run(self) -> Result<()> {
        // The benchmarks are built for MPICH's ABI.
        let mpi = environment::mpich()?;
        let tools = build(&mpi, &["call-counter".to_owned()])?;
        let program = environment::benchmarks()?.join("IMB-MPI1");
        let ranks = self.ranks.to_string();
        step(&format!("Intel MPI Benchmarks on {ranks} ranks, with the call counter"), || {
            run(launch(&mpi)
                .args(["-n", &ranks])
                .arg(&program)
                .args(&self.benchmarks)
                .args(["-npmin", &ranks, "-iter", "20", "-msglog", "12"])
                .env("LD_PRELOAD", tools.join("libcall_counter.so")))
        })?;
        eprintln!(
            "\nThe same for a program of yours:\n  LD_PRELOAD={} mpiexec -n 4 ./program",
            tools.join("libcall_counter.so").display()
        );
        Ok(())
    }
}

fn launch(mpi: &Mpi) -> Command {
    let mut launcher = Command::new(&mpi.mpiexec);
    launcher.envs(mpi.variables());
    launcher
}
