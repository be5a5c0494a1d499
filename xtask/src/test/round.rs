//! One call of cargo-nextest, under one MPI.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use super::is_first;
use super::results::{self, Results};
use crate::environment::{self, Mpi};
use crate::step::{cargo, output, run, step};
use crate::surroundings;
use crate::tools::{for_processor, linked_folder, serving, tools_folder};

/// What tests are compiled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    /// No MPI: once, for all.
    Neutral,
    /// The MPI of the round.
    Linked,
}

/// Packages whose tests link no MPI.
const NEUTRAL: [&str; 8] = [
    "system-tests",
    "mpi-check-engine",
    "mpi-tool",
    "mpi-tool-python",
    "xtask",
    "rmpi-facts",
    "rmpi-macros",
    "mpi-tool-macros",
];

/// Packages that link an MPI, or are compiled for its ABI.
const LINKED: [&str; 4] = ["rmpi-sys", "rmpi", "mpi-tool-layer", "qmpi-shim"];

/// Others, which ask nothing more of an MPI.
const LINKED_TO_FIRST: [&str; 4] = ["rmpi-actors", "rmpi-pgas", "bench-harness", "mpi-check"];

/// A call of cargo-nextest.
pub(crate) struct Round {
    pub(crate) title: String,
    mpi: Mpi,
    build: Build,
    filter: String,
    variables: Vec<(String, String)>,
    arguments: Vec<String>,
    is_unit: bool,
    /// In place of those of the MPI.
    programs: Option<PathBuf>,
    processor: Option<String>,
}

impl Round {
    pub(crate) fn of(build: Build, mpi: &Mpi, filter: &str) -> Result<Self> {
        let what = match build {
            Build::Neutral => "with programs",
            Build::Linked => "of packages",
        };
        Ok(Self { build, ..Self::new(&format!("{}, tests {what}", mpi.name), mpi, filter)? })
    }

    /// Tests that start programs.
    pub(crate) fn new(title: &str, mpi: &Mpi, filter: &str) -> Result<Self> {
        Ok(Self {
            title: title.to_owned(),
            mpi: mpi.clone(),
            build: Build::Neutral,
            filter: filter.to_owned(),
            variables: variables(mpi)?,
            arguments: Vec::new(),
            is_unit: false,
            programs: None,
            processor: None,
        })
    }

