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
    /// The folder of the figures and of the page; a measurement that was interrupted is continued there
    #[arg(long, default_value = "target/bench")]
    output: PathBuf,
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
        let harness = Harness::build()?;
        match self.experiment {
            Some(Experiment::Overhead { options }) => harness.run("overhead", &options),
            Some(Experiment::Library { options }) => harness.run("library", &options),
            Some(Experiment::OneSided { options }) => harness.run("one-sided", &options),
            Some(Experiment::Programs { options }) => harness.run("programs", &options),
            None => self.everything(&harness),
        }
    }

    fn everything(&self, harness: &Harness) -> Result<()> {
        let minutes = if self.quick { "under ten minutes" } else { "one to three hours" };
        eprintln!("All measurements take {minutes} on two cores.");
        fs::create_dir_all(&self.output)?;
        let file = |name: &str| fs::canonicalize(&self.output).unwrap_or_default().join(name);
        let path = |name: &str| file(name).display().to_string();
        let options =
            |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let (pairs, samples) = if self.quick { ("3", "15") } else { ("25", "200") };
        let figures = [
            ("overhead", options(&["--runs", pairs, "--output", &path("overhead.json")])),
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
        let mut words = options(&["--output", &path("runs.jsonl")]);
        if self.quick {
            words.extend(options(&["--quick", "--rounds", "5"]));
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

/// The built harness, and what it measures.
struct Harness {
    mpi: Mpi,
    tools: PathBuf,
}

impl Harness {
    fn build() -> Result<Self> {
        let mpi = environment::default_mpi()?;
        if environment::find_program("valgrind").is_none() {
            bail!("valgrind is not installed; it counts instructions (Debian: valgrind)");
        }
        let tools = build_tools(&mpi)?;
        step("Building the programs", || {
            run(cargo()
                .args(["build", "--release", "--quiet", "--package", "bench-harness", "--bins"])
                .current_dir(environment::root())
                .envs(mpi.variables()))
        })?;
        Ok(Self { mpi, tools })
    }

    fn command(&self, experiment: &str) -> std::process::Command {
        let mut command =
            std::process::Command::new(environment::root().join("target/release/bench-harness"));
        command.arg(experiment).envs(self.mpi.variables()).env("MPI_TOOLS", &self.tools);
        command
    }

    fn run(&self, experiment: &str, options: &[String]) -> Result<()> {
        let sources = environment::root().join("bench-harness/c");
        run(self.command(experiment).arg("--sources").arg(sources).args(options))
    }
}
