//! What rmpi costs beside C: patterns of communication, in one program, sample by sample; and
//! instructions of a call, by callgrind.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use clap::Args;
use serde::{Deserialize, Serialize};

use crate::compile::compile;
use crate::outcome::{Troubles, cell, collected, finish, samples};
use crate::sample::estimate;

#[derive(Args)]
pub(crate) struct Library {
    /// The MPI's C compiler
    #[arg(long, env = "MPICC")]
    mpicc: PathBuf,
    /// The launcher of the same MPI, which `cargo xtask bench` finds
    #[arg(long, env = "MPIEXEC")]
    mpiexec: PathBuf,
    /// The folder with the C programs
    #[arg(long)]
    sources: PathBuf,
    /// Ranks
    #[arg(long, default_value_t = 2)]
    ranks: usize,
    /// Paired samples of each pattern and size
    #[arg(long, default_value_t = 200)]
    samples: usize,
    /// Seconds of a sample
    #[arg(long, default_value_t = 0.002)]
    seconds: f64,
    /// Only instructions
    #[arg(long)]
    no_time: bool,
    /// Write the figures here, as JSON
    #[arg(long)]
    output: Option<PathBuf>,
}

/// What `patterns` prints: seconds a round.
#[derive(Deserialize)]
struct Sampled {
    pattern: String,
    bytes: u64,
    c: Vec<f64>,
    rust: Vec<f64>,
    allocations: u64,
}

#[derive(Serialize)]
struct Ratio {
    pattern: String,
    bytes: u64,
    /// Time of Rust by time of C, in the same pair: the median, and a 95 % interval of it.
    ratio: f64,
    low: f64,
    high: f64,
    /// Rust's allocations in all measured rounds.
    allocations: u64,
}

#[derive(Serialize)]
struct Instructions {
    call: &'static str,
    c: f64,
    rust: f64,
}

#[derive(Serialize)]
struct Figures {
    schema: &'static str,
    mpi: String,
    ranks: usize,
    ratios: Vec<Ratio>,
    instructions: Vec<Instructions>,
}

impl Library {
    pub(crate) fn run(self) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let c = folder.path().join("libpatterns.so");
        compile(&self.mpicc, &self.sources.join("patterns.c"), &c, &["-O2", "-shared", "-fPIC"])?;
        let program = std::env::current_exe()?.with_file_name("patterns");
        let mut figures = Figures {
            schema: "rmpi-speed/1",
            mpi: self.mpicc.display().to_string(),
            ranks: self.ranks,
            ratios: Vec::new(),
            instructions: Vec::new(),
        };
        let mut troubles = Troubles::default();

        println!("Instructions of a call that has nothing to do (callgrind)\n");
        println!("| call | C | rmpi |\n|---|---|---|");
        for call in ["rank", "send", "isend-wait", "allreduce", "allgatherv_vec"] {
            let count = |language: &str| -> Result<f64> {
                const CALLS: u32 = 2000;
                let collect = |calls: u32| -> Result<f64> {
                    collected(
                        Command::new("valgrind")
                            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
                            .arg("--toggle-collect=*patterns*calls*")
                            .arg(&program)
                            .arg(&c)
                            .args(["calls", language, call, &calls.to_string()]),
                    )
                };
                Ok((collect(2 * CALLS)? - collect(CALLS)?) / f64::from(CALLS))
            };
            let [c, rust] = ["c", "rust"].map(|language| {
                troubles.note(&format!("instructions of {call} in {language}"), count(language))
            });
            println!("| {call} | {} | {} |", cell(c, 1), cell(rust, 1));
            if let (Some(c), Some(rust)) = (c, rust) {
                figures.instructions.push(Instructions { call, c, rust });
            }
        }

        if !self.no_time {
            self.time(&program, &c, &mut figures, &mut troubles);
        }
        finish(&figures, self.output.as_deref(), &troubles)
    }

    /// One-sided communication, in time only.
    pub(crate) fn run_one_sided(self) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let c = folder.path().join("libone_sided.so");
        compile(&self.mpicc, &self.sources.join("one_sided.c"), &c, &["-O2", "-shared", "-fPIC"])?;
        let program = std::env::current_exe()?.with_file_name("one_sided");
        let mut figures = Figures {
            schema: "rmpi-one-sided/1",
            mpi: self.mpicc.display().to_string(),
            ranks: self.ranks,
            ratios: Vec::new(),
            instructions: Vec::new(),
        };
        let mut troubles = Troubles::default();
        self.time(&program, &c, &mut figures, &mut troubles);
        finish(&figures, self.output.as_deref(), &troubles)
    }

    /// The pairs of samples that a program makes of the patterns.
    fn time(&self, program: &Path, c: &Path, figures: &mut Figures, troubles: &mut Troubles) {
        println!("\nTime, Rust by C, {} pairs on {} ranks\n", self.samples, self.ranks);
        println!("| pattern | bytes | median ratio | 95 % interval | allocations |");
        println!("|---|---|---|---|---|");
        let mut program = Command::new(program);
        program.arg(c).args([self.samples.to_string(), self.seconds.to_string()]);
        let mut all: Vec<Sampled> = Vec::new();
        let sampled = samples::<Sampled>(&self.mpiexec, self.ranks, &mut program);
        for mut more in troubles.note("time by C's", sampled).unwrap_or_default() {
            let is_same =
                |one: &&mut Sampled| (&one.pattern, one.bytes) == (&more.pattern, more.bytes);
            if let Some(one) = all.iter_mut().find(is_same) {
                one.c.append(&mut more.c);
                one.rust.append(&mut more.rust);
                one.allocations += more.allocations;
            } else {
                all.push(more);
            }
        }
        for sampled in all {
            let pairs = sampled.rust.iter().zip(&sampled.c);
            let ratios: Vec<_> = pairs.map(|(rust, c)| rust / c).collect();
            let ratio = estimate(&ratios);
            let Sampled { pattern, bytes, allocations, .. } = sampled;
            println!(
                "| {pattern} | {bytes} | {:.3} | {:.3} to {:.3} | {allocations} |",
                ratio.median, ratio.low, ratio.high
            );
            // Outside for sure: the interval does not reach into what is allowed.
            if ratio.low > 1.02 {
                troubles
                    .missed
                    .push(format!("{pattern} of {bytes} bytes is {:.3} of C", ratio.median));
            }
            if allocations > 0 {
                troubles.missed.push(format!("{pattern} of {bytes} bytes allocates"));
            }
            let (ratio, low, high) = (ratio.median, ratio.low, ratio.high);
            figures.ratios.push(Ratio { pattern, bytes, ratio, low, high, allocations });
        }
    }
}
