//! MPICH's own test suite, three ways: without tools, with all tools preloaded, and in a stack of them.
//!
//! What a program of the suite says must not depend on the tools. And what mpi-check says of tests that pass must be true:
//! with `--checked`, the suite runs without tools and with mpi-check alone, under any MPI.

mod judged;
mod list;
mod program;
mod results;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::environment::{self, Mpi};
use crate::step::step;
use crate::tools;
use list::Test;
use program::{Runner, Way};
use results::{Comparison, Results, Table, Verdict};

#[derive(Args)]
pub(crate) struct MpichSuite {
    /// Only this folder of the suite, such as pt2pt, or one of its other lists: pt2pt.dtp, coll.cvar
    #[arg(long)]
    folder: Option<String>,
    /// Only programs of this name, also those that have run before
    #[arg(long)]
    test: Option<String>,
    /// No program runs on more ranks
    #[arg(long, default_value_t = 4)]
    max_ranks: u32,
    /// No program runs longer without tools, whatever the suite allows; with tools, it may take ten times as long
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// So many programs run beside each other
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// So many tests at the beginning do not run
    #[arg(long, default_value_t = 0)]
    skip: usize,
    /// Forget the results of earlier runs
    #[arg(long)]
    fresh: bool,
    /// Run nothing, and print the results of earlier runs
    #[arg(long, conflicts_with = "fresh")]
    show: bool,
    /// Takes the tools as they were built before
    #[arg(long)]
    no_build: bool,
    /// Runs the tests without tools and with mpi-check alone, and fails if mpi-check has a finding on a test that passes which
    /// xtask/mpich-findings.toml does not call true
    #[arg(long)]
    checked: bool,
    /// Compiles and runs the suite for this MPI
    #[arg(long, default_value = "mpich", value_parser = environment::names())]
    mpi: String,
}

impl MpichSuite {
    pub(crate) fn run(self) -> Result<()> {
        let mpi = environment::named(&self.mpi)?;
        let tools = match self.no_build || self.show {
            true => tools::tools_folder(&mpi.name),
            false => tools::build_tools(&mpi)?,
        };
        let suite = build(&mpi, self.jobs)?;
        let (mut tests, left_out) = list::read(&suite, self.max_ranks)?;
        if let Some(folder) = &self.folder {
            tests.retain(|test| test.is_in(folder.trim_end_matches('/')));
        }
        if let Some(name) = &self.test {
            tests.retain(|test| test.program == *name);
        }
        if tests.is_empty() {
            bail!("the suite has no such test: its folders are in {}", suite.display());
        }
        let ways = if self.checked { Way::checked(&tools) } else { Way::all(&tools)? };
        let what = if self.checked { "checked.jsonl" } else { "results.jsonl" };
        let file = folder(&mpi).join(what);
        let mut results = Results::open(file, self.fresh, &ways, self.max_ranks)?;
        let is_left = |test: &&Test| self.test.is_some() || results.of(test).is_none();
        let left: Vec<_> = tests.iter().skip(self.skip).filter(is_left).collect();
        if !left.is_empty() && !self.show {
            let what = format!("Running {} of {} tests", left.len(), tests.len());
            step(&what, || self.run_all(&mpi, &suite, &ways, &left, &mut results))?;
        }
        let mut table = Table::default();
        let mut judged =
            if self.checked { judged::Judged::read()? } else { judged::Judged::default() };
        for test in &tests {
            let runs = results.of(test);
            if self.checked
                && let Some(runs) = runs
            {
                judged.add(&mpi.name, test, runs);
            }
            table.add(test, runs.unwrap_or(&Comparison::default()));
        }
        println!("\n{table}\nResults: {}", results.file.display());
        println!(
            "Left out, since they need more than {} GB of memory: {left_out}",
            list::GIGABYTES
        );
        if self.checked {
            println!("\n{judged}");
        }
        match (table.faults(), judged.unknown()) {
            (0, 0) => Ok(()),
            (0, unknown) => bail!(
                "{unknown} findings of mpi-check on tests that pass are not in {}: are they true?",
                judged::FILE
            ),
            (faults, _) => bail!("with tools, the result of {faults} tests differs"),
        }
    }

    fn run_all(
        &self,
        mpi: &Mpi,
        suite: &Path,
        ways: &[Way],
        tests: &[&Test],
        results: &mut Results,
    ) -> Result<()> {
        let next = AtomicUsize::new(0);
        // The results, and how many there are of this run, and of these how many differ.
        let shared = Mutex::new((results, 0, 0));
        let job = |number| -> Result<()> {
            let mut runner = Runner::new(mpi, suite, &folder(mpi), number, self.seconds)?;
            while let Some(test) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
                let result = results::compare(ways.len(), |way| runner.run(test, &ways[way]))?;
                let verdict = result.verdict();
                let mut shared = shared.lock().expect("no job panics with the results");
                let (results, done, differ) = &mut *shared;
                results.add(test, result)?;
                *done += 1;
                *differ += usize::from(verdict == Verdict::Differs);
                if verdict == Verdict::Differs || *done % 20 == 0 {
                    let name = test.name();
                    let all = tests.len();
                    eprintln!("    {done} of {all}, {differ} differ; {name}: {}", verdict.word());
                }
            }
            Ok(())
        };
        thread::scope(|scope| {
            let job = &job;
            let jobs: Vec<_> =
                (0..self.jobs.max(1)).map(|number| scope.spawn(move || job(number))).collect();
            jobs.into_iter().try_for_each(|job| job.join().expect("a job does not panic"))
        })
    }
}

/// Where all that belongs to the suite is.
fn folder(mpi: &Mpi) -> PathBuf {
    environment::root().join("target/mpich-suite").join(&mpi.name)
}

/// Compiles the suite's programs in C, unless this was done: the folder with them.
fn build(mpi: &Mpi, jobs: usize) -> Result<PathBuf> {
    let unpacked = folder(mpi).join("build");
    let suite = unpacked.join("source/test/mpi");
    let complete = unpacked.join("complete");
    if complete.exists() {
        return Ok(suite);
    }
    let log = folder(mpi).join("build.log");
    step(&format!("Compiling MPICH's test suite into {}", suite.display()), || {
        environment::mpich_source(&unpacked, Some("test/mpi"))?;
        let prefix = mpi.mpicc.ancestors().nth(2).context("MPICC is in a prefix")?;
        let output = fs::File::create(&log)?;
        let start = |command: &mut Command| {
            command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
            command.envs(mpi.variables()).status().context("make and a C compiler are needed")
        };
        let configured = start(
            Command::new("./configure")
                .arg(format!("--with-mpi={}", prefix.display()))
                // All tests for threads, and those that MPICH is known to fail.
                .args(["--enable-threads=multiple", "--enable-xfail", "--quiet"])
                .args(["--disable-fortran", "--disable-cxx"])
                .current_dir(&suite),
        )?;
        if !configured.success() {
            bail!("the suite's configure failed: {}", log.display());
        }
        for folder in ["util", "dtpools"].iter().chain(&list::FOLDERS) {
            let mut make = Command::new("make");
            // What cannot be compiled is a program that is not there, which the table counts.
            make.args(["-s", "-k", &format!("-j{jobs}"), "-C", folder]).current_dir(&suite);
            if !start(&mut make)?.success() {
                eprintln!("    {folder}: not all programs compile ({})", log.display());
            }
        }
        fs::write(&complete, "")?;
        Ok(())
    })?;
    Ok(suite)
}
