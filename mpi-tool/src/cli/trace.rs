//! What `mpi-tool trace` understands.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Print what a trace says, or write it for other programs
///
/// Reads the files that mpi-trace has written in a run folder, also while the program runs and after it was killed. Tells
/// which ranks wait for whom, or writes all calls and messages in a form that other programs read.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mpi-tool run --tool mpi-trace -- mpiexec -n 4 ./app
  mpi-tool trace mpi-trace-…                                 who waits for whom
  mpi-tool trace mpi-trace-… --to perfetto -o app.pftrace    for ui.perfetto.dev
  mpi-tool trace mpi-trace-… --html -o app.html              time lines in a page
  mpi-tool trace mpi-trace-… --to csv -o calls.csv           a line a call
  mpi-tool trace mpi-trace-… --to sqlite -o app.sqlite       tables of calls, messages and waits
  mpi-tool trace mpi-trace-… --to otf2 -o FOLDER             for Vampir, ViTE, pipit
  mpi-tool trace mpi-trace-… --to ti -o FOLDER               for SimGrid's smpirun -replay")]
pub(crate) struct Trace {
    /// The run: its folder, or several, such as one from each host
    #[arg(value_name = "RUN", required = true)]
    pub(crate) runs: Vec<PathBuf>,
    /// What to write
    #[arg(long, default_value = "text")]
    pub(crate) to: TraceFormat,
    /// The same as --to html
    #[arg(long, conflicts_with = "to")]
    pub(crate) html: bool,
    /// Write it into this file, or into this folder if the format is one, not to standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// How many lines of causes and of waits the text has; 0 for all
    #[arg(long, default_value_t = 20)]
    pub(crate) top: usize,
}

/// What a trace is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TraceFormat {
    /// A page for people: who waits for whom
    Text,
    /// A line a call
    Csv,
    /// One object with all calls and messages
    Json,
    /// Time lines with arrows, for ui.perfetto.dev
    Perfetto,
    /// Time lines with arrows, as a page of its own
    Html,
    /// A folder for Vampir and other readers of OTF2, written by OTF2's library
    Otf2,
    /// A database of SQLite: calls, messages, waits with their causes, and the code between calls
    Sqlite,
    /// A folder for SimGrid, which replays the run on other machines
    Ti,
}
