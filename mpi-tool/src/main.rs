//! `mpi-tool`: runs MPI programs with tools, says what will work, and makes tools.

// These panic where nobody can be written to: `crate::out` does not.
#![warn(clippy::print_stdout, clippy::print_stderr)]

mod builds;
mod cli;
mod containers;
mod demo;
mod doctor;
mod elf;
mod example;
mod family;
mod generated;
mod hang;
mod inspect;
mod installed;
mod launcher;
mod libraries;
mod limited;
mod list;
mod marks;
mod mpi;
mod new;
mod out;
mod problem;
mod protobuf;
mod python;
mod report;
mod request;
mod run;
mod selection;
mod show;
mod supervised;
mod temporary;
mod tools;
mod trace;
mod words;

use std::env;
use std::io::{self, Write as _};
use std::process::{self, ExitCode};

use clap::Parser as _;

use crate::cli::{Arguments, Command};
use crate::out::errln;

fn main() -> ExitCode {
    let arguments = Arguments::try_parse_from(cli::words(env::args_os()));
    let result = match arguments.unwrap_or_else(|said| instead(&said)).command {
        Command::Run(run) => run.run(),
        Command::Check(check) => check.run(),
        Command::List(list) => list.run(),
        Command::Inspect(inspect) => inspect.run(),
        Command::Report(report) => report.run(),
        Command::Scaling(scaling) => scaling.run(),
        Command::Doctor(doctor) => doctor.run(),
        Command::Demo(demo) => demo.run(),
        Command::Hang(hang) => hang.run().map(|()| ExitCode::SUCCESS),
        Command::Top(top) => top.run().map(|()| ExitCode::SUCCESS),
        Command::Trace(trace) => trace.run().map(|()| ExitCode::SUCCESS),
        Command::Clean(clean) => clean.run().map(|()| ExitCode::SUCCESS),
        Command::Guard(guard) => guard.run().map(|()| ExitCode::SUCCESS),
        Command::New(new) => new.run().map(|()| ExitCode::SUCCESS),
        Command::Build(build) => build.run().map(|()| ExitCode::SUCCESS),
        Command::Completions(completions) => completions.run().map(|()| ExitCode::SUCCESS),
        Command::Man(man) => man.run().map(|()| ExitCode::SUCCESS),
    };
    let status = result.unwrap_or_else(|error| {
        errln!("mpi-tool: {error:#}");
        ExitCode::from(2)
    });
    out::finish();
    status
}

/// What is said in place of what a command does: help, the version, or what is wrong with the command line.
fn instead(said: &clap::Error) -> ! {
    match said.print().and_then(|()| io::stdout().flush()) {
        Err(error) if !said.use_stderr() => out::leave(&error),
        _ => process::exit(said.exit_code()),
    }
}
