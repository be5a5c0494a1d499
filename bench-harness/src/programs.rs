//! The thesis's experiments: whole programs under tools and stacks of tools, in interleaved runs.
//!
//! Each round runs all variants of a program in random order, so that what disturbs the machine disturbs
//! all alike; a variant is judged by its ratio to the run without tools of the same round. Each run's figures
//! go to a file at once: a measurement that was interrupted goes on where it stopped.

use std::collections::{HashMap, HashSet};
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
use crate::originals::{Originals, Program, Said, number_after, own};
use crate::outcome::Troubles;
use crate::runs::{SCHEMA, Sample, key, read};
use crate::sample::Random;

#[derive(Args)]
pub(crate) struct Programs {
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
    /// Only these programs, by their names in the page; all by default
    #[arg(long = "program")]
    programs: Vec<String>,
    #[command(flatten)]
    originals: Originals,
    /// Only say how long it would take, after one run of each program
    #[arg(long)]
    estimate: bool,
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
    /// How long a program takes that only starts and ends MPI, and what memory, by levels and ranks
    StartUp,
    /// The time by MPI function (figures 5.1 to 5.3), as the example `mpi_time` measures it
    TimeSplit,
    /// The latency by message size, without tools and in stacks (figures 5.4 and 5.8)
    Latency,
    /// A program of ours beside the same in C
    AgainstC,
    /// What the end takes, and a tool's report there, by ranks
    Scale,
}

/// What all others are compared with.
pub(crate) const NONE: &str = "no tool";

/// Numbers of ranks, more than there are processors, and tools whose end is measured there.
const SCALE: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
pub(crate) const SCALE_TOOLS: [&str; 3] = ["empty-raw", "call-counter", "bandwidth-counter"];

/// A run that takes so many seconds hangs.
const LIMIT: &str = "3600";

/// Our tool that measures the time in each function, and reports.
const MPI_TIME: &str = "mpi-time";

/// Programs in C, compiled.
struct InC {
    ends: String,
    latency: String,
}

/// A way to run a program.
#[derive(Clone)]
struct Variant {
    name: String,
    levels: Option<usize>,
    preload: Vec<PathBuf>,
    tools: Vec<PathBuf>,
    keep: bool,
    /// Another program, in place of the one that is measured.
    command: Option<Vec<String>>,
}

impl Variant {
    fn none() -> Self {
        Self::preloaded(NONE, &[])
    }

    fn preloaded(name: &str, tools: &[&Path]) -> Self {
        let preload = tools.iter().map(|tool| tool.to_path_buf()).collect();
        Self {
            name: name.into(),
            levels: None,
            preload,
            tools: Vec::new(),
            keep: false,
            command: None,
        }
    }
}

