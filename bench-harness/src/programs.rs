//! The thesis's experiments: whole programs under tools and stacks of tools, in interleaved runs.
//!
//! Each round runs all variants of a program in random order, so that what disturbs the machine disturbs
//! all alike; a variant is judged by its ratio to the run without tools of the same round. Each run's figures
//! go to a file at once: a measurement that was interrupted goes on where it stopped.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use crate::compile::compile;
use crate::sample::Random;

#[derive(Args)]
pub(crate) struct Programs {
    /// The MPI's C compiler
    #[arg(long, env = "MPICC", default_value = "mpicc")]
    mpicc: PathBuf,
    /// The MPI's launcher
    #[arg(long, env = "MPIEXEC", default_value = "mpiexec")]
    mpiexec: PathBuf,
    /// The folder with the built tools
    #[arg(long, env = "MPI_TOOLS")]
    tools: PathBuf,
    /// The folder with the C programs
    #[arg(long)]
    sources: PathBuf,
    /// Ranks (two for the latency)
    #[arg(long, default_value_t = 2)]
    ranks: usize,
    /// Rounds; by default 5, or 30 without --quick
    #[arg(long)]
    rounds: Option<usize>,
    /// Small problems, and few levels: minutes in place of hours
    #[arg(long)]
    quick: bool,
    /// Only these; all by default
    #[arg(long = "experiment", value_enum)]
    experiments: Vec<Experiment>,
    /// An installed HPCG (xhpcg), in place of our own
    #[arg(long)]
    hpcg: Option<PathBuf>,
    /// An installed AMG 2006
    #[arg(long)]
    amg: Option<PathBuf>,
    /// An installed CoMD, in place of our own
    #[arg(long)]
    comd: Option<PathBuf>,
    /// An installed osu_latency, in place of our own
    #[arg(long)]
    osu_latency: Option<PathBuf>,
    /// The file of the runs, one a line, which is continued if it is there
    #[arg(long, default_value = "runs.jsonl")]
    output: PathBuf,
}

/// What of the thesis is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Experiment {
    /// One tool that does nothing (table 5.4)
    SingleTool,
    /// Stacks of tools that do nothing (figures 5.5 to 5.8)
    Stack,
    /// The call counter beside one in C (figures 5.10, 5.11)
    Counter,
    /// The bandwidth counter beside one in C (figures 5.13, 5.14)
    Bandwidth,
    /// How long a program takes that only starts and ends MPI, and what memory, by levels
    StartUp,
}

/// A run, as a line of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) schema: u32,
    pub(crate) experiment: Experiment,
    pub(crate) program: String,
    pub(crate) ranks: usize,
    pub(crate) variant: String,
    /// Of a stack; otherwise none.
    pub(crate) levels: Option<usize>,
    pub(crate) round: usize,
    /// What the program says that it took: seconds, or microseconds of a message.
    pub(crate) time: f64,
    /// From the launcher's start to its end, in seconds.
    pub(crate) wall: f64,
    /// The most memory of a process in MiB, where that was measured.
    pub(crate) memory: Option<f64>,
}

pub(crate) const SCHEMA: u32 = 1;

/// A program, and where in its output its own time is.
struct Program {
    name: &'static str,
    ranks: usize,
    command: Vec<String>,
    time: fn(&str) -> Option<f64>,
}

/// A way to run it.
#[derive(Clone)]
struct Variant {
    name: String,
    levels: Option<usize>,
    preload: Vec<PathBuf>,
    tools: Vec<PathBuf>,
    keep: bool,
}

impl Variant {
    fn none() -> Self {
        Self::preloaded("no tool", &[])
    }

    fn preloaded(name: &str, tools: &[&Path]) -> Self {
        let preload = tools.iter().map(|tool| tool.to_path_buf()).collect();
        Self { name: name.into(), levels: None, preload, tools: Vec::new(), keep: false }
    }
}

/// The number behind a text in a line.
fn number_after(output: &str, text: &str) -> Option<f64> {
    let rest = output.lines().find_map(|line| line.split_once(text))?.1;
    rest.trim_start_matches([':', '=', ' ']).split_whitespace().next()?.parse().ok()
}

