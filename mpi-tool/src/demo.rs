//! `mpi-tool demo`: a program that comes along, with mpi-profile, under the first MPI that works.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::cli::Report;
use crate::example::{Example, Start};
use crate::installed::{Installed, Machine};
use crate::out::{self, errln, outln, say};
use crate::report::screen::REST;
use crate::tools;

/// Profile an example program under the first MPI that works
///
/// Runs a small program, in which some ranks work more than others, with mpi-profile, and prints the profile. The program
/// is compiled by the C compiler of this machine, without an MPI, or comes with mpi-tool where there is none.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  mpi-tool demo
  mpi-tool demo -n 2

Exit status: 0; 2 if the program has run under no MPI.")]
pub(crate) struct Demo {
    /// How many ranks
    #[arg(short = 'n', long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    ranks: u32,
    /// How many steps the program computes
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    steps: u32,
}

const TOOL: &str = "mpi-profile";

/// How long the example may take, which needs a second.
const PATIENCE: Duration = Duration::from_secs(120);

impl Demo {
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let machine = Machine::look();
        let started =
            machine.mpis.iter().filter(|mpi| mpi.launcher.is_some() && mpi.missing.is_empty());
        let mut reason = "there is no MPI with a launcher in PATH".to_owned();
        let mut example = None;
        for installed in started {
            let example = match &example {
                Some(example) => example,
                None => example.insert(Example::get()?),
            };
            match self.profile(installed, example) {
                Ok(()) => return Ok(ExitCode::SUCCESS),
                Err(error) => {
                    reason = format!("{}: {error:#}", installed.mpi.title());
                    errln!("mpi-tool: {reason}");
                }
            }
        }
        bail!("the example has run under no MPI: {reason}; `mpi-tool doctor` says what to do")
    }

    fn profile(&self, installed: &Installed, example: &Example) -> Result<()> {
        let mpi = &installed.mpi;
        let launcher = installed.launcher.as_deref().context("no launcher")?;
        let all = tools::all();
        let tool = all.iter().find(|tool| tool.name == TOOL && tool.abi == Some(mpi.abi));
        let tool = tool.with_context(|| {
            format!(
                "there is no {TOOL} for the {} ABI (`mpi-tool build --abi {0}` makes it)",
                mpi.abi.name()
            )
        })?;
        let folder = tempfile::tempdir()?;
        let report = folder.path().join("profile.json");
        let variables = [
            ("MPI_TOOL_FORMAT", "json".to_owned()),
            ("MPI_TOOL_OUTPUT", report.display().to_string()),
        ];
        outln!(
            "A program in which later ranks work more, on {} ranks of {}:",
            self.ranks,
            mpi.title()
        );
        if let Some(compiler) = &example.compiler {
            outln!("(compiled by {})", compiler.display());
        }
        outln!("$ mpi-tool run -- {} -n {} example", launcher.display(), self.ranks);
        let start = Start {
            options: &[],
            launcher,
            mpi,
            ranks: self.ranks,
            steps: self.steps,
            tool: Some(&tool.path),
            variables: &variables,
        };
        let outcome = example.run(&start, PATIENCE)?;
        out::part(format_args!("{}", outcome.stdout));
        if !outcome.is_success() {
            say(format_args!("{}", outcome.stderr));
            match outcome.status {
                Some(status) => bail!("the example fails ({status})"),
                None => bail!("the example did not end within {} s", PATIENCE.as_secs()),
            }
        }
        Report { top: 10, rest: REST, ..Report::of(report) }.run()?;
        let launcher = launcher.display();
        outln!(
            "\nRanks with little work wait in MPI_Sendrecv and MPI_Allreduce for those that have more.\n\
             The same for a program of yours (compile it with -g to see its lines):\n\
             \x20 mpi-tool run -- {launcher} -n 4 ./app\n\
             \x20 mpi-tool run --format json --output profile.json -- {launcher} -n 4 ./app\n\
             \x20 mpi-tool report profile.json -o profile.html\n\
             Other tools: mpi-tool list; what is wrong with a program: mpi-tool check -- {launcher} -n 4 ./app"
        );
        Ok(())
    }
}