impl Programs {
    pub(crate) fn run(mut self) -> Result<()> {
        let folder = tempfile::tempdir()?;
        self.originals.build(&self.mpicc, &self.sources, folder.path())?;
        let c = |name: &str| folder.path().join(format!("lib{name}.so"));
        let header = format!("-I{}", self.sources.join("../../qmpi-shim/include").display());
        for name in ["empty", "counter", "bandwidth_counter", "qmpi_empty", "chain"] {
            let source = self.sources.join(format!("{name}.c"));
            let flags = ["-O3", "-shared", "-fPIC", &header, "-ldl"];
            compile(&self.mpicc, &source, &c(name), &flags)?;
        }
        let program = |name: &str| -> Result<String> {
            let program = folder.path().join(name);
            let flags = ["-O2", "-pthread"];
            compile(&self.mpicc, &self.sources.join(format!("{name}.c")), &program, &flags)?;
            Ok(program.display().to_string())
        };
        let in_c = InC { ends: program("ends")?, latency: program("osu_latency")? };

        let rounds = self.rounds.unwrap_or(if self.quick { 5 } else { 30 });
        let all = Experiment::value_variants();
        let wanted = if self.experiments.is_empty() { all } else { &self.experiments[..] };
        let mut plan = Vec::new();
        for &experiment in wanted {
            for program in self.programs(experiment, &in_c)? {
                if !self.programs.is_empty()
                    && !self.programs.iter().any(|name| name == program.name)
                {
                    continue;
                }
                plan.push((experiment, program, self.variants(experiment, folder.path())?));
            }
        }
        if plan.is_empty() {
            bail!("no program of these experiments is called {}", self.programs.join(" or "));
        }
        let before = read(&self.output)?;
        self.check_arguments(&plan, &before)?;
        let done: HashSet<_> = before.iter().map(key).collect();
        let mut random = Random::new();
        let mut runs = Vec::new();
        for round in 0..rounds {
            for (experiment, program, variants) in &plan {
                let mut order: Vec<usize> = (0..variants.len()).collect();
                random.shuffle(&mut order);
                for index in order {
                    let variant = &variants[index];
                    runs.push((program, variant, sample(*experiment, program, variant, round)));
                }
            }
        }
        let total = runs.len();
        runs.retain(|(_, _, sample)| !done.contains(&key(sample)));
        let left = runs.len();
        let mut troubles = Troubles::default();
        if left > 0 {
            let seconds = self.estimate(&mut runs, &mut troubles);
            eprintln!(
                "{total} runs, {} of them done before; the others take about {}",
                total - left,
                duration(seconds)
            );
        }
        if self.estimate {
            return troubles.tell();
        }
        let mut file = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.output)
            .with_context(|| format!("cannot write {}", self.output.display()))?;
        let start = Instant::now();
        let (mut written, mut broken) = (total - left, HashSet::new());
        let left = runs.len();
        for (number, (program, variant, mut sample)) in runs.into_iter().enumerate() {
            // What has failed once would fail again, and may take an hour for it.
            let way = (identity(program), variant.name.clone(), variant.levels);
            if broken.contains(&way) {
                continue;
            }
            let measured = self.measure(program, variant, &mut sample);
            if troubles.note(&title(program, variant), measured).is_none() {
                broken.insert(way);
                continue;
            }
            writeln!(file, "{}", serde_json::to_string(&sample)?)?;
            written += 1;
            progress(start, number + 1, left, &sample);
        }
        if std::io::stderr().is_terminal() {
            eprint!("\r{:78}\r", "");
        }
        println!("{written} of {total} runs in {}", self.output.display());
        troubles.tell()
    }

    /// Warms up, and says how long these runs will take, in seconds: each program runs once without tools
    /// and, if there is time, once in the deepest stack of each kind. Removes the runs of what does not run.
    fn estimate(&self, runs: &mut Vec<Planned<'_>>, troubles: &mut Troubles) -> f64 {
        let mut walls: HashMap<(String, String), f64> = HashMap::new();
        let mut broken: HashSet<(String, String)> = HashSet::new();
        let mut deepest: HashMap<(String, String), usize> = HashMap::new();
        for (program, variant, _) in &*runs {
            let levels = deepest.entry((identity(program), variant.name.clone())).or_default();
            *levels = (*levels).max(variant.levels.unwrap_or(0));
        }
        for (program, variant, run) in &*runs {
            let of = (identity(program), variant.name.clone());
            let levels = variant.levels.unwrap_or(0);
            let is_wanted =
                variant.name == NONE || !self.quick && levels > 0 && deepest[&of] == levels;
            if is_wanted && !walls.contains_key(&of) && !broken.contains(&of) {
                if std::io::stderr().is_terminal() {
                    let line = format!("warming up: {}, {}", program.name, variant.name);
                    eprint!("\r{line:78.78}\r");
                }
                let mut warm_up = run.clone();
                let measured = self.measure(program, variant, &mut warm_up);
                match troubles.note(&title(program, variant), measured) {
                    Some(()) => walls.insert(of, warm_up.wall).is_some(),
                    None => broken.insert(of),
                };
            }
        }
        // Without the run without tools there is nothing to compare others with.
        runs.retain(|(program, variant, _)| {
            [NONE, &variant.name]
                .iter()
                .all(|variant| !broken.contains(&(identity(program), (*variant).to_owned())))
        });
        let each = runs.iter().map(|(program, variant, _)| {
            let of = (identity(program), variant.name.clone());
            let none = (identity(program), NONE.to_owned());
            let none = walls.get(&none).copied().unwrap_or(0.0);
            let levels = variant.levels.unwrap_or(0) as f64 / deepest[&of].max(1) as f64;
            none + levels * (walls.get(&of).copied().unwrap_or(none) - none)
        });
        each.sum()
    }

    /// Runs of other arguments are other measurements.
    fn check_arguments(
        &self,
        plan: &[(Experiment, Program, Vec<Variant>)],
        before: &[Sample],
    ) -> Result<()> {
        for (experiment, program, variants) in plan {
            let now = sample(*experiment, program, &variants[0], 0);
            let other = before.iter().find(|sample| {
                sample.experiment == now.experiment
                    && sample.program == now.program
                    && sample.variant == now.variant
                    && sample.arguments != now.arguments
            });
            if let Some(other) = other {
                bail!(
                    "{} has runs of {} with `{}`, where `{}` is wanted: give another --output",
                    self.output.display(),
                    now.program,
                    other.arguments,
                    now.arguments
                );
            }
        }
        Ok(())
    }

    /// The programs of an experiment.
    fn programs(&self, experiment: Experiment, in_c: &InC) -> Result<Vec<Program>> {
        let (originals, quick) = (&self.originals, self.quick);
        let ends = |name: &'static str, ranks: Option<usize>| Program {
            name,
            ranks,
            command: vec![in_c.ends.clone()],
            said: |_| Some(Said::default()),
        };
        let solvers = || -> Result<Vec<Program>> {
            Ok(vec![
                originals.amg(self.ranks, quick)?,
                originals.hpcg(self.ranks, quick)?,
                originals.comd(self.ranks, quick)?,
            ])
        };
        Ok(match experiment {
            Experiment::Scale => {
                let program = |ranks: &usize| Program {
                    said: |text| {
                        let time = number_after(text, "end:")?;
                        Some(Said { time, ..Said::default() })
                    },
                    ..ends("end", Some(*ranks))
                };
                SCALE.iter().map(program).collect()
            }
            // One process, so that its memory is the launched program's own; and some, with the launcher.
            Experiment::StartUp => {
                let mut programs = vec![
                    ends("start and end", None),
                    ends("start and end, 2 ranks", Some(2)),
                    ends("start and end, 4 ranks", Some(4)),
                ];
                programs.truncate(if quick { 2 } else { programs.len() });
                programs
            }
            Experiment::TimeSplit => solvers()?,
            Experiment::Latency => vec![originals.latencies(quick)?],
            Experiment::AgainstC => {
                // One set of sizes for a ratio of small messages, and one for all.
                let Program { said, .. } = originals.latency()?;
                let command = vec![in_c.latency.clone(), "1".into(), "20000".into()];
                vec![Program { name: "osu latency", ranks: Some(2), command, said }]
            }
            _ => {
                let mut programs = solvers()?;
                programs.push(originals.latency()?);
                programs
            }
        })
    }

    fn variants(&self, experiment: Experiment, c: &Path) -> Result<Vec<Variant>> {
        let ours = |name: &str| self.tools.join(format!("lib{name}.so"));
        let c = |name: &str| c.join(format!("lib{name}.so"));
        let shim = ours("qmpi");
        let stacked = |name: &str, levels: usize, tool: PathBuf, keep: bool| Variant {
            name: name.into(),
            levels: Some(levels),
            preload: vec![shim.clone()],
            tools: vec![tool; levels],
            keep,
            command: None,
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
            Experiment::TimeSplit => {
                variants.push(Variant::preloaded(MPI_TIME, &[&ours("mpi_time")]));
            }
            Experiment::Scale => {
                for tool in SCALE_TOOLS {
                    let file = ours(&tool.replace('-', "_"));
                    variants.push(Variant::preloaded(tool, &[&file]));
                }
            }
            Experiment::AgainstC => {
                let arguments = ["latency", "--max", "1", "--iterations", "20000"];
                let mut rust = Variant::preloaded("rmpi", &[]);
                rust.command =
                    Some([vec![own("osu")?], arguments.map(String::from).to_vec()].concat());
                variants.push(rust);
            }
            Experiment::Latency => {
                for (name, tool, keep) in [
                    ("empty-raw, kept", ours("empty_raw"), true),
                    ("call-counter, stack", ours("call_counter"), false),
                    ("C, for TUM's QMPI", c("qmpi_empty"), false),
                ] {
                    variants.push(stacked(name, 300, tool, keep));
                }
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
        Ok(variants)
    }

    fn measure(&self, program: &Program, variant: &Variant, sample: &mut Sample) -> Result<()> {
        let list = |paths: &[PathBuf], between: &str| {
            let all: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
            all.join(between)
        };
        let folder = tempfile::tempdir()?;
        let (memory, report) = (folder.path().join("memory"), folder.path().join("report"));
        let words = variant.command.as_ref().unwrap_or(&program.command);
        let mut command;
        if let Some(ranks) = program.ranks {
            // The launcher itself has no tools.
            command = Command::new("timeout");
            command.arg(LIMIT).arg(&self.mpiexec).args(["-n", &ranks.to_string(), "env"]);
            command.arg(format!("LD_PRELOAD={}", list(&variant.preload, ":"))).args(words);
        } else {
            // Its own memory is known of a child's child only by what waits for it.
            command = Command::new(std::env::current_exe()?);
            command.arg("wait-for").arg(&memory).args(words);
            command.env("BENCH_PRELOAD", list(&variant.preload, ":"));
        }
        command.env("MPI_TOOL_OUTPUT", "none").env("TOOLS", list(&variant.tools, ":"));
        if variant.tools.is_empty() {
            command.env_remove("TOOLS");
        }
        if variant.keep {
            command.env("QMPI_KEEP", "1");
        }
        if sample.experiment == Experiment::Scale {
            command.env("MPI_TOOL_OUTPUT", &report);
        }
        if variant.name == MPI_TIME {
            command.env("MPI_TOOL_OUTPUT", &report).env("MPI_TOOL_FORMAT", "json");
        }
        let start = Instant::now();
        let output = command
            .current_dir(folder.path())
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("{} does not run", command.get_program().display()))?;
        sample.wall = start.elapsed().as_secs_f64();
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            let errors = String::from_utf8_lossy(&output.stderr);
            bail!("{} with {}: {}\n{said}\n{errors}", program.name, variant.name, output.status);
        }
        for entry in fs::read_dir(folder.path())? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "txt") {
                said += &fs::read_to_string(path)?;
            }
        }
        let Said { time, parts } = (program.said)(&said)
            .with_context(|| format!("{} does not say how long it took:\n{said}", program.name))?;
        (sample.time, sample.parts) = (time, parts);
        if sample.experiment == Experiment::StartUp {
            sample.time = sample.wall;
            sample.memory =
                fs::read_to_string(memory).ok().and_then(|text| text.trim().parse().ok());
        }
        if variant.name == MPI_TIME {
            sample.parts = split(&report)?;
        }
        Ok(())
    }
}

