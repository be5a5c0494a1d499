//! Calls of MPI that a library makes: the line of the program that has called the library is named, and the first one that is.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{Outcome, launcher, limited, mpi_tool, setting, text, tool};
use crate::hang::end;

/// `through.c` with its library in a folder.
struct Program {
    folder: TempDir,
    library: &'static str,
}

impl Program {
    fn new(library: &'static str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/through.c");
        let compile = |flags: &[&str]| {
            let mut cc = limited(setting("MPICC"));
            cc.args(["-g", "-O1", "-fno-optimize-sibling-calls"]).arg(&source).args(flags);
            let outcome = Outcome::of(cc.current_dir(folder.path()));
            assert_eq!(outcome.status, Some(0), "{outcome:?}");
        };
        compile(&["-DLIBRARY", "-shared", "-fPIC", "-o", library]);
        compile(&["-o", "through", &format!("./{library}")]);
        Self { folder, library }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs it on two ranks with a tool.
    fn run(&self, name: &str, way: &str, variables: &[(&str, &str)]) -> Outcome {
        let [mpiexec, option, ranks] = launcher("2");
        let mut command = limited(mpiexec);
        command.args([option, ranks]).arg("./through").arg(way).current_dir(self.path());
        command.env("LD_PRELOAD", tool(name)).env("MPI_TOOL_RUN", self.path().join("run"));
        Outcome::of(command.envs(variables.iter().copied()))
    }

    fn report(&self) -> PathBuf {
        self.path().join("report.json")
    }
}

/// The line of `through.c` with a comment, as tools name it.
fn line_with(comment: &str) -> String {
    let source = include_str!("../c/through.c");
    let at = source.lines().position(|line| line.contains(comment)).unwrap() + 1;
    format!("through.c:{at} ")
}

fn places() -> [String; 2] {
    [line_with("/* FIRST */") + "first", line_with("/* SECOND */") + "second"]
}

/// Two findings, at the two lines that have called the library, in text, JSON and SARIF.
#[test]
fn findings_are_at_the_program_s_own_lines() {
    let program = Program::new("libhdf5_chain.so");
    let through = ", through innermost (libhdf5_chain.so)";
    let said = program.run("mpi_check", "wrong", &[]);
    for place in places() {
        let wanted = format!("mpi-check: leak at {place}{through}, rank");
        assert!(said.stderr.contains(&wanted), "{wanted}: {said:?}");
    }
    let report = program.report();
    let output = [("MPI_TOOL_OUTPUT", text(&report)), ("MPI_TOOL_FORMAT", "json")];
    let outcome = program.run("mpi_check", "wrong", &output);
    let found = fs::read_to_string(&report).unwrap_or_else(|error| panic!("{error}: {outcome:?}"));
    let found: Value = serde_json::from_str(&found).unwrap();
    let sites = found["findings"].as_array().unwrap().iter().map(|it| it["site"].as_str().unwrap());
    let mut sites: Vec<_> = sites.collect();
    sites.sort_unstable();
    assert_eq!(sites, places().map(|place| place + through));
    let sarif = mpi_tool(program.path(), &["report", "report.json", "--to", "sarif"]);
    for place in places() {
        let line = place.split([':', ' ']).nth(1).unwrap();
        assert!(sarif.stdout.contains(&format!("\"startLine\": {line}")), "{sarif:?}");
    }
}

/// A library of no known name is the program's own, unless the user says what it is.
#[test]
fn the_user_says_what_a_library_is() {
    let program = Program::new("libours.so");
    let said = program.run("mpi_check", "wrong", &[]);
    let wanted = format!("mpi-check: leak at {}innermost", line_with("MPI_Type_contiguous"));
    assert!(said.stderr.contains(&wanted), "{wanted}: {said:?}");
    let said = program.run("mpi_check", "wrong", &[("MPI_TOOL_LIBRARIES", "libother:libours")]);
    for place in places() {
        let wanted = format!("mpi-check: leak at {place}, through innermost (libours.so), rank");
        assert!(said.stderr.contains(&wanted), "{wanted}: {said:?}");
    }
}

/// Where ranks stand, and where they spend their time.
#[test]
fn sites_of_libraries_name_the_program_s_own_line_first() {
    let program = Program::new("libhdf5_chain.so");
    let report = program.report();
    let output = [("MPI_TOOL_OUTPUT", text(&report)), ("MPI_TOOL_FORMAT", "json")];
    let outcome = program.run("mpi_profile", "often", &output);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let told = mpi_tool(program.path(), &["report", "report.json"]);
    for place in places() {
        let wanted = format!("MPI_Barrier, {place}, through innermost ({})", program.library);
        assert!(told.stdout.contains(&wanted), "{wanted}: {told:?}");
    }

    let [mpiexec, option, ranks] = launcher("2");
    let mut command = limited(mpiexec);
    command.args([option, ranks]).arg("./through").arg("stands").current_dir(program.path());
    command.env("LD_PRELOAD", tool("mpi_watch")).env("MPI_TOOL_RUN", program.path().join("run"));
    let mut job = command.spawn().unwrap();
    let begin = Instant::now();
    let wanted = format!("{}, through innermost ({})", places()[0], program.library);
    let said = loop {
        sleep(Duration::from_millis(300));
        let told = mpi_tool(program.path(), &["hang", "run"]);
        if told.stdout.contains("MPI_Recv") || begin.elapsed() > Duration::from_secs(60) {
            break told.stdout;
        }
    };
    end(&mut job, Vec::new());
    assert!(said.contains(&wanted), "{wanted}: {said}");
}