    pub(crate) fn variable(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// Also tests that `cargo test` ignores.
    pub(crate) fn takes_ignored(&mut self) {
        self.arguments.extend(["--run-ignored".into(), "only".into()]);
    }

    /// Only on one processor.
    pub(super) fn on_processor(&mut self, processor: &str) {
        self.processor = Some(processor.to_owned());
    }

    /// Only one of so many parts, which has the same tests each time.
    pub(super) fn takes_part(&mut self, part: u32, of: u32) {
        self.arguments.push(format!("--partition=hash:{part}/{of}"));
        self.title += &format!(", part {part} of {of}");
    }

    /// Of the tests, those that start no MPI: test programs with others are not compiled.
    pub(super) fn is_unit(&mut self) {
        self.is_unit = true;
    }

    /// cargo-nextest, for this round.
    pub(super) fn nextest(&self, command: &str) -> Result<Command> {
        let program = environment::nextest()?;
        let mut nextest = match &self.processor {
            None => Command::new(program),
            Some(processor) => {
                let mut taskset = Command::new("taskset");
                taskset.args(["--cpu-list", processor]).arg(program);
                taskset
            }
        };
        nextest.args(["nextest", command, "--cargo-quiet"]).current_dir(environment::root());
        let packages: &[&[&str]] = match self.build {
            Build::Neutral => &[&NEUTRAL],
            Build::Linked if self.is_unit => &[&LINKED],
            Build::Linked => linked(&self.mpi),
        };
        for package in packages.iter().copied().flatten() {
            nextest.args(["--package", package]);
        }
        if self.build == Build::Linked {
            nextest.arg("--target-dir").arg(linked_folder(&self.mpi));
            for_processor(&mut nextest);
        }
        match self.build {
            Build::Neutral if self.is_unit => _ = nextest.args(["--lib", "--bins"]),
            Build::Linked if self.is_unit => {
                nextest.args(["--lib", "--test", "typemap", "--test", "template"]);
            }
            _ => {}
        }
        nextest.args(["--filterset", &self.filter]);
        self.set_variables(&mut nextest)?;
        Ok(nextest)
    }

    fn set_variables(&self, command: &mut Command) -> Result<()> {
        let programs = self
            .programs
            .clone()
            .unwrap_or_else(|| linked_folder(&self.mpi).join("debug/examples"));
        command
            .env("MPI_PROGRAMS", programs)
            .envs(surroundings::own_home()?)
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        if std::env::var_os("CI").is_some() {
            // Gigabytes that make a second build faster.
            command.env("CARGO_INCREMENTAL", "0");
        }
        Ok(())
    }

    /// Builds what is missing, runs the tests, and adds what came of them.
    pub(crate) fn run(&self, more: &[String], results: &mut Results) {
        let work = || -> Result<bool> {
            if self.build == Build::Neutral && !self.is_unit && self.programs.is_none() {
                linked_build(&self.mpi)?;
            }
            let temporary = std::env::temp_dir().join(format!("tests-{}", std::process::id()));
            fs::create_dir_all(&temporary)?;
            let report = results::report_file();
            let _ = fs::remove_file(&report);
            let mut nextest = self.nextest("run")?;
            nextest.args(["--no-tests", "pass"]).args(&self.arguments).args(more);
            nextest.env("TMPDIR", &temporary).stdin(Stdio::null());
            let status = nextest.status().context("cargo-nextest does not run")?;
            let _ = fs::remove_dir_all(&temporary);
            if report.exists() {
                results.read(&self.mpi.name, &report)?;
                results::keep(&report, &self.title)?;
            }
            // Failed tests, which the report has.
            const TESTS_FAILED: i32 = 100;
            ensure!(
                status.success() || status.code() == Some(TESTS_FAILED),
                "cargo-nextest has ended with {status}"
            );
            Ok(status.success())
        };
        if let Err(error) = step(&self.title, work) {
            results.fail(format!("{}: {error:#}", self.title));
        }
    }
}

/// Fetches what tests ask of package registries.
pub(super) fn fetch() -> Result<()> {
    environment::nextest()?;
    environment::checks()?;
    environment::benchmarks()?;
    environment::openmp()?;
    environment::mpi4py_suite().map(|_| ())
}

/// What tests under an MPI find in their environment. What is built for them does, too: what reads one of these when it is
/// built would be built anew for each of the two.
fn variables(mpi: &Mpi) -> Result<Vec<(String, String)>> {
    let packages = environment::site_packages(&environment::checks()?)?;
    let folders = [
        ("MPI_TOOLS", tools_folder(serving(mpi))),
        ("TEST_PROGRAMS", environment::root().join("target/test-programs")),
        ("LIBCLANG_PATH", packages.join("clang/native")),
        ("PYTHONPATH", packages),
        ("IMB", environment::benchmarks()?),
        ("OPENMP", environment::openmp()?),
        ("MPI4PY", environment::mpi4py()?),
        ("MPI4PY_SUITE", environment::mpi4py_suite()?),
    ];
    let folders = folders.into_iter().map(|(name, folder)| (name, folder.display().to_string()));
    let all = mpi.variables().into_iter().chain(folders);
    Ok(all.map(|(name, value)| (name.to_owned(), value)).collect())
}

/// A build of some packages as tests have them. Packages choose each other's features: another choice of packages would
/// compile all of them again.
fn build_as_tests(mpi: &Mpi, packages: &[&[&str]]) -> Result<Command> {
    let mut build = cargo();
    build.args(["build", "--quiet"]).current_dir(environment::root()).envs(variables(mpi)?);
    for package in packages.iter().copied().flatten() {
        build.args(["--package", package]);
    }
    Ok(build)
}

/// Builds the programs and tools in Rust that tests start under an MPI.
fn linked_build(mpi: &Mpi) -> Result<()> {
    let mut build = build_as_tests(mpi, linked(mpi))?;
    for_processor(&mut build);
    run(build.arg("--examples").arg("--target-dir").arg(linked_folder(mpi)))
}

/// Builds `mpi-tool`, which is there if tests have run.
pub(crate) fn neutral_build(mpi: &Mpi) -> Result<()> {
    run(build_as_tests(mpi, &[&NEUTRAL])?.args(["--bins", "--tests"]))
}

/// The packages that are compiled for an MPI.
fn linked(mpi: &Mpi) -> &'static [&'static [&'static str]] {
    if is_first(mpi) { &[&LINKED, &LINKED_TO_FIRST] } else { &[&LINKED] }
}

/// The names in `tests.toml` of what a run does without cargo-nextest.
pub(super) const DOCUMENTATION: &str = "examples in documentation";
pub(super) const SANITIZER: &str = "AddressSanitizer";

/// Examples in documentation, which cargo-nextest does not run.
pub(super) fn documentation(mpi: &Mpi, results: &mut Results) {
    let work = || {
        let mut tests = cargo();
        tests
            .args(["test", "--doc", "--quiet", "--no-fail-fast", "--target-dir"])
            .arg(linked_folder(mpi));
        for_processor(&mut tests);
        // All that tests link, also what has no examples: with other features, all would be compiled again.
        let libraries = ["rmpi-facts", "rmpi-macros", "mpi-tool-macros"];
        for package in linked(mpi).iter().copied().flatten().chain(&libraries) {
            tests.args(["--package", package]);
        }
        tests
            .current_dir(environment::root())
            .envs(variables(mpi)?)
            .envs(surroundings::own_home()?);
        let result = output(&mut tests);
        let said = result.as_ref().map_or_else(|error| format!("{error:#}"), String::clone);
        results.add_documentation(counted(&said));
        result.map(|_| ())
    };
    if let Err(error) = step(DOCUMENTATION, work) {
        results.fail(format!("{DOCUMENTATION}: {error:#}"));
    }
}

/// How many tests passed and failed, by the closing lines of rustdoc's test programs:
/// `test result: ok. 4 passed; 0 failed; …`.
fn counted(said: &str) -> [u64; 2] {
    let mut count = [0, 0];
    for result in said.lines().filter_map(|line| line.strip_prefix("test result: ")) {
        for (sum, what) in count.iter_mut().zip([" passed", " failed"]) {
            let part = result.split([';', '.']).find_map(|part| part.trim().strip_suffix(what));
            *sum += part.and_then(|part| part.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    count
}

/// rmpi's pure parts and its programs with AddressSanitizer, which comes with the compiler.
pub(super) fn sanitized(mpi: &Mpi, results: &mut Results) {
    let folder = environment::root().join("target/sanitized");
    const TARGET: &str = "x86_64-unknown-linux-gnu";
    let sanitize = |command: &mut Command| {
        // The sanitizer is not for proc macros, which a target keeps apart.
        command.args(["--target", TARGET, "--target-dir"]).arg(&folder);
        command.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", "-Zsanitizer=address");
    };
    let mut work = || -> Result<()> {
        let mut build = cargo();
        build.args(["build", "--quiet", "--package", "rmpi", "--examples"]);
        sanitize(build.current_dir(environment::root()).envs(mpi.variables()));
        run(&mut build)?;
        // A tool cannot be loaded before the sanitizer.
        let with_tools = "test(every_wrapper_calls_what_it_says) | test(every_message_moves_what_it_says) \
            | test(tools_see_every_byte_of_windows) | test(nothing_is_left_when_mpi_ends) | test(valgrind_)";
        let mut round = Round::new(
            &format!("{}, rmpi's programs with {SANITIZER}", mpi.name),
            mpi,
            &format!("binary(=examples) - ({with_tools})"),
        )?;
        round.programs = Some(folder.join(TARGET).join("debug/examples"));
        round.variable("RMPI_RANDOM_SECONDS", "15");
        // MPI keeps some memory to the end.
        round.variable("ASAN_OPTIONS", "detect_leaks=0");
        round.run(&[], results);
        let mut tests = Command::new(environment::nextest()?);
        tests.args([
            "nextest",
            "run",
            "--cargo-quiet",
            "--package",
            "rmpi",
            "--lib",
            "--test",
            "typemap",
        ]);
        sanitize(tests.current_dir(environment::root()).envs(mpi.variables()));
        let report = results::report_file();
        let _ = fs::remove_file(&report);
        tests.envs(surroundings::own_home()?).env("ASAN_OPTIONS", "detect_leaks=0");
        let status = tests.stdin(Stdio::null()).status()?;
        results.read(&mpi.name, &report)?;
        ensure!(status.success(), "cargo-nextest has ended with {status}");
        Ok(())
    };
    let title = format!("{}, {SANITIZER}", mpi.name);
    if let Err(error) = step(&title, &mut work) {
        results.fail(format!("{title}: {error:#}"));
    }
}

/// Whether a suite's tests link no MPI, by its name; nothing if it is in both or in neither.
pub(super) fn build_of(suite: &str) -> Option<Build> {
    let root = environment::root();
    let has = |file: String| root.join(file).exists();
    if has(format!("system-tests/tests/{suite}.rs"))
        || has(format!("mpi-tool/tests/{suite}"))
        || has(format!("xtask/tests/{suite}.rs"))
    {
        return Some(Build::Neutral);
    }
    let linked = ["rmpi/mpi-sys", "rmpi", "mpi-tool-layer", "qmpi-shim", "bench-harness"];
    linked.iter().any(|folder| has(format!("{folder}/tests/{suite}.rs"))).then_some(Build::Linked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_rustdoc_closes_with() {
        let said = "test result: ok. 19 passed; 0 failed; 0 ignored; finished in 5.87s\n\
             test result: FAILED. 2 passed; 1 failed; 0 ignored; finished in 0.36s\n\
             test sum_passed ... ok\n";
        assert_eq!(counted(said), [21, 1]);
    }

    #[test]
    fn a_suite_is_found_by_its_file() {
        assert_eq!(build_of("lifecycle"), Some(Build::Neutral));
        assert_eq!(build_of("tool"), Some(Build::Neutral));
        assert_eq!(build_of("typemap"), Some(Build::Linked));
        assert_eq!(build_of("nothing"), None);
    }
}