/// Of the report of `mpi_time`, the seconds of all ranks in each function.
fn split(report: &Path) -> Result<Vec<(String, f64)>> {
    let text = fs::read_to_string(report).context("mpi_time made no report")?;
    let report: serde_json::Value = serde_json::from_str(&text)?;
    let counters = report["counters"].as_array().context("mpi_time's report has no counters")?;
    let part = |counter: &serde_json::Value| {
        Some((counter["name"].as_str()?.to_owned(), counter["total"].as_f64()? * 1e-9))
    };
    Ok(counters.iter().filter_map(part).collect())
}

/// A run that is still to be made.
fn sample(experiment: Experiment, program: &Program, variant: &Variant, round: usize) -> Sample {
    let words = variant.command.as_ref().unwrap_or(&program.command);
    Sample {
        schema: SCHEMA,
        experiment,
        program: program.name.into(),
        ranks: program.ranks.unwrap_or(1),
        variant: variant.name.clone(),
        arguments: words[1..].join(" "),
        levels: variant.levels,
        round,
        time: 0.0,
        wall: 0.0,
        memory: None,
        parts: Vec::new(),
    }
}

/// A run that is still to be made: of what, and how.
type Planned<'a> = (&'a Program, &'a Variant, Sample);

/// A way to run a program, for people.
fn title(program: &Program, variant: &Variant) -> String {
    let levels = variant.levels.map(|levels| format!(" of {levels} levels")).unwrap_or_default();
    format!("{}, {}{levels}", program.name, variant.name)
}

/// Several experiments have the same program.
fn identity(program: &Program) -> String {
    format!("{} {:?} {:?}", program.name, program.ranks, program.command)
}

/// For people.
fn duration(seconds: f64) -> String {
    match seconds {
        ..90.0 => format!("{seconds:.0} seconds"),
        ..5400.0 => format!("{:.0} minutes", seconds / 60.0),
        _ => format!("{:.1} hours", seconds / 3600.0),
    }
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
    fn durations_are_for_people() {
        assert_eq!(duration(12.4), "12 seconds");
        assert_eq!(duration(600.0), "10 minutes");
        assert_eq!(duration(9000.0), "2.5 hours");
    }

    #[test]
    fn reports_of_mpi_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("report");
        let report =
            serde_json::json!({"counters": [{"name": "MPI_Send", "total": 1_500_000_000}]});
        fs::write(&path, report.to_string()).unwrap();
        assert_eq!(split(&path).unwrap(), [("MPI_Send".to_owned(), 1.5)]);
    }
}
