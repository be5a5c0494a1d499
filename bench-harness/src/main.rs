//! What tools cost. `cargo xtask bench` builds what is needed and runs this.

mod compile;
mod figure;
mod library;
mod messages;
mod model;
mod originals;
mod outcome;
mod overhead;
mod pgas;
mod programs;
mod ranks;
mod report;
mod runs;
mod sample;
mod wait;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::outcome::{FAILURES, write_failure};

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
    /// Kernels by actors and on distributed arrays beside C
    Pgas(pgas::Pgas),
    /// The thesis's experiments: programs under tools and stacks of tools
    Programs(Box<programs::Programs>),
    /// What a tool takes of many ranks: start and end, memory, files, text
    Ranks(ranks::Ranks),
    /// A page of all figures
    Report(report::Report),
    /// Runs a program, and writes down its memory
    #[command(hide = true, trailing_var_arg = true)]
    WaitFor {
        #[arg(allow_hyphen_values = true)]
        command: Vec<String>,
    },
}

impl Experiment {
    fn run(self) -> Result<()> {
        match self {
            Self::Overhead(overhead) => overhead.run(),
            Self::Library(library) => library.run(),
            Self::Messages(messages) => messages.run(),
            Self::OneSided(library) => library.run_one_sided(),
            Self::Pgas(pgas) => pgas.run(),
            Self::Programs(programs) => programs.run(),
            Self::Ranks(ranks) => ranks.run(),
            Self::Report(report) => report.run(),
            Self::WaitFor { command } => wait::wait_for(&command),
        }
    }

    /// What the page calls it; nothing for what measures nothing.
    fn name(&self) -> Option<&'static str> {
        Some(match self {
            Self::Overhead(_) => "overhead",
            Self::Library(_) => "library",
            Self::Messages(_) => "messages",
            Self::OneSided(_) => "one-sided",
            Self::Pgas(_) => "pgas",
            Self::Programs(_) => "programs",
            Self::Ranks(_) => "ranks",
            Self::Report(_) | Self::WaitFor { .. } => return None,
        })
    }
}

fn main() -> ExitCode {
    let experiment = Arguments::parse().experiment;
    let name = experiment.name();
    let Err(error) = experiment.run() else { return ExitCode::SUCCESS };
    // A backtrace of ours says nothing of what was measured.
    eprintln!("\nError: {error:#}");
    if let (Some(name), Some(path)) = (name, std::env::var_os(FAILURES))
        && let Err(error) = write_failure(path.as_ref(), name, &error)
    {
        eprintln!("{error:#}");
    }
    ExitCode::FAILURE
}
