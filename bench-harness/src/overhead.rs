//! What a tool adds to one call: instructions by callgrind, which are exact, and time in paired,
//! interleaved runs against a C tool that does the same.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use serde::Serialize;

use crate::sample::{Random, estimate};

#[derive(Args)]
pub(crate) struct Overhead {
    /// The MPI's C compiler
    #[arg(long, env = "MPICC", default_value = "mpicc")]
    mpicc: PathBuf,
    /// The folder with the built tools
    #[arg(long, env = "MPI_TOOLS")]
    tools: PathBuf,
    /// The folder with the C programs
    #[arg(long)]
    sources: PathBuf,
    /// Paired runs of each comparison in time
    #[arg(long, default_value_t = 25)]
    runs: usize,
    /// Only instructions
    #[arg(long)]
    no_time: bool,
    /// Write the figures here, as JSON
    #[arg(long)]
    output: Option<PathBuf>,
}

const FUNCTIONS: [&str; 4] = ["MPI_Comm_rank", "MPI_Wtime", "MPI_Send", "MPI_Sendrecv"];

/// One line of the result.
#[derive(Serialize)]
struct Instructions {
    tools: String,
    function: &'static str,
    added: f64,
    at_most: Option<f64>,
}

#[derive(Serialize)]
struct Time {
    what: String,
    threads: usize,
    /// Time of ours by time of the C counter, in the same pair.
    ratio: f64,
    low: f64,
    high: f64,
}

#[derive(Serialize)]
struct Figures {
    schema: &'static str,
    mpi: String,
    instructions: Vec<Instructions>,
    time: Vec<Time>,
}

struct Bench {
    folder: tempfile::TempDir,
    program: PathBuf,
}

impl Overhead {
    pub(crate) fn run(self) -> Result<()> {
        let bench = self.build()?;
        let ours = |name: &str| self.tools.join(format!("lib{name}.so"));
        let c = |name: &str| bench.folder.path().join(format!("lib{name}.so"));
        // The same file is loaded once: a second level is a copy.
        let second = bench.folder.path().join("libempty_raw_2.so");
        std::fs::copy(ours("empty_raw"), &second)?;

        let stacks: [(&str, Vec<PathBuf>, Option<f64>); 6] = [
            ("C, empty", vec![c("empty")], None),
            ("empty-raw", vec![ours("empty_raw")], Some(2.0)),
            ("empty-raw behind empty-raw", vec![ours("empty_raw"), second], Some(4.0)),
            ("C, counter", vec![c("counter")], None),
            ("call-counter", vec![ours("call_counter")], Some(8.0)),
            (
                "call-counter behind empty-raw",
                vec![ours("empty_raw"), ours("call_counter")],
                Some(10.0),
            ),
        ];
        let mut figures = Figures {
            schema: "mpi-tool-overhead/1",
            mpi: self.mpicc.display().to_string(),
            instructions: Vec::new(),
            time: Vec::new(),
        };
        println!("Instructions added to a call (callgrind)\n");
        println!("| tools | {} | at most |", FUNCTIONS.join(" | "));
        println!("|---|{}---|", "---|".repeat(FUNCTIONS.len()));
        let mut missed = Vec::new();
        let none = FUNCTIONS.map(|function| bench.instructions(function, &[]));
        for (name, tools, at_most) in &stacks {
            let mut cells = Vec::new();
            for (function, none) in FUNCTIONS.into_iter().zip(&none) {
                let none = none.as_ref().map_err(|error| anyhow::anyhow!("{error:#}"))?;
                let added = bench.instructions(function, tools)? - none;
                if at_most.is_some_and(|at_most| added > at_most) {
                    missed.push(format!("{name}: {added} instructions on {function}"));
                }
                cells.push(format!("{added:.2}"));
                figures.instructions.push(Instructions {
                    tools: (*name).into(),
                    function,
                    added,
                    at_most: *at_most,
                });
            }
            let limit = at_most.map(|limit| limit.to_string()).unwrap_or_default();
            println!("| {name} | {} | {limit} |", cells.join(" | "));
        }

        if !self.no_time {
            println!("\nTime of MPI_Comm_rank, call-counter by C counter, {} pairs\n", self.runs);
            println!("| threads | median ratio | 95 % interval |\n|---|---|---|");
            for threads in [1, 8] {
                let time = self.pairs(&bench, &ours("call_counter"), &c("counter"), threads)?;
                println!("| {threads} | {:.3} | {:.3} to {:.3} |", time.ratio, time.low, time.high);
                if time.low > 1.0 {
                    missed.push(format!("call-counter is slower than C on {threads} threads"));
                }
                figures.time.push(time);
            }
        }
        if let Some(path) = &self.output {
            std::fs::write(path, serde_json::to_string_pretty(&figures)?)
                .with_context(|| format!("cannot write {}", path.display()))?;
            println!("\nFigures in {}", path.display());
        }
        if !missed.is_empty() {
            bail!("targets missed:\n  {}", missed.join("\n  "));
        }
        println!("\nAll targets met.");
        Ok(())
    }

