//! What a tool takes of many ranks on one host: time to start and to end, memory, files, lines of text.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::compile::compile;
use crate::outcome::{Troubles, cell, finish, succeeded};

#[derive(Args)]
pub(crate) struct Ranks {
    /// The MPI's C compiler
    #[arg(long, env = "MPICC")]
    mpicc: PathBuf,
    /// The launcher of the same MPI, which `cargo xtask bench` finds
    #[arg(long, env = "MPIEXEC")]
    mpiexec: PathBuf,
    /// The folder with the built tools
    #[arg(long, env = "MPI_TOOLS")]
    tools: PathBuf,
    /// The folder with the C programs
    #[arg(long)]
    sources: PathBuf,
    /// Numbers of ranks
    #[arg(long, value_delimiter = ',', default_values_t = [64, 128, 256])]
    ranks: Vec<usize>,
    /// Only these tools, by their libraries' names; all that users get by default
    #[arg(long = "tool")]
    only: Vec<String>,
    /// Rounds of messages and a reduction: four calls each
    #[arg(long, default_value_t = 2)]
    rounds: usize,
    /// Write the figures here, as JSON
    #[arg(long)]
    output: Option<PathBuf>,
}

/// What a tool may take of 256 ranks: KiB of a rank, bytes of files for a rank and a call, and lines of text.
struct Limit {
    name: &'static str,
    memory: f64,
    bytes: f64,
    bytes_of_call: f64,
}

const fn limit(name: &'static str, memory: f64, bytes: f64, bytes_of_call: f64) -> Limit {
    Limit { name, memory, bytes, bytes_of_call }
}

const LIMITS: [Limit; 6] = [
    limit("call_counter", 1024.0, 0.0, 0.0),
    limit("bandwidth_counter", 1024.0, 0.0, 0.0),
    limit("mpi_profile", 1024.0, 0.0, 0.0),
    limit("mpi_watch", 1024.0, 0.0, 0.0),
    limit("mpi_trace", 1024.0, 2048.0, 14.0),
    limit("mpi_check", 4096.0, 0.0, 0.0),
];
/// Whatever the number of ranks.
const LINES: usize = 30;

/// What the program prints.
#[derive(Deserialize)]
struct Printed {
    init: f64,
    finalize: f64,
    memory: f64,
    own: f64,
    calls: f64,
}

/// A run.
#[derive(Serialize)]
struct Figure {
    tool: &'static str,
    ranks: usize,
    /// Seconds.
    init: f64,
    finalize: f64,
    /// KiB a rank, its part of what it shares included; and what is its own.
    memory: f64,
    own: f64,
    /// What is left in the working folder, in bytes for a rank.
    bytes: f64,
    lines: usize,
}

#[derive(Serialize)]
struct Figures {
    schema: &'static str,
    mpi: String,
    rounds: usize,
    runs: Vec<Figure>,
}

impl Ranks {
    pub(crate) fn run(self) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let program = folder.path().join("ranks");
        compile(&self.mpicc, &self.sources.join("ranks.c"), &program, &["-O1", "-g"])?;
        let is_wanted = |limit: &&Limit| {
            self.only.is_empty() || self.only.iter().any(|name| name == limit.name)
        };
        let mut figures = Figures {
            schema: "mpi-tool-ranks/1",
            mpi: self.mpicc.display().to_string(),
            rounds: self.rounds,
            runs: Vec::new(),
        };
        let mut troubles = Troubles::default();
        println!(
            "| ranks | tool | MPI_Init, s | MPI_Finalize, s | more memory a rank, KiB | its own | files a rank, B | lines |"
        );
        println!("|---|---|---|---|---|---|---|---|");
        for &ranks in &self.ranks {
            let run = |tool| self.measure(&program, tool, ranks);
            let what = format!("{ranks} ranks without a tool");
            let Some((none, _)) = troubles.note(&what, run(None)) else { continue };
            println!(
                "| {ranks} | none | {:.2} | {:.2} | ({:.0}) | ({:.0}) | | |",
                none.init, none.finalize, none.memory, none.own
            );
            for limit in LIMITS.iter().filter(is_wanted) {
                let what = format!("{ranks} ranks with {}", limit.name);
                let Some((with, calls)) = troubles.note(&what, run(Some(limit.name))) else {
                    continue;
                };
                let more = [with.memory - none.memory, with.own - none.own];
                println!(
                    "| {ranks} | {} | {:.2} | {:.2} | {} | {} | {:.0} | {} |",
                    limit.name,
                    with.init,
                    with.finalize,
                    cell(Some(more[0]), 0),
                    cell(Some(more[1]), 0),
                    with.bytes,
                    with.lines
                );
                let mut judge = |is_met: bool, text: String| {
                    if !is_met {
                        troubles.missed.push(format!("{what}: {text}"));
                    }
                };
                let bytes = limit.bytes + limit.bytes_of_call * calls;
                judge(more[0] <= limit.memory, format!("{:.0} KiB more a rank", more[0]));
                judge(with.bytes <= bytes, format!("{:.0} bytes of files a rank", with.bytes));
                judge(with.lines <= LINES, format!("{} lines of text", with.lines));
                figures.runs.push(with);
            }
            figures.runs.push(none);
        }
        finish(&figures, self.output.as_deref(), &troubles)
    }

    /// Runs the program with a tool, and how many calls each rank makes.
    fn measure(
        &self,
        program: &Path,
        tool: Option<&'static str>,
        ranks: usize,
    ) -> Result<(Figure, f64)> {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new(&self.mpiexec);
        command.args(["-n", &ranks.to_string()]);
        if let Some(tool) = tool {
            let library = self.tools.join(format!("lib{tool}.so"));
            command.arg("env").arg(format!("LD_PRELOAD={}", library.display()));
        }
        command.arg(program).arg(self.rounds.to_string()).current_dir(folder.path());
        // More ranks than processors: who waits lets others go on.
        command.env("OMPI_MCA_mpi_yield_when_idle", "1").env("MPIR_CVAR_POLLS_BEFORE_YIELD", "0");
        let output = command.output().context("the launcher does not run")?;
        succeeded(&command, &output)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let line = text.lines().find(|line| line.starts_with('{'));
        let printed: Printed = serde_json::from_str(line.context("no line of figures")?)?;
        let said = String::from_utf8_lossy(&output.stderr);
        let figure = Figure {
            tool: tool.unwrap_or("none"),
            ranks,
            init: printed.init,
            finalize: printed.finalize,
            memory: printed.memory,
            own: printed.own,
            bytes: bytes_in(folder.path())? as f64 / ranks as f64,
            lines: text.lines().count() - 1 + said.lines().count(),
        };
        Ok((figure, printed.calls))
    }
}

/// The lengths of all files in a folder.
fn bytes_in(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        sum += match entry.file_type()?.is_dir() {
            true => bytes_in(&entry.path())?,
            false => entry.metadata()?.len(),
        };
    }
    Ok(sum)
}
