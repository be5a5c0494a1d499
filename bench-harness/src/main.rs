//! What tools cost. `cargo xtask bench` builds what is needed and runs this.

mod library;
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
    /// What rmpi costs beside C, in time and in instructions
    Library(library::Library),
}

fn main() -> Result<()> {
    match Arguments::parse().experiment {
        Experiment::Overhead(overhead) => overhead.run(),
        Experiment::Library(library) => library.run(),
    }
}
