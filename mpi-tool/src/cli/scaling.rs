//! What `mpi-tool scaling` understands.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Tell what happens to a program when ranks are added
///
/// Reads reports of runs of one program on several numbers of ranks, in JSON as mpi-profile or DLB's TALP has written them, or
/// pages made of them. Prints time, speedup and efficiencies of each number of ranks, up to which number adding ranks made the
/// program faster, and which call sites and which code take a larger part of the run the more ranks there are. Several reports
/// of one number of ranks say how much runs vary.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mpi-tool run --tool mpi-profile --format json --output 4.json -- mpiexec -n 4 ./app
  mpi-tool scaling 2.json 4.json 8.json
  mpi-tool scaling 2a.json 2b.json 2c.json 8a.json 8b.json 8c.json
  mpi-tool scaling --weak 2.json 4.json 8.json
  mpi-tool scaling 2.json 4.json 8.json -o scaling.html

Exit status: 0; 2 if this command or a report is wrong.")]
pub(crate) struct Scaling {
    /// The reports, in any order: one or more of each number of ranks. A folder with one report in it is that report
    #[arg(required = true, value_name = "RUN")]
    pub(crate) runs: Vec<PathBuf>,
    /// Each rank had the same work, whatever the number of ranks (weak scaling). Without this, all ranks together had the same
    /// work (strong scaling)
    #[arg(long)]
    pub(crate) weak: bool,
    /// The number of ranks that speedup, efficiency and computation scaling are relative to: the smallest by default
    #[arg(long, value_name = "RANKS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) reference: Option<u64>,
    /// How to print it: text by default
    #[arg(long)]
    pub(crate) to: Option<ScalingFormat>,
    /// Write to a file. Its name says the format, if --to does not: scaling.html, scaling.json, scaling.csv
    #[arg(short, long, value_name = "PATH")]
    pub(crate) output: Option<PathBuf>,
    /// How many call sites and how many segments the text and the page have; 0 for all that have grown
    #[arg(long, default_value_t = 5)]
    pub(crate) top: usize,
}

/// What scaling is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScalingFormat {
    /// For people
    Text,
    /// One object
    Json,
    /// A line for each number of ranks
    Csv,
    /// A page for a browser, with curves
    Html,
}
