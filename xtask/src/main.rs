//! The project's chores: `cargo xtask --help`.

mod aarch64;
mod bench;
mod book;
mod demo;
mod environment;
mod lint;
mod matrix;
mod mpich_suite;
mod publish;
mod step;
mod suites;
mod surroundings;
mod test;
mod tools;
mod wheel;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Chores of the MPI tool framework. What they need of MPI they install below `target/mpi`.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    Demo(demo::Demo),
    Test(test::Test),
    Flicker(test::Flicker),
    /// Try the tools on programs in each language, or the tests, under many MPIs, and write docs/visibility.md
    /// or docs/suites.md
    Matrix(matrix::Matrix),
    /// Build an MPICH with its own QMPI, from Debian's source package, and test tools in it
    TestMpichQmpi,
    /// Run MPICH's own test suite, without tools, with all tools preloaded and in a stack of them, and compare
    MpichSuite(mpich_suite::MpichSuite),
    /// Check files, format, lints and documentation
    Lint,
    Book(book::Book),
    Package(publish::Package),
    Msrv(publish::Msrv),
    Wheel(wheel::MakeWheel),
    /// Measure: everything, with a page of the results, or one experiment
    Bench(bench::Bench),
    /// Print the variables that `cargo build` needs to build for a private MPI
    Env {
        /// Which one
        #[arg(default_value = "mpich", value_parser = environment::names())]
        mpi: String,
        /// Those that run Fortran under Debian's MPI of the same ABI, too
        #[arg(long)]
        fortran: bool,
        /// Those that run Debian's programs under the same MPI, too
        #[arg(long, conflicts_with = "fortran")]
        programs: bool,
    },
    Aarch64(aarch64::Aarch64),
    /// Print what the MPI Forum's data says of each function, as the list writes it
    Standard,
}

fn main() -> ExitCode {
    let chore = Arguments::parse().chore;
    match surroundings::leave_behind().and_then(|()| run(chore)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // What failed, for people; a backtrace of xtask says nothing of it.
            eprintln!("\nError: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> Result<()> {
    match chore {
        Chore::Demo(demo) => demo.run(),
        Chore::Test(test) => test.run(),
        Chore::Flicker(flicker) => flicker.run(),
        Chore::Matrix(matrix) => matrix.run(),
        Chore::TestMpichQmpi => test::mpich_with_qmpi(),
        Chore::MpichSuite(suite) => suite.run(),
        Chore::Lint => lint::run_all(),
        Chore::Book(book) => book.run(),
        Chore::Package(package) => package.run(),
        Chore::Msrv(msrv) => msrv.run(),
        Chore::Wheel(wheel) => wheel.run(),
        Chore::Bench(bench) => bench.run(),
        Chore::Env { mpi, fortran, programs } => {
            let mpi = environment::named(&mpi)?;
            let more = match (fortran, programs) {
                (true, _) => environment::fortran(&mpi)?,
                (_, true) => environment::programs(&mpi)?,
                _ => Vec::new(),
            };
            for (name, value) in mpi.variables().into_iter().chain(more) {
                println!("export {name}='{value}'");
            }
            Ok(())
        }
        Chore::Aarch64(chore) => chore.run(),
        Chore::Standard => test::standard(),
    }
}
