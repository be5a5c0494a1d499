//! What the tests of stacks share: programs, tools, and what is expected of a run.
#![allow(dead_code, reason = "each test uses a part")]

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use test_support::{Outcome, Run, compile_by, setting, tool};

/// Compiles a source beside this file.
pub(crate) fn compile(source: &str, output: &str, flags: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stack/c").join(source);
    let include = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../qmpi-shim/include");
    let first = ["-O2", "-g", "-Wall", "-Werror", "-pthread", include];
    compile_by(setting("MPICC").into(), &source, output, &first, flags)
}

/// A tool in C that counts what it sees in its context, and says so when MPI ends.
pub(crate) fn count() -> &'static Path {
    static TOOL: OnceLock<PathBuf> = OnceLock::new();
    TOOL.get_or_init(|| compile("count.c", "libcount.so", &["-shared", "-fPIC"]))
}

/// Calls a few functions, so often as the rank says.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| compile("program.c", "program", &[]))
}

pub(crate) const PRINTED: [&str; 2] = ["rank 0 of 2 is fine", "rank 1 of 2 is fine"];

pub(crate) fn with_tools(tools: &[&Path]) -> Run {
    with_library(&tool("qmpi"), tools)
}

pub(crate) fn with_library(libqmpi: &Path, tools: &[&Path]) -> Run {
    let tools: Vec<_> = tools.iter().map(|tool| tool.to_str().unwrap()).collect();
    Run::new(program(), 2).preload(libqmpi).variable("TOOLS", &tools.join(":"))
}

pub(crate) fn expect_fine(outcome: &Outcome) {
    outcome.expect_success("the program");
    assert_eq!(outcome.lines(), PRINTED, "{}", outcome.stderr);
}

/// A run that must stop before MPI starts, with a line of each of the texts.
pub(crate) fn expect_stop(run: &Run, texts: &[&str]) {
    let outcome = run.run();
    assert_ne!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(!outcome.stdout.contains("is fine"), "{}", outcome.stdout);
    let lines: Vec<_> = outcome.stderr.lines().filter(|line| line.contains("libqmpi: ")).collect();
    for text in texts {
        assert!(
            lines.iter().any(|line| line.contains(text)),
            "no {text:?} in {lines:#?}\n{}",
            outcome.stderr
        );
    }
    assert!(lines.iter().any(|line| line.contains("stopping")), "{lines:#?}");
    assert!(!outcome.stderr.contains("saw no"), "{}", outcome.stderr);
}

/// The same with `QMPI_ON_ERROR=skip`: the line is there, and the program runs with the rest.
pub(crate) fn expect_skip(run: Run, texts: &[&str], counts: bool) {
    let outcome = run.variable("QMPI_ON_ERROR", "skip").run();
    expect_fine(&outcome);
    for text in texts {
        assert!(outcome.stderr.contains(text), "no {text:?} in\n{}", outcome.stderr);
    }
    assert_eq!(outcome.stderr.contains("MPI_Send: 10"), counts, "{}", outcome.stderr);
}

/// A level that cannot be had between two that can: a line with its number and path.
pub(crate) fn expect_bad_level(bad: &Path, what: &str) {
    let counter = tool("call_counter");
    let line = format!("libqmpi: level 2 ({}): {what}", bad.display());
    let run = || with_tools(&[&tool("empty_raw"), bad, &counter]);
    expect_stop(&run(), &[&line]);
    expect_skip(run(), &[&line], true);
}
