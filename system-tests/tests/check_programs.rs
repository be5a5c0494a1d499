//! mpi-check's collections: it names what is wrong in each program of `check/wrong.c` and `wrong_more.c`, at its line, and
//! finds nothing in each one of `check/right.c`. Each program is a test.

#[path = "check/common.rs"]
mod common;

use std::fs;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use test_support::Run;

use common::{checked, is_named, program, source};

/// A wrong program: its name, the class of its fault, and the line.
struct Case {
    name: String,
    class: String,
    /// As sites have it: `wrong.c:7 `.
    line: String,
}

impl Case {
    /// The program, and how it is run.
    fn run(&self) -> Run {
        let ranks = if self.name.starts_with("three_") { 3 } else { 2 };
        Run::new(&program("wrong"), ranks).arguments(&[&self.name]).seconds(90)
    }

    /// What is wrong with what was said of it.
    fn judge(&self) -> Result<(), String> {
        let (report, outcome) = checked(self.run().is_enough("findings.json", &self.line));
        let Some(report) = report else {
            return self.judge_without_report(&outcome.stderr);
        };
        let findings = report["findings"].as_array().unwrap();
        // Both ranks say that nobody can see it under this MPI, perhaps in one line.
        let is_invisible = outcome.stdout.matches("brought later").count() == 2;
        match is_named(findings, &self.class, &self.line, &["site", "other_site"]) {
            true => Ok(()),
            false if is_invisible && findings.is_empty() => Ok(()),
            false => Err(format!("not {} in line {}, but {findings:?}", self.class, self.line)),
        }
    }

    /// The same where there is no report, since the MPI or its launcher ended the processes: after an error that is fatal, or
    /// by an assertion of the MPI's own. They do so without a tool, too. mpi-check says a wrong argument on standard error
    /// before MPI sees it. Only Debian's MPICH fails in `MPI_Finalize` over a window that is left, before objects are looked
    /// through.
    fn judge_without_report(&self, stderr: &str) -> Result<(), String> {
        let plain = self.run().run();
        let is_said = stderr.contains(&format!("mpi-check: {} at {}", self.class, self.line));
        let dies_of_window =
            self.name.starts_with("leak_win") && plain.stderr.contains("Assertion");
        match plain.status != Some(0) && (is_said || dies_of_window) {
            true => Ok(()),
            false => Err(format!("no report: {stderr}")),
        }
    }
}

/// The lines of a file that are wrong programs.
fn wrong_programs(file: &str) -> Vec<Case> {
    let text = fs::read_to_string(source(file)).unwrap();
    let of = |(index, line): (usize, &str)| {
        let (name, rest) = line.strip_prefix("W(")?.split_once(", \"")?;
        let class = rest.split('"').next()?.into();
        Some(Case { name: name.into(), class, line: format!("{file}.c:{} ", index + 1) })
    };
    text.lines().enumerate().filter_map(of).collect()
}

/// The names of the right programs.
fn right_programs() -> Vec<String> {
    let text = fs::read_to_string(source("right")).unwrap();
    let name_of = |line: &str| Some(line.strip_prefix("R(")?.split(',').next()?.to_owned());
    text.lines().filter_map(name_of).collect()
}

/// Nothing is found in a right program alone, where no other one has brought the checker to one of its limits.
fn is_silent(name: &str) -> Result<(), String> {
    // Programs with many one-sided operations at once.
    let has_limits = name.starts_with("turns_of_") || name == "many_accumulates";
    let (report, outcome) = checked(Run::new(&program("right"), 2).arguments(&[name]));
    let report = report.ok_or_else(|| outcome.stderr.clone())?;
    let nothing = Value::Array(Vec::new());
    let is_right = outcome.status == Some(0)
        && report["findings"] == nothing
        && (report["limits"] == nothing || has_limits);
    if is_right { Ok(()) } else { Err(format!("{report:#}, {}", outcome.stderr)) }
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let wrong: Vec<_> = ["wrong", "wrong_more"].into_iter().flat_map(wrong_programs).collect();
    let right = right_programs();
    // A macro that is written in another way would be overlooked.
    assert!(wrong.len() >= 200 && right.len() >= 200, "{} and {}", wrong.len(), right.len());
    let trial = |kind: &str, name: &str, judge: Box<dyn FnOnce() -> Result<(), String> + Send>| {
        Trial::test(format!("{kind}::{name}"), move || judge().map_err(Failed::from))
    };
    let mut trials = Vec::new();
    for case in wrong {
        let name = case.name.clone();
        trials.push(trial("wrong", &name, Box::new(move || case.judge())));
    }
    for name in right {
        trials.push(trial("right", &name.clone(), Box::new(move || is_silent(&name))));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
