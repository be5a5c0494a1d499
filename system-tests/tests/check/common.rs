//! What the tests of mpi-check share: its programs, and a run with it.

use std::env;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use test_support::{Outcome, Run, compile_with, schema, tool};

/// A source beside this file.
pub(crate) fn source(name: &str) -> PathBuf {
    let folder = env::current_dir().expect("a test has its crate's folder");
    folder.join("tests/check").join(format!("{name}.c"))
}

/// A program beside this file.
pub(crate) fn program(name: &str) -> PathBuf {
    // Wrong programs get warnings.
    compile_with(&source(name), &format!("check_{name}"), &["-w", "-O0"])
}

/// Runs a program with mpi-check: the report, and how the launcher ended.
pub(crate) fn checked(run: Run) -> (Option<Value>, Outcome) {
    let file = run.folder.path().join("findings.json");
    let run = run
        .preload(tool("mpi_check"))
        .variable("MPI_TOOL_MPI_CHECK_FORMAT", "json")
        .variable("MPI_TOOL_MPI_CHECK_OUTPUT", file.to_str().unwrap());
    let outcome = run.run();
    let report = fs::read_to_string(&file).ok();
    (report.map(|text| schema::report(&text)), outcome)
}

/// Is there a finding of a class that has a line in one of these fields?
pub(crate) fn is_named(findings: &[Value], class: &str, line: &str, fields: &[&str]) -> bool {
    findings.iter().any(|finding| {
        let is_at = |field: &&str| finding[field].as_str().is_some_and(|at| at.contains(line));
        finding["class"] == class && fields.iter().any(is_at)
    })
}
