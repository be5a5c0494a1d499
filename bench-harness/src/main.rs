//! What tools cost. `cargo xtask bench` builds what is needed and runs this.

mod overhead;
mod sample;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "What MPI tools cost")]
struct Arguments {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Subcommand)]
enum Experiment {
    /// What a tool adds to a call, in instructions and in time
    Overhead(overhead::Overhead),
}

fn main() -> Result<()> {
    match Arguments::parse().experiment {
        Experiment::Overhead(overhead) => overhead.run(),
    }
}
