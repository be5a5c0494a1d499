//! Measurements: builds what they need, and has `bench-harness` make them.

use std::fs;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};

use crate::environment::{self, Mpi};
use crate::step::{cargo, run, step};
use crate::test::build_tools;

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
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
}

/// One experiment, or, without any, all of them and a page of the results.
#[derive(Subcommand)]
enum Experiment {
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
    /// The thesis's experiments: programs under tools and stacks of tools
    Programs {
        /// Options of the experiment, such as --quick or --hpcg PATH
        #[arg(last = true)]
        options: Vec<String>,
    },
}

impl Bench {
    pub(crate) fn run(self) -> Result<()> {
        let harness = || Harness::build(&environment::default_mpi()?);
        let (name, options) = match &self.experiment {
            None => return self.everything(&harness()?),
            Some(Experiment::Boomeramg { options }) => return boomeramg(options),
            Some(Experiment::Overhead { options }) => ("overhead", options),
            Some(Experiment::Library { options }) => ("library", options),
            Some(Experiment::Messages { options }) => ("messages", options),
            Some(Experiment::OneSided { options }) => ("one-sided", options),
            Some(Experiment::Programs { options }) => ("programs", options),
        };
        harness()?.run(name, options)
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
        let mut words = options(&["--output", &path("runs.jsonl")]);
        if self.quick {
            words.extend(options(&["--quick", "--rounds", "3"]));
        } else {
            eprintln!("The calls' costs take about ten minutes. The programs:");
            harness.run("programs", &[&words[..], &options(&["--estimate"])].concat())?;
        }
        let levels: &[_] = if self.quick { &["--levels", "300"] } else { &[] };
        let file_of_calls = path("overhead.json");
        let overhead = [&["--runs", pairs, "--output", &file_of_calls], levels].concat();
        let figures = [
            ("overhead", options(&overhead)),
            ("library", options(&["--samples", samples, "--output", &path("library.json")])),
        ];
        for (experiment, options) in figures {
            // It fails where a target is missed, which the page says.
            let result = step(experiment, || harness.run(experiment, &options));
            if let Err(error) = result
                && !file(&format!("{experiment}.json")).exists()
            {
                return Err(error);
            }
        }
        step("programs", || harness.run("programs", &words))?;
        let mut report = harness.command("report");
        for (option, name) in [
            ("--overhead", "overhead.json"),
            ("--library", "library.json"),
            ("--runs", "runs.jsonl"),
            ("--output", "report.html"),
        ] {
            report.arg(option).arg(file(name));
        }
        let quick = if self.quick { " --quick" } else { "" };
        run(report.env("BENCH_COMMAND", format!("cargo xtask bench{quick}")))
    }
}

/// Runs it and makes a page of it.
fn boomeramg(options: &[String]) -> Result<()> {
    let (hypre, variables) = environment::hypre()?;
    // The tools of the other Open MPI have the same ABI.
    let mut harness = Harness::build(&environment::openmpi()?)?;
    harness.variables = variables;
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
    harness.run("programs", &words)?;
    let mut report = harness.command("report");
    report.arg("--runs").arg(runs).arg("--output").arg(page);
    run(report.env("BENCH_COMMAND", "cargo xtask bench boomeramg"))
}

/// The built harness, and what it measures.
struct Harness {
    variables: Vec<(&'static str, String)>,
    tools: PathBuf,
}

impl Harness {
    fn build(mpi: &Mpi) -> Result<Self> {
        if environment::find_program("valgrind").is_none() {
            bail!("valgrind is not installed; it counts instructions (Debian: valgrind)");
        }
        let tools = build_tools(mpi)?;
        step("Building the programs", || {
            // With them an example, which measures the time by function.
            run(cargo()
                .args(["build", "--release", "--quiet", "--package", "bench-harness", "--bins"])
                .args(["--package", "mpi-tool-layer", "--example", "mpi_time"])
                .current_dir(environment::root())
                .envs(mpi.variables()))?;
            let example = environment::root().join("target/release/examples/libmpi_time.so");
            fs::copy(example, tools.join("libmpi_time.so"))?;
            Ok(())
        })?;
        Ok(Self { variables: mpi.variables(), tools })
    }

    fn command(&self, experiment: &str) -> std::process::Command {
        let mut command =
            std::process::Command::new(environment::root().join("target/release/bench-harness"));
        command.arg(experiment).envs(self.variables.iter().cloned()).env("MPI_TOOLS", &self.tools);
        command
    }

    fn run(&self, experiment: &str, options: &[String]) -> Result<()> {
        let sources = environment::root().join("bench-harness/c");
        run(self.command(experiment).arg("--sources").arg(sources).args(options))
    }
}
