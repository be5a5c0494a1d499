//! Measurements: builds what they need, and has `bench-harness` make them.

mod builds;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};

use crate::environment::{self, Mpi};
use crate::step::{run, step};
use crate::surroundings;
use crate::tools::{build_tools, release_build, release_folder};

#[derive(Args)]
pub(crate) struct Bench {
    #[command(subcommand)]
    experiment: Option<Experiment>,
    /// Everything in under ten minutes: small problems, few runs
    #[arg(long)]
    quick: bool,
    /// The folder of the figures and of the page, by default target/bench or target/bench-quick; a
    /// measurement that was interrupted is continued there
    #[arg(long)]
    output: Option<PathBuf>,
    /// The MPI: one of those that `cargo xtask env` knows
    #[arg(long, global = true, default_value = "mpich",
          value_parser = environment::names())]
    mpi: String,
    /// Another MPI, by its compiler wrapper; the launcher that belongs to it is found beside it
    #[arg(long, global = true, conflicts_with = "mpi")]
    mpicc: Option<String>,
}

/// One experiment, or, without any, all of them and a page of the results.
#[derive(Subcommand)]
enum Experiment {
    /// How long tools compile, from nothing and after an edit
    Build,
    /// What a tool adds to a call: instructions, and time against C tools
    Overhead {
        /// Options of the experiment, such as --no-time
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// What rmpi costs beside C: patterns of communication, and instructions of a call
    Library {
        /// Options of the experiment, such as --samples 50
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// hypre's BoomerAMG, which AMG 2006 is made of, from Debian's packages and under Debian's Open MPI: one
    /// tool, and the time by function
    Boomeramg {
        /// Options of the experiments, such as --quick
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// What typed messages cost beside raw ones, and a grid on rmpi beside one in C
    Messages {
        /// Options of the experiment, such as --samples 20
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// What one-sided communication on rmpi costs beside C: ping-pong, one-to-many, red-black SOR
    OneSided {
        /// Options of the experiment, such as --samples 50
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// Kernels by actors and on distributed arrays beside C
    Pgas {
        /// Options of the experiment, such as --samples 5
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// What each tool takes of 64, 128 and 256 ranks on this host, by Open MPI: start and end, memory, files, text
    Ranks {
        /// Options of the experiment, such as --ranks 64,512 or --tool mpi_trace
        #[arg(last = true)]
        options: Vec<String>,
    },
    /// The thesis's experiments: programs under tools and stacks of tools
    Programs {
        /// Options of the experiment, such as --quick or --hpcg PATH
        #[arg(last = true)]
        options: Vec<String>,
    },
}

impl Bench {
    pub(crate) fn run(self) -> Result<()> {
        if self.experiment.is_some() && (self.quick || self.output.is_some()) {
            bail!("--quick and --output are for all experiments together; give them behind `--`");
        }
        let harness = || Harness::build(&self.find_mpi()?);
        let (name, options) = match &self.experiment {
            None => return self.everything(&harness()?),
            Some(Experiment::Build) => return builds::run_all(),
            Some(Experiment::Boomeramg { options }) => return boomeramg(options),
            Some(Experiment::Overhead { options }) => ("overhead", options),
            Some(Experiment::Library { options }) => ("library", options),
            Some(Experiment::Messages { options }) => ("messages", options),
            Some(Experiment::OneSided { options }) => ("one-sided", options),
            Some(Experiment::Pgas { options }) => return pgas(&self.find_mpi()?, options),
            // Its ranks let others go on while they wait.
            Some(Experiment::Ranks { options }) => {
                return Harness::build(&environment::openmpi()?)?.run("ranks", options);
            }
            Some(Experiment::Programs { options }) => ("programs", options),
        };
        harness()?.run(name, options)
    }

    /// What is in `PATH` may be two MPIs, of which one has the compiler and the other the launcher: nothing is
    /// taken from there that was not asked for.
    fn find_mpi(&self) -> Result<Mpi> {
        if let Some(mpicc) = &self.mpicc {
            return environment::of_compiler(mpicc);
        }
        environment::named(&self.mpi)
    }

    fn everything(&self, harness: &Harness) -> Result<()> {
        let default = if self.quick { "target/bench-quick" } else { "target/bench" };
        let output = self.output.clone().unwrap_or_else(|| environment::root().join(default));
        fs::create_dir_all(&output)?;
        let output = fs::canonicalize(&output)?;
        let file = |name: &str| output.join(name);
        let path = |name: &str| file(name).display().to_string();
        let options =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let (pairs, samples) = if self.quick { ("3", "15") } else { ("25", "200") };
        // Figures of an earlier time are no figures of this one. Runs of programs are continued.
        let failures = file("failures.jsonl");
        for old in [file("overhead.json"), file("library.json"), failures.clone()] {
            let _ = fs::remove_file(old);
        }
        let mut failed = Vec::new();
        let mut part = |name: &str, options: &[String]| {
            // What failed is told by the page and at the end; the rest is measured.
            let result = step(name, || {
                let mut command = harness.experiment(name, options);
                run(command.env("BENCH_FAILURES", &failures))
            });
            failed.extend(result.err().map(|_| name.to_owned()));
        };
        let mut words = options(&["--output", &path("runs.jsonl")]);
        if self.quick {
            words.extend(options(&["--quick", "--rounds", "3"]));
        } else {
            eprintln!("The calls' costs take about ten minutes. The programs:");
            let estimate = [&words[..], &options(&["--estimate"])].concat();
            if let Err(error) = harness.run("programs", &estimate) {
                eprintln!("{error:#}; the rest is measured");
            }
        }
        let levels: &[_] = if self.quick { &["--levels", "300"] } else { &[] };
        let file_of_calls = path("overhead.json");
        part(
            "overhead",
            &options(&[&["--runs", pairs, "--output", &file_of_calls], levels].concat()),
        );
        part("library", &options(&["--samples", samples, "--output", &path("library.json")]));
        part("programs", &words);
        let mut report = harness.command("report");
        for (option, name) in [
            ("--overhead", "overhead.json"),
            ("--library", "library.json"),
            ("--runs", "runs.jsonl"),
            ("--failures", "failures.jsonl"),
        ] {
            // What failed at once has left no file, or an empty one.
            if fs::metadata(file(name)).is_ok_and(|of_file| of_file.len() > 0) {
                report.arg(option).arg(file(name));
            }
        }
        report.arg("--output").arg(file("report.html"));
        let quick = if self.quick { " --quick" } else { "" };
        run(report.env("BENCH_COMMAND", format!("cargo xtask bench{quick}")))?;
        if !failed.is_empty() {
            bail!("not all is as it should be: {}; the page says what", failed.join(", "));
        }
        Ok(())
    }
}

/// Runs it and makes a page of it.
fn boomeramg(options: &[String]) -> Result<()> {
    let (hypre, variables) = environment::hypre()?;
    // The tools of the other Open MPI have the same ABI.
    let mut harness = Harness::build(&environment::openmpi()?)?;
    harness.variables = variables.into_iter().map(|(name, value)| (name, value.into())).collect();
    harness.variables.extend(surroundings::own_home()?);
    let output = environment::root().join("target/bench-boomeramg");
    fs::create_dir_all(&output)?;
    let (runs, page) = (output.join("runs.jsonl"), output.join("report.html"));
    let mut words = vec!["--hypre".to_owned(), hypre.display().to_string()];
    words.extend(["--program", "boomeramg"].map(String::from));
    for experiment in ["single-tool", "time-split", "counter"] {
        words.extend(["--experiment", experiment].map(String::from));
    }
    words.extend(["--output".to_owned(), runs.display().to_string()]);
    words.extend_from_slice(options);
    // Older failures are no failures of this time.
    let failures = output.join("failures.jsonl");
    let _ = fs::remove_file(&failures);
    let mut programs = harness.experiment("programs", &words);
    let measured = run(programs.env("BENCH_FAILURES", &failures));
    let mut report = harness.command("report");
    if fs::metadata(&runs).is_ok_and(|of_file| of_file.len() > 0) {
        report.arg("--runs").arg(runs);
    }
    report.arg("--failures").arg(failures).arg("--output").arg(page);
    run(report.env("BENCH_COMMAND", "cargo xtask bench boomeramg"))?;
    measured
}

/// The built harness, and what it measures.
struct Harness {
    variables: Vec<(&'static str, PathBuf)>,
    tools: PathBuf,
    /// Where the built programs are.
    programs: PathBuf,
}

/// The kernels need no tools and count no instructions.
fn pgas(mpi: &Mpi, options: &[String]) -> Result<()> {
    step("Building the programs", || {
        run(release_build(mpi).args([
            "--quiet",
            "--package",
            "bench-harness",
            "--bin",
            "bench-harness",
        ]))?;
        run(release_build(mpi).args([
            "--quiet",
            "--package",
            "rmpi-actors",
            "--example",
            "actor_kernels",
        ]))?;
        run(release_build(mpi).args([
            "--quiet",
            "--package",
            "rmpi-pgas",
            "--example",
            "pgas_kernels",
        ]))
    })?;
    let mut command = Command::new(release_folder(mpi).join("bench-harness"));
    command.arg("pgas").arg("--sources").arg(environment::root().join("bench-harness/c"));
    run(command.args(options).envs(mpi.variables()).envs(surroundings::own_home()?))
}

impl Harness {
    fn build(mpi: &Mpi) -> Result<Self> {
        if environment::find_program("valgrind").is_none() {
            bail!("valgrind is not installed; it counts instructions (Debian: valgrind)");
        }
        let tools = build_tools(mpi)?;
        step("Building the programs", || {
            // With them an example, which measures the time by function.
            run(release_build(mpi)
                .args(["--quiet", "--package", "bench-harness", "--bins"])
                .args(["--package", "mpi-tool-layer", "--example", "mpi_time"]))?;
            let example = release_folder(mpi).join("examples/libmpi_time.so");
            fs::copy(example, tools.join("libmpi_time.so"))?;
            Ok(())
        })?;
        let of_mpi = mpi.variables().into_iter().map(|(name, value)| (name, value.into()));
        let variables = of_mpi.chain(surroundings::own_home()?).collect();
        Ok(Self { variables, tools, programs: release_folder(mpi) })
    }

    fn command(&self, experiment: &str) -> Command {
        let mut command = Command::new(self.programs.join("bench-harness"));
        command.arg(experiment).envs(self.variables.iter().cloned()).env("MPI_TOOLS", &self.tools);
        command
    }

    fn experiment(&self, name: &str, options: &[String]) -> Command {
        let mut command = self.command(name);
        command.arg("--sources").arg(environment::root().join("bench-harness/c")).args(options);
        command
    }

    fn run(&self, name: &str, options: &[String]) -> Result<()> {
        run(&mut self.experiment(name, options))
    }
}
