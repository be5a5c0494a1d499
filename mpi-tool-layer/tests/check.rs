//! mpi-check: it names what is wrong in the programs of `tests/check/wrong.c`, at its line, and finds nothing in those
//! of `tests/check/right.c`.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;
use test_support::{Run, build_folder, compile_with, once, tool};

fn source(name: &str) -> PathBuf {
    let folder = env::current_dir().expect("a test has its crate's folder");
    folder.join("tests/check").join(format!("{name}.c"))
}

fn program(name: &str) -> PathBuf {
    let file = format!("check_{name}");
    once(build_folder().join(&file), || {
        // Wrong programs get warnings.
        compile_with(&source(name), &file, &["-w", "-O0"]);
    })
}

/// Runs a program with mpi-check: the report, and how the launcher ended.
fn checked(run: Run) -> (Option<Value>, test_support::Outcome) {
    let file = run.folder.path().join("findings.json");
    let run = run
        .preload(tool("mpi_check"))
        .variable("MPI_TOOL_MPI_CHECK_FORMAT", "json")
        .variable("MPI_TOOL_MPI_CHECK_OUTPUT", file.to_str().unwrap());
    let outcome = run.run();
    let report = fs::read_to_string(&file).ok();
    (report.map(|text| test_support::schema::report(&text)), outcome)
}

/// A wrong program: its name, the class of its fault, and the line.
struct Case {
    name: String,
    class: String,
    line: usize,
}

/// The lines of `wrong.c` that are programs.
fn cases() -> Vec<Case> {
    let text = fs::read_to_string(source("wrong")).unwrap();
    let of = |(index, line): (usize, &str)| {
        let (name, rest) = line.strip_prefix("W(")?.split_once(", \"")?;
        let class = rest.split('"').next()?;
        Some(Case { name: name.into(), class: class.into(), line: index + 1 })
    };
    text.lines().enumerate().filter_map(of).collect()
}

/// What is wrong with what was said of a wrong program.
fn judge(case: &Case) -> Result<(), String> {
    let run = Run::new(&program("wrong"), 2).arguments(&[&case.name]).seconds(20);
    let (report, outcome) = checked(run);
    let Some(report) = report else {
        return judge_without_report(case, &outcome.stderr);
    };
    let line = format!("wrong.c:{} ", case.line);
    let names_it = |finding: &Value| {
        let is_at = |field: &str| finding[field].as_str().is_some_and(|at| at.contains(&line));
        finding["class"] == case.class.as_str() && (is_at("site") || is_at("other_site"))
    };
    let findings = report["findings"].as_array().unwrap();
    match findings.iter().any(names_it) {
        true => Ok(()),
        false => Err(format!("not {} in line {}, but {findings:?}", case.class, case.line)),
    }
}

/// The same where there is no report, since the MPI or its launcher ended the processes: after an error that is fatal, or
/// by an assertion of the MPI's own. They do so without a tool, too. mpi-check says a wrong argument on standard error
/// before MPI sees it. Only Debian's MPICH fails in `MPI_Finalize` over a window that is left, before objects are looked
/// through.
fn judge_without_report(case: &Case, stderr: &str) -> Result<(), String> {
    let plain = Run::new(&program("wrong"), 2).arguments(&[&case.name]).seconds(20).run();
    let is_said = stderr.contains(&format!("mpi-check: {} at wrong.c:{} ", case.class, case.line));
    let dies_of_window = case.name.starts_with("leak_win") && plain.stderr.contains("Assertion");
    match plain.status != Some(0) && (is_said || dies_of_window) {
        true => Ok(()),
        false => Err(format!("no report: {stderr}")),
    }
}

/// Each wrong program is named, by its class and its line.
#[test]
fn wrong_programs_are_named() {
    let cases = cases();
    let names: BTreeSet<_> = cases.iter().map(|case| &case.name).collect();
    assert_eq!(names.len(), cases.len());
    assert!(cases.len() >= 200, "{}", cases.len());
    // A sample, where another MPI of the same run has all.
    let every = env::var("CHECK_EVERY").map_or(1, |every| every.parse().unwrap());
    let cases: Vec<_> = cases.iter().step_by(every).collect();
    program("wrong");
    let next = AtomicUsize::new(0);
    let missed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(said) = judge(case) {
                        missed.lock().unwrap().push(format!("{}: {said}", case.name));
                    }
                }
            });
        }
    });
    let missed = missed.into_inner().unwrap();
    assert!(missed.is_empty(), "{} of {}: {missed:#?}", missed.len(), cases.len());
}

/// Nothing is found in right programs, on any number of ranks and with any thread level.
#[test]
fn nothing_is_found_in_right_programs() {
    for (ranks, arguments) in [(2, &["all"][..]), (5, &["all", "threads"])] {
        let plain = Run::new(&program("right"), ranks).arguments(arguments).run();
        plain.expect_success("right");
        let (report, outcome) = checked(Run::new(&program("right"), ranks).arguments(arguments));
        outcome.expect_success("right");
        assert_eq!(outcome.stdout, plain.stdout);
        let report = report.unwrap();
        assert_eq!(report["findings"], Value::Array(Vec::new()), "{report:#}");
        assert_eq!((&report["ranks"], &report["partial"]), (&ranks.into(), &false.into()));
    }
}

/// The report says what was found, once, and the exit status is another one only if the user has asked for that.
#[test]
fn the_exit_status_changes_only_when_asked() {
    let run = |fails: &str, name: &str| {
        let run = Run::new(&program("wrong"), 2).arguments(&[name]).preload(tool("mpi_check"));
        run.variable("MPI_TOOL_MPI_CHECK_FAIL", fails).run()
    };
    let silent = run("0", "leak_dup");
    silent.expect_success("wrong");
    assert_eq!(
        silent.stderr.matches("mpi-check: leak at wrong.c:").count(),
        1,
        "{}",
        silent.stderr
    );
    assert!(silent.stderr.contains("mpi-check: 1 finding (2 ranks)"), "{}", silent.stderr);
    assert!(silent.stderr.contains(", ranks 0-1, 2 times"), "{}", silent.stderr);
    assert_ne!(run("1", "leak_dup").status, Some(0));
    let right = run("1", "no such program");
    right.expect_success("wrong");
    assert!(right.stderr.contains("mpi-check: nothing was found (2 ranks)"), "{}", right.stderr);
}
