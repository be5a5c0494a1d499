//! What tools cost. `cargo xtask bench` builds what is needed and runs this.

mod compile;
mod figure;
mod library;
mod messages;
mod model;
mod originals;
mod outcome;
mod overhead;
mod programs;
mod report;
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
    /// What typed messages cost beside raw ones, and a grid on rmpi beside one in C
    Messages(messages::Messages),
    /// What one-sided communication on rmpi costs beside C, in time
    OneSided(library::Library),
    /// The thesis's experiments: programs under tools and stacks of tools
    Programs(Box<programs::Programs>),
    /// A page of all figures
    Report(report::Report),
    /// Runs a program, and writes down its memory
    #[command(hide = true, trailing_var_arg = true)]
    WaitFor {
        #[arg(allow_hyphen_values = true)]
        command: Vec<String>,
    },
}

fn main() -> Result<()> {
    match Arguments::parse().experiment {
        Experiment::Overhead(overhead) => overhead.run(),
        Experiment::Library(library) => library.run(),
        Experiment::Messages(messages) => messages.run(),
        Experiment::OneSided(library) => library.run_one_sided(),
        Experiment::Programs(programs) => programs.run(),
        Experiment::Report(report) => report.run(),
        Experiment::WaitFor { command } => programs::wait_for(&command),
    }
}
