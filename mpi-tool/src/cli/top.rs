//! The command line of `mpi-tool top`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

/// Show what the ranks of a running job do
///
/// Looks at the state files of a run with mpi-watch many times a second, and says what has come out over the last seconds: which
/// share of the time each rank was in MPI, where, and for whom it waited. Nothing is added to the ranks. On a terminal it is a screen
/// that is drawn anew each second, with keys (?); otherwise, text.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mpi-tool run --tool mpi-watch -- mpiexec -n 4 ./app &
  mpi-tool top                          the newest run of yours on this host
  mpi-tool top 12345                    the run of this process: a rank, or mpiexec
  mpi-tool top --once                   look for 5 seconds, print what was seen, and end
  mpi-tool top --json                   an object on a line each second, for programs to read
  mpi-tool top --openmetrics /var/lib/node_exporter/mpi.prom

Exit status: 0 when the run is over, or q was pressed; 2 if there is no such run.")]
pub(crate) struct Top {
    /// The run: a folder with state files, or the number of a process that belongs to it [default: the newest run]
    #[arg(value_name = "RUN|PID")]
    pub(crate) run: Option<String>,
    /// About how much time a line speaks
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = humantime::parse_duration)]
    pub(crate) window: Duration,
    /// How often to print or draw
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = humantime::parse_duration)]
    pub(crate) every: Duration,
    /// Look for as long as --window, print once, and end
    #[arg(long)]
    pub(crate) once: bool,
    /// Print one JSON object on a line each time
    #[arg(long)]
    pub(crate) json: bool,
    /// Keep the figures in a file for Prometheus' node_exporter (its textfile collector), and print nothing
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    pub(crate) openmetrics: Option<PathBuf>,
    /// What the lines are sorted by
    #[arg(long, value_enum, default_value_t = SortBy::Rank)]
    pub(crate) sort: SortBy,
    /// How many lines are printed; 0 for all
    #[arg(long, default_value_t = 20)]
    pub(crate) top: usize,
}

/// What the lines are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortBy {
    /// The ranks' numbers
    Rank,
    /// The share of the time in MPI, the greatest first
    Mpi,
    /// The share of the time outside of MPI, the greatest first: who is waited for
    Work,
    /// Calls a second, the most first
    Calls,
}

impl SortBy {
    /// The next one, in a circle.
    pub(crate) fn next(self) -> Self {
        match self {
            Self::Rank => Self::Mpi,
            Self::Mpi => Self::Work,
            Self::Work => Self::Calls,
            Self::Calls => Self::Rank,
        }
    }
}
