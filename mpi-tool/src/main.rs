//! `mpi-tool`: runs MPI programs with tools, says what will work, and makes tools.

mod builds;
mod cli;
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
mod mpi;
mod new;
mod out;
mod problem;
mod python;
mod report;
mod request;
mod run;
mod selection;
mod show;
mod supervised;
mod tools;
mod trace;
mod words;

use std::env;
use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::{Arguments, Command};

fn main() -> ExitCode {
    let result = match Arguments::parse_from(cli::words(env::args_os())).command {
        Command::Run(run) => run.run(),
        Command::Check(check) => check.run(),
        Command::List(list) => list.run(),
        Command::Inspect(inspect) => inspect.run(),
        Command::Report(report) => report.run(),
        Command::Doctor(doctor) => doctor.run(),
        Command::Demo(demo) => demo.run(),
        Command::Hang(hang) => hang.run().map(|()| ExitCode::SUCCESS),
        Command::Trace(trace) => trace.run().map(|()| ExitCode::SUCCESS),
        Command::Clean(clean) => clean.run().map(|()| ExitCode::SUCCESS),
        Command::Guard(guard) => guard.run().map(|()| ExitCode::SUCCESS),
        Command::New(new) => new.run().map(|()| ExitCode::SUCCESS),
        Command::Build(build) => build.run().map(|()| ExitCode::SUCCESS),
        Command::Completions(completions) => completions.run().map(|()| ExitCode::SUCCESS),
        Command::Man(man) => man.run().map(|()| ExitCode::SUCCESS),
    };
    result.unwrap_or_else(|error| {
        eprintln!("mpi-tool: {error:#}");
        ExitCode::from(2)
    })
}