/// The latency of the smallest message of a table.
fn first_latency(output: &str) -> Option<f64> {
    let line = output.lines().find(|line| line.starts_with(|c: char| c.is_ascii_digit()))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

impl Programs {
    pub(crate) fn run(self) -> Result<()> {
        let folder = tempfile::tempdir()?;
        let c = |name: &str| folder.path().join(format!("lib{name}.so"));
        let header = format!("-I{}", self.sources.join("../../qmpi-shim/include").display());
        for name in ["empty", "counter", "bandwidth_counter", "qmpi_empty", "chain"] {
            let source = self.sources.join(format!("{name}.c"));
            let flags = ["-O3", "-shared", "-fPIC", &header, "-ldl"];
            compile(&self.mpicc, &source, &c(name), &flags)?;
        }
        let starts = folder.path().join("calls");
        compile(&self.mpicc, &self.sources.join("calls.c"), &starts, &["-O3", "-pthread"])?;

        let rounds = self.rounds.unwrap_or(if self.quick { 5 } else { 30 });
        let all = Experiment::value_variants();
        let wanted = if self.experiments.is_empty() { all } else { &self.experiments[..] };
        let mut plan = Vec::new();
        for &experiment in wanted {
            for program in self.programs(experiment, &starts)? {
                plan.push((experiment, program, self.variants(experiment, folder.path())));
            }
        }
        let done: HashSet<_> = read(&self.output)?.iter().map(key).collect();
        let mut file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.output)
            .with_context(|| format!("cannot write {}", self.output.display()))?;
        let mut random = Random::new();
        let mut runs = Vec::new();
        for round in 0..rounds {
            for (experiment, program, variants) in &plan {
                let mut order: Vec<usize> = (0..variants.len()).collect();
                random.shuffle(&mut order);
                for index in order {
                    let variant = &variants[index];
                    let sample = Sample {
                        schema: SCHEMA,
                        experiment: *experiment,
                        program: program.name.into(),
                        ranks: program.ranks,
                        variant: variant.name.clone(),
                        levels: variant.levels,
                        round,
                        time: 0.0,
                        wall: 0.0,
                        memory: None,
                    };
                    runs.push((program, variant, sample));
                }
            }
        }
        let total = runs.len();
        runs.retain(|(_, _, sample)| !done.contains(&key(sample)));
        let left = runs.len();
        eprintln!("{total} runs, {} of them done before", total - left);
        let start = Instant::now();
        for (number, (program, variant, mut sample)) in runs.into_iter().enumerate() {
            self.measure(program, variant, &mut sample)?;
            writeln!(file, "{}", serde_json::to_string(&sample)?)?;
            progress(start, number + 1, left, &sample);
        }
        if std::io::stderr().is_terminal() {
            eprint!("\r{:78}\r", "");
        }
        println!("{total} runs in {}", self.output.display());
        Ok(())
    }

    /// The programs of an experiment, with the thesis's arguments, scaled to this machine.
    fn programs(&self, experiment: Experiment, starts: &Path) -> Result<Vec<Program>> {
        let own = |name: &str, arguments: &[&str]| -> Result<Vec<String>> {
            let program = std::env::current_exe()?.with_file_name(name);
            Ok([&[program.to_str().context("a path that is not UTF-8")?], arguments]
                .concat()
                .iter()
                .map(|word| (*word).to_owned())
                .collect())
        };
        let given = |path: &Path, arguments: &[&str]| -> Vec<String> {
            let program = path.display().to_string();
            std::iter::once(program)
                .chain(arguments.iter().map(|word| (*word).to_owned()))
                .collect()
        };
        if experiment == Experiment::StartUp {
            // One process, so that its memory is the launched program's own.
            return Ok(vec![Program {
                name: "start and end",
                ranks: 0,
                command: given(starts, &["MPI_Comm_rank", "1"]),
                time: |_| Some(0.0),
            }]);
        }
        let mut programs = Vec::new();
        let points = if self.quick { "16" } else { "48" };
        programs.push(Program {
            name: "hpcg",
            ranks: self.ranks,
            command: match &self.hpcg {
                Some(path) => {
                    let size = format!("--nx={points}");
                    given(
                        path,
                        &[&size, &size.replace("nx", "ny"), &size.replace("nx", "nz"), "--rt=0"],
                    )
                }
                None => own("hpcg", &["--points", points])?,
            },
            time: |output| {
                number_after(output, "timed seconds").or_else(|| number_after(output, "Total="))
            },
        });
        let (cells, steps) = if self.quick { ("8", "50") } else { ("20", "100") };
        let ranks = self.ranks.to_string();
        let size = ["-e", "-x", cells, "-y", cells, "-z", cells, "-k", &ranks, "-N", steps];
        programs.push(Program {
            name: "comd",
            ranks: self.ranks,
            command: match &self.comd {
                Some(path) => given(path, &size),
                None => own("comd", &size)?,
            },
            time: |output| {
                number_after(output, "microseconds an atom and step:")
                    .or_else(|| number_after(output, "Average all atom update rate"))
            },
        });
        let small = ["latency", "--max", "1", "--iterations", "20000"];
        programs.push(Program {
            name: "osu latency",
            ranks: 2,
            command: match &self.osu_latency {
                Some(path) => given(path, &["-m", "1:1", "-i", "20000"]),
                None => own("osu", &small)?,
            },
            time: first_latency,
        });
        if let Some(path) = &self.amg {
            programs.push(Program {
                name: "amg",
                ranks: self.ranks,
                command: given(
                    path,
                    &["-laplace", "-P", &ranks, "1", "1", "-n", points, points, points],
                ),
                time: |output| number_after(output, "wall clock time"),
            });
        }
        Ok(programs)
    }

    fn variants(&self, experiment: Experiment, c: &Path) -> Vec<Variant> {
        let ours = |name: &str| self.tools.join(format!("lib{name}.so"));
        let c = |name: &str| c.join(format!("lib{name}.so"));
        let shim = ours("qmpi");
        let stacked = |name: &str, levels: usize, tool: PathBuf, keep: bool| Variant {
            name: name.into(),
            levels: Some(levels),
            preload: vec![shim.clone()],
            tools: vec![tool; levels],
            keep,
        };
        let levels: &[usize] =
            if self.quick { &[0, 100, 300] } else { &[0, 10, 50, 100, 150, 200, 250, 300] };
        let mut variants = vec![Variant::none()];
        match experiment {
            Experiment::SingleTool => {
                variants.push(Variant::preloaded("C, empty", &[&c("empty")]));
                variants.push(Variant::preloaded("empty-raw", &[&ours("empty_raw")]));
                variants.push(Variant::preloaded("empty-high", &[&ours("empty_high")]));
                variants.push(Variant::preloaded("QMPI, empty stack", &[&shim]));
            }
            Experiment::Counter => {
                variants.push(Variant::preloaded("C, counter", &[&c("counter")]));
                variants.push(Variant::preloaded("call-counter", &[&ours("call_counter")]));
                for &levels in &levels[1..] {
                    let tool = ours("call_counter");
                    variants.push(stacked("call-counter, stack", levels, tool, false));
                }
            }
            Experiment::Bandwidth => {
                let c = c("bandwidth_counter");
                variants.push(Variant::preloaded("C, bandwidth counter", &[&c]));
                let tool = ours("bandwidth_counter");
                variants.push(Variant::preloaded("bandwidth-counter", &[&tool]));
            }
            Experiment::Stack | Experiment::StartUp => {
                for &levels in levels {
                    variants.push(stacked("empty-raw, kept", levels, ours("empty_raw"), true));
                    variants.push(stacked("empty-high, kept", levels, ours("empty_high"), true));
                    variants.push(stacked("C, for TUM's QMPI", levels, c("qmpi_empty"), false));
                }
                // Copies, since a file is loaded once.
                for &levels in levels.iter().filter(|levels| **levels > 0) {
                    let copies: Vec<PathBuf> = (0..levels)
                        .filter_map(|level| {
                            let copy = c(&format!("chain{level}"));
                            (copy.exists() || fs::copy(c("chain"), &copy).is_ok()).then_some(copy)
                        })
                        .collect();
                    let mut chain = Variant::preloaded("C, chain of preloads", &[]);
                    chain.levels = Some(levels);
                    chain.preload = copies;
                    variants.push(chain);
                }
            }
        }
        variants
    }

    fn measure(&self, program: &Program, variant: &Variant, sample: &mut Sample) -> Result<()> {
        let list = |paths: &[PathBuf], between: &str| {
            let all: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
            all.join(between)
        };
        let mut command;
        let memory = tempfile::NamedTempFile::new()?;
        if program.ranks == 0 {
            // Its own memory is known of a child's child only by what waits for it.
            command = Command::new(std::env::current_exe()?);
            command.args(["wait-for"]).arg(memory.path()).args(&program.command);
            command.env("BENCH_PRELOAD", list(&variant.preload, ":"));
        } else {
            // The launcher itself has no tools.
            command = Command::new(&self.mpiexec);
            command.args(["-n", &program.ranks.to_string(), "env"]);
            command
                .arg(format!("LD_PRELOAD={}", list(&variant.preload, ":")))
                .args(&program.command);
        }
        command.env("MPI_TOOL_OUTPUT", "none").env("TOOLS", list(&variant.tools, ":"));
        if variant.tools.is_empty() {
            command.env_remove("TOOLS");
        }
        if variant.keep {
            command.env("QMPI_KEEP", "1");
        }
        let start = Instant::now();
        let output = command.stdin(Stdio::null()).output().context("the launcher does not run")?;
        sample.wall = start.elapsed().as_secs_f64();
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            bail!("{} with {}: {}\n{said}\n{errors}", program.name, variant.name, output.status);
        }
        sample.time = (program.time)(&said)
            .with_context(|| format!("{} does not say how long it took:\n{said}", program.name))?;
        if program.ranks == 0 {
            sample.time = sample.wall;
            sample.memory = fs::read_to_string(memory.path())?.trim().parse().ok();
        }
        Ok(())
    }
}

