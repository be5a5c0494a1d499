//! The command line of `mpi-tool top`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::hang::Filter;

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
  mpi-tool top --filter 'MPI_Recv 0-63' what ranks 0 to 63 do that are in MPI_Recv mostly
  mpi-tool top --record profile.json    until the run is over, for `mpi-tool report profile.json`
  mpi-tool top --openmetrics /var/lib/node_exporter/mpi.prom
  mpi-tool top --openmetrics 9464       for Prometheus: http://127.0.0.1:9464/metrics

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
    /// Keep the figures in a file for Prometheus' node_exporter (its textfile collector), and print nothing. With a number, serve
    /// them by HTTP on that port of 127.0.0.1 (0: one that is free), to requests with the token of --token. A file whose name is a
    /// number is ./NUMBER
    #[arg(long, value_name = "FILE|PORT", conflicts_with = "json", value_parser = metrics)]
    pub(crate) openmetrics: Option<Metrics>,
    /// The file with the token for --openmetrics PORT, which a request sends as `Authorization: Bearer TOKEN`; Prometheus reads it
    /// by credentials_file. It is made, for you alone to read, if it is not there [default: top-PORT.token in the folder of your
    /// runs, which is said at the start]
    #[arg(long, value_name = "FILE", requires = "openmetrics")]
    pub(crate) token: Option<PathBuf>,
    /// Also keep all that is seen in a file, whatever --filter says, up to the end: a profile by samples, which `mpi-tool report
    /// FILE` prints. Where standard output is no terminal, nothing else is printed without --once or --json
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Only show ranks that fit all of these words: numbers of ranks (3 or 0-7,12), a state (in-mpi, outside, stopped, finalized,
    /// gone, stands, waits), or a part of the function, the place or the host where a rank was found most. !WORD: those that do not
    /// fit it
    #[arg(long, value_name = "WORDS", default_value = "", hide_default_value = true)]
    pub(crate) filter: Filter,
    /// What the lines are sorted by
    #[arg(long, value_enum, default_value_t = SortBy::Worst)]
    pub(crate) sort: SortBy,
    /// How many lines are printed; 0 for all
    #[arg(long, default_value_t = 20)]
    pub(crate) top: usize,
}

/// Where figures for Prometheus go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Metrics {
    /// Into a file.
    File(PathBuf),
    /// To who asks for them at a port of the loopback interface.
    Port(u16),
}

/// A number is a port.
fn metrics(text: &str) -> Result<Metrics, String> {
    if text.is_empty() {
        return Err("it is a file or a port".into());
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        let wrong =
            |_| format!("no port has this number (0 to 65535); a file of that name is ./{text}");
        return text.parse().map(Metrics::Port).map_err(wrong);
    }
    Ok(Metrics::File(text.into()))
}

/// What the lines are sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SortBy {
    /// Ranks that stand in one call; then those that others wait for, who cost most first; then the others, by the share in MPI
    Worst,
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
            Self::Worst => Self::Rank,
            Self::Rank => Self::Mpi,
            Self::Mpi => Self::Work,
            Self::Work => Self::Calls,
            Self::Calls => Self::Worst,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_port() {
        assert_eq!(metrics("9464"), Ok(Metrics::Port(9464)));
        assert_eq!(metrics("0"), Ok(Metrics::Port(0)));
        assert_eq!(metrics("./9464"), Ok(Metrics::File("./9464".into())));
        assert_eq!(metrics("mpi.prom"), Ok(Metrics::File("mpi.prom".into())));
        for wrong in ["65536", "99999999999", ""] {
            assert!(metrics(wrong).is_err(), "{wrong}");
        }
    }
}
