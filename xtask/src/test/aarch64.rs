//! Tests of what is built for aarch64, below an emulator (`cargo xtask test --arch aarch64`).
//!
//! Unit tests that start nothing are compiled for it. Tests that start programs are compiled for this machine, as always: what
//! they compile and start is of aarch64, since the MPI that they are given is.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use super::results::{self, Results};
use crate::aarch64::{build, variables};
use crate::environment::aarch64::{self, Cross, CrossMpi};
use crate::environment::{self, root};
use crate::step::step;
use crate::surroundings;

/// Packages whose own tests start nothing.
const UNIT: [&str; 4] = ["rmpi-facts", "mpi-tool-python", "mpi-tool-layer", "mpi-tool"];

/// What of these is left out, and why.
const LEFT_OUT: [(&str, &str); 4] = [
    (
        "test(/^hang::graph::tests::(many_ranks|locks_of_many_ranks)_are_judged/)",
        "graphs of 65,536 ranks: they have a limit of time, which the emulator exceeds",
    ),
    (
        "test(finds_what_the_dynamic_linker_finds)",
        "libraries of programs: the machine's dynamic linker is another one's",
    ),
    (
        "test(/^kit::memory::tests::/)",
        "memory that may not be there is read by process_vm_readv, which the emulator has not",
    ),
    (
        "test(a_process_is_read_from_one_file) | test(reports_written_at_the_same_moment_are_all_there)",
        "what /proc says of a process is the emulator's own: its name, and when it began",
    ),
];

/// The tools that are built, and what the tests of programs are that need no others: the same counts as the program makes, with
/// collective operations, threads, and callbacks that are left without a return.
const TOOLS: [&str; 8] = [
    "call-counter",
    "bandwidth-counter",
    "empty-raw",
    "empty-high",
    "mpi-profile",
    "mpi-trace",
    "mpi-watch",
    "mpi-check",
];
const SMOKE: &str = "binary(=programs) & test(/^(ring|p2p|collectives|threads|attributes|known_answers_of_the_ring|\
    the_text_is_sorted_lines_of_what_was_called)$/) | binary(=leaves) & test(every_call_that_is_left_is_counted) \
    | binary(=check) & test(/^(calls_past_the_tool_are_not_guessed|known_findings_are_suppressed|nothing_is_found_in_right_programs|\
    races_are_told_when_asked|what_is_freed_after_finalize_is_no_leak|nothing_is_found_where_threads_share_mpi)$/)";

/// What the command line chooses.
pub(super) struct Choice<'a> {
    pub(super) mpi: Option<&'a str>,
    pub(super) suite: Option<&'a str>,
    pub(super) names: &'a [String],
    pub(super) no_build: bool,
    pub(super) arguments: &'a [String],
}

pub(super) fn test(choice: &Choice<'_>) -> Result<()> {
    let start = Instant::now();
    let cross = aarch64::cross()?;
    let mpi = cross.mpi(choice.mpi.unwrap_or(aarch64::MPIS[0].0))?;
    let mut results = Results::default();
    if choice.suite.is_none() {
        let title = format!("aarch64, unit tests for {}", mpi.name());
        if let Err(error) = step(&title, || unit(&cross, &mpi, choice, &title, &mut results)) {
            results.fail(format!("{title}: {error:#}"));
        }
    }
    let tools = tools_folder(&mpi);
    if !choice.no_build {
        lay_out(&cross, &mpi, &tools)?;
    }
    let title = format!("aarch64, tests with programs on {}", mpi.name());
    if let Err(error) = step(&title, || programs(&mpi, choice, &title, &mut results)) {
        results.fail(format!("{title}: {error:#}"));
    }
    results.end(start.elapsed())
}