    fn build(&self) -> Result<Bench> {
        let folder = tempfile::tempdir()?;
        let compile = |source: &str, output: &str, flags: &[&str]| -> Result<PathBuf> {
            let output = folder.path().join(output);
            let source = self.sources.join(source);
            let status = Command::new(&self.mpicc)
                .args(["-O2", "-pthread", "-o"])
                .arg(&output)
                .arg(&source)
                .args(flags)
                .status()
                .with_context(|| format!("{} does not run", self.mpicc.display()))?;
            if !status.success() {
                bail!("{} was not compiled", source.display());
            }
            Ok(output)
        };
        let program = compile("calls.c", "calls", &[])?;
        for tool in ["empty", "counter"] {
            compile(&format!("{tool}.c"), &format!("lib{tool}.so"), &["-shared", "-fPIC"])?;
        }
        Ok(Bench { folder, program })
    }

    /// Runs both, in random order, as often as asked.
    fn pairs(&self, bench: &Bench, ours: &Path, theirs: &Path, threads: usize) -> Result<Time> {
        let calls = if threads == 1 { 20_000_000 } else { 2_000_000 };
        let mut random = Random::new();
        let mut ratios = Vec::new();
        for run in 0..self.runs {
            if std::io::stderr().is_terminal() {
                eprint!("\r  {threads} threads, pair {} of {} ", run + 1, self.runs);
            }
            let mut order = [0, 1];
            random.shuffle(&mut order);
            let mut times = [0.0; 2];
            for which in order {
                times[which] = bench.nanoseconds([ours, theirs][which], calls, threads)?;
            }
            ratios.push(times[0] / times[1]);
        }
        if std::io::stderr().is_terminal() {
            eprint!("\r{:40}\r", "");
        }
        let ratio = estimate(&ratios);
        Ok(Time {
            what: "call-counter by C counter".into(),
            threads,
            ratio: ratio.median,
            low: ratio.low,
            high: ratio.high,
        })
    }
}

impl Bench {
    /// Instructions of one call, between the caller's call and its return: the difference of two
    /// runs, so that what happens once does not matter.
    fn instructions(&self, function: &'static str, tools: &[PathBuf]) -> Result<f64> {
        const CALLS: u32 = 10_000;
        let more = self.collected(function, tools, 2 * CALLS)?;
        let less = self.collected(function, tools, CALLS)?;
        Ok((more - less) / f64::from(CALLS))
    }

    fn collected(&self, function: &str, tools: &[PathBuf], calls: u32) -> Result<f64> {
        let measured = function.replace("MPI_", "measured_").to_lowercase();
        let output = self
            .program(tools, &["valgrind"])
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(format!("--toggle-collect={measured}"))
            .arg(&self.program)
            .args([function, &calls.to_string()])
            .output()
            .context("valgrind does not run; it counts the instructions (Debian: valgrind)")?;
        let errors = String::from_utf8_lossy(&output.stderr);
        errors
            .lines()
            .find_map(|line| line.split_once("Collected : "))
            .and_then(|(_, count)| count.trim().parse().ok())
            .with_context(|| format!("callgrind counted nothing:\n{errors}"))
    }

    fn nanoseconds(&self, tool: &Path, calls: u64, threads: usize) -> Result<f64> {
        let program = self.program.to_str().context("a path that is not UTF-8")?;
        let output = self
            .program(&[tool.to_owned()], &[program])
            .args(["MPI_Comm_rank", &calls.to_string(), &threads.to_string()])
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        said.trim().parse().with_context(|| {
            format!("{program} failed:\n{}", String::from_utf8_lossy(&output.stderr))
        })
    }

    fn program(&self, tools: &[PathBuf], words: &[&str]) -> Command {
        let tools: Vec<_> = tools.iter().map(|tool| tool.display().to_string()).collect();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).env("LD_PRELOAD", tools.join(" ")).env("MPI_TOOL_OUTPUT", "none");
        command
    }
}