/// `wait-for FILE PROGRAM …`: runs a program with the tools of `BENCH_PRELOAD`, and writes down the most
/// memory that it had, in MiB.
pub(crate) fn wait_for(arguments: &[String]) -> Result<()> {
    let [file, program, arguments @ ..] = arguments else { bail!("wait-for FILE PROGRAM …") };
    let status = Command::new(program)
        .args(arguments)
        .env("LD_PRELOAD", std::env::var_os("BENCH_PRELOAD").unwrap_or_default())
        .status()?;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the structure is written if the call succeeds.
    let usage = unsafe {
        if libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) != 0 {
            bail!("getrusage: {}", std::io::Error::last_os_error());
        }
        usage.assume_init()
    };
    fs::write(file, (usage.ru_maxrss as f64 / 1024.0).to_string())?;
    if !status.success() {
        bail!("{program}: {status}");
    }
    Ok(())
}

/// What tells a run from the others.
fn key(sample: &Sample) -> String {
    let Sample { experiment, program, ranks, variant, levels, round, .. } = sample;
    format!("{experiment:?} {program} {ranks} {variant} {levels:?} {round}")
}

/// The runs of a file; none if it is not there.
pub(crate) fn read(path: &Path) -> Result<Vec<Sample>> {
    let Ok(text) = fs::read_to_string(path) else { return Ok(Vec::new()) };
    let mut samples = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let place = || format!("{}, line {}", path.display(), number + 1);
        let sample: Sample = serde_json::from_str(line).with_context(place)?;
        if sample.schema != SCHEMA {
            bail!("{}: schema {}, which this program does not know", place(), sample.schema);
        }
        samples.push(sample);
    }
    Ok(samples)
}

fn progress(start: Instant, done: usize, all: usize, sample: &Sample) {
    if !std::io::stderr().is_terminal() {
        return;
    }
    let each = start.elapsed().as_secs_f64() / done as f64;
    let left = each * (all - done) as f64;
    let mut line = format!("{done} of {all} runs, about {left:.0} s left: ");
    let _ = write!(line, "{}, {}", sample.program, sample.variant);
    eprint!("\r{line:78.78}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_say_how_long_they_took() {
        assert_eq!(number_after("a\ntimed seconds: 1.25\n", "timed seconds"), Some(1.25));
        assert_eq!(number_after("Total=3.5\n", "Total="), Some(3.5));
        assert_eq!(number_after("nothing", "Total="), None);
        assert_eq!(first_latency("# bytes us\n1    0.54\n"), Some(0.54));
        assert_eq!(first_latency("# bytes us\n"), None);
    }
}