/// Tests of libraries and programs themselves.
fn unit(
    cross: &Cross,
    mpi: &CrossMpi,
    choice: &Choice<'_>,
    title: &str,
    results: &mut Results,
) -> Result<()> {
    let mut filter = named(choice.names);
    for (tests, reason) in LEFT_OUT {
        let _ = write!(filter, " - ({tests})");
        results.leave_out(format!("aarch64: {reason}"));
    }
    let mut nextest = nextest(&filter)?;
    nextest.args(["--lib", "--bins", "--features", "mpi-tool-layer/call-sites"]);
    nextest.args(UNIT.iter().flat_map(|package| ["--package", package]));
    nextest.envs(variables(cross, mpi));
    finish(nextest, mpi, choice, title, results)
}

/// Tests that start programs of aarch64.
fn programs(mpi: &CrossMpi, choice: &Choice<'_>, title: &str, results: &mut Results) -> Result<()> {
    let mut suites = vec!["programs", "leaves", "check"];
    let mut filter = format!("({}) & ({SMOKE})", named(choice.names));
    if let Some(suite) = choice.suite {
        suites = vec![suite];
        filter = format!("binary(={suite}) & ({})", named(choice.names));
    }
    let mut nextest = nextest(&filter)?;
    nextest.args(["--package", "system-tests"]);
    nextest.args(suites.iter().flat_map(|suite| ["--test", suite]));
    // Other packages have other features: in the usual folder, all would be compiled again.
    nextest.arg("--target-dir").arg(aarch64::folder().join("build/tests"));
    if let Some(cargo) = std::env::var_os("CARGO") {
        nextest.env("CARGO", cargo);
    }
    nextest.envs(mpi.variables());
    nextest.env("MPI_TOOLS", tools_folder(mpi));
    nextest.env("TEST_PROGRAMS", root().join("target/test-programs"));
    finish(nextest, mpi, choice, title, results)
}

fn named(names: &[String]) -> String {
    let each: Vec<_> = names.iter().map(|name| format!("test({name})")).collect();
    if each.is_empty() { "all()".to_owned() } else { format!("({})", each.join(" | ")) }
}

fn nextest(filter: &str) -> Result<Command> {
    let mut nextest = Command::new(environment::nextest()?);
    nextest.args(["nextest", "run", "--cargo-quiet", "--no-tests", "pass", "--filterset", filter]);
    // The emulator has a processor busy for each.
    nextest.args(["--test-threads", "num-cpus"]).current_dir(root());
    nextest.envs(surroundings::own_home()?).stdin(Stdio::null());
    Ok(nextest)
}

/// Runs the tests, and adds what came of them.
fn finish(
    mut nextest: Command,
    mpi: &CrossMpi,
    choice: &Choice<'_>,
    title: &str,
    results: &mut Results,
) -> Result<()> {
    let report = results::report_file();
    let _ = fs::remove_file(&report);
    let status = nextest.args(choice.arguments).status().context("cargo-nextest does not run")?;
    if report.exists() {
        // As the command line says it.
        results.read(&format!("{} --arch aarch64", mpi.name()), &report)?;
        results::keep(&report, title)?;
    }
    /// Failed tests, which the report has.
    const TESTS_FAILED: i32 = 100;
    ensure!(
        status.success() || status.code() == Some(TESTS_FAILED),
        "cargo-nextest has ended with {status}"
    );
    Ok(())
}

fn tools_folder(mpi: &CrossMpi) -> PathBuf {
    aarch64::folder().join("tools").join(mpi.name())
}

/// Builds the tools, and lays them where tests look for them.
fn lay_out(cross: &Cross, mpi: &CrossMpi, folder: &Path) -> Result<()> {
    let built = build(cross, mpi, &TOOLS.map(str::to_owned))?;
    fs::create_dir_all(folder)?;
    for tool in TOOLS {
        let library = format!("lib{}.so", tool.replace('-', "_"));
        // A new file: another process may have the old one mapped.
        let _ = fs::remove_file(folder.join(&library));
        fs::copy(built.join(&library), folder.join(&library))?;
    }
    Ok(())
}
