//! All tests, on all MPIs.

mod left_out;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Args;

use crate::environment::{self, Mpi};
use crate::step::{cargo, output, run, run_reading, step};
use crate::surroundings;
use crate::tally::{self, Tally};
use crate::tools::{Builds, build_tools, serving, serving_builds, tools_folder};

pub(crate) use left_out::tests_left_out;
use left_out::{
    BROWSER_TESTS, DEBUGGER_TESTS, FORTRAN_TESTS, HOSTS_TESTS, IMB_TEST, LATE_PROGRAMS, LATE_TESTS,
    LONG_TESTS, MPI4PY_TESTS, ONE_RANK_TESTS, OPENMPI_TESTS, PROGRAMS_TESTS, SLOW_PACKAGES,
    TRACER_TESTS, VALGRIND_TEST,
};

#[derive(Args)]
pub(crate) struct Test {
    /// Only on MPIs whose name has this in it, also on such as are not usually tested
    #[arg(long)]
    mpi: Option<String>,
    /// All tests, also on Open MPI, in three quarters of an hour
    #[arg(long)]
    all: bool,
    /// All tests but mpi4py's on Open MPI, and most of them on the other ABI of MPICH and on Debian's MPICH, in an hour
    #[arg(long)]
    more: bool,
    /// Also what takes long: mpi4py's whole suite, also on four ranks, with each tool alone; every package
    /// on every MPI
    #[arg(long)]
    long: bool,
    /// Only test programs of this name, such as lifecycle
    #[arg(long)]
    suite: Option<String>,
    /// Takes the tools as they were built before
    #[arg(long)]
    no_build: bool,
    /// So many times, to find what fails now and then
    #[arg(long, default_value_t = 1)]
    times: u32,
    /// Begins no test program after so many minutes, and says which were left out
    #[arg(long)]
    minutes: Option<u32>,
    /// Passed on to `cargo test`, such as the name of a test
    #[arg(last = true)]
    arguments: Vec<String>,
}

/// What this machine has for tests that not every machine has.
struct Found {
    hosts: bool,
    debugger: bool,
    tracer: bool,
    /// After this no test program is begun.
    deadline: Option<Instant>,
}

impl Found {
    fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() > deadline)
    }
}

/// What has come of the tests.
#[derive(Default)]
struct Results {
    left_out: Vec<String>,
    failures: Vec<String>,
    tally: Tally,
}

impl Test {
    pub(crate) fn run(self) -> Result<()> {
        let start = Instant::now();
        let wanted = |name: &str| match &self.mpi {
            // A whole name stands for this one only.
            Some(part) if environment::MPIS.iter().any(|(_, name, _)| name == part) => name == part,
            Some(part) => name.contains(part),
            None if self.is_quick() => name == USUAL[0],
            None => USUAL.contains(&name) || self.more && MORE.contains(&name),
        };
        let mut left_out = Vec::new();
        let mut mpis = Vec::new();
        for (_, name, find) in environment::MPIS {
            if !wanted(name) {
                let more = match name {
                    _ if MORE.contains(&name) => "--more, ",
                    _ if USUAL.contains(&name) => "--all, ",
                    _ => "",
                };
                left_out.push(format!("{name}: not asked for ({more}--mpi {name})"));
                continue;
            }
            match find() {
                Ok(mpi) => mpis.push(mpi),
                // An extra, where there is no Debian.
                Err(reason) if name.ends_with("-debian") => {
                    left_out.push(format!("{name}: {reason}"));
                }
                Err(reason) => return Err(reason),
            }
        }
        if self.more {
            // What there may be no time for comes last.
            mpis.sort_by_key(|mpi| self.is_in_two_parts(mpi));
        }
        let mut builds = Vec::new();
        if !self.no_build {
            builds = serving_builds(&mpis, self.is_quick())?;
        }
        builds.resize_with(mpis.len(), Vec::new);
        let hosts = environment::hosts();
        if let Err(reason) = &hosts {
            left_out.push(format!("several hosts: {reason}"));
        }
        let debugger = environment::debugger();
        if let Err(reason) = &debugger {
            left_out.push(format!(
                "what mpi-tool hang says, compared with what gdb sees of each rank: {reason}"
            ));
        }
        for (program, what) in [
            ("otf2-print", "OTF2 traces"),
            ("smpirun", "SimGrid's replay"),
            ("strace", "that mpi-watch makes no system call for a call"),
        ] {
            if environment::find_program(program).is_none() {
                left_out.push(format!("{what}: {program} is not installed"));
            }
        }
        let found = Found {
            hosts: hosts.is_ok(),
            debugger: debugger.is_ok(),
            tracer: environment::find_program("strace").is_some(),
            deadline: self
                .minutes
                .map(|minutes| start + Duration::from_secs(60 * u64::from(minutes))),
        };
        let mut results = Results { left_out, ..Results::default() };
        for (mpi, builds) in mpis.iter().zip(&builds) {
            if found.is_late() {
                results.left_out.push(format!("{}: {NO_TIME}", mpi.name));
                continue;
            }
            match self.prepare(mpi, builds) {
                Ok(tests) => self.test_all_on(mpi, &tests, &found, &mut results),
                Err(error) => results.failures.push(format!("{}: {error:#}", mpi.name)),
            }
        }
        let Results { left_out, failures, mut tally } = results;
        let tested: Vec<_> = mpis.iter().map(|mpi| mpi.name.as_str()).collect();
        if tested.is_empty() {
            let all = environment::MPIS.map(|(_, name, _)| name);
            bail!("no MPI of that name; there are {}", all.join(", "));
        }
        eprintln!("\nTested on: {}", tested.join(", "));
        for reason in left_out {
            eprintln!("Left out: {reason}");
        }
        tally.end();
        let count = tally.count();
        println!(
            "\n{}\ntotal: {} passed, {} failed",
            tally.longest(20),
            count.passed,
            count.failed
        );
        // What the test programs said comes first, and what did not even become a test.
        let failed = tally.failures();
        if !failures.is_empty() || !failed.is_empty() {
            bail!("not all is right\n  {}\nFailed:\n{failed}", failures.join("\n  "));
        }
        Ok(())
    }

    /// Builds what the tests on an MPI take, and returns where the test programs are, by name.
    fn prepare(&self, mpi: &Mpi, builds: &[Builds]) -> Result<BTreeMap<String, PathBuf>> {
        builds.iter().try_for_each(Builds::run)?;
        step(&format!("Building the tests for {}", mpi.name), || self.build_tests(mpi))
    }

    /// All tests on an MPI, of which these are the programs.
    fn test_all_on(
        &self,
        mpi: &Mpi,
        tests: &BTreeMap<String, PathBuf>,
        found: &Found,
        results: &mut Results,
    ) {
        results.left_out.extend(self.left_out_on(mpi));
        let first = if self.is_in_two_parts(mpi) { Part::First } else { Part::All };
        self.test_often_on(mpi, first, found, results);
        if !self.is_quick() {
            self.test_beside_on(mpi, tests, found, results);
        }
        if self.is_in_two_parts(mpi) {
            self.test_often_on(mpi, Part::Late, found, results);
        }
    }

    /// Do the late tests come after all others, since there may be no time for them?
    fn is_in_two_parts(&self, mpi: &Mpi) -> bool {
        self.saves_time_on(mpi) && is_first(mpi) && self.suite.is_none() && !self.has_names()
    }

    /// The tests of the packages on an MPI, as many times as they are asked for.
    fn test_often_on(&self, mpi: &Mpi, part: Part, found: &Found, results: &mut Results) {
        let name = &mpi.name;
        let what = if part == Part::Late { "what takes longest" } else { "the packages" };
        if found.is_late() {
            results.left_out.push(format!("{name}: {what}, {NO_TIME}"));
            return;
        }
        for _ in 0..self.times {
            let test = || self.test_on(mpi, part, found, results);
            let result = step(&format!("Testing {what} on {name}"), test);
            results.failures.extend(result.err().map(|error| format!("{name}: {error:#}")));
        }
    }

    /// What is tested beside the packages on an MPI, of which these are the test programs.
    fn test_beside_on(
        &self,
        mpi: &Mpi,
        tests: &BTreeMap<String, PathBuf>,
        found: &Found,
        results: &mut Results,
    ) {
        let name = &mpi.name;
        // What runs under Debian's MPI of the same ABI: the wheels are without Fortran, and Debian's
        // programs are linked to it.
        for (what, test, part, variables) in [
            ("Fortran", "fortran", "", environment::fortran(mpi)),
            ("Fortran programs that hang", "tool", FORTRAN_TESTS, environment::fortran(mpi)),
            ("Debian's programs", "debian", "", programs(mpi)),
        ] {
            // `mpi-tool` is tested on the first MPI. A test that is named is one of these, or not.
            let is_asked_for = !self.has_names() || self.names().any(|name| name.contains(part));
            if test == "tool" && !(tests.contains_key(test) && is_asked_for) {
                continue;
            }
            let variables = match variables {
                Ok(variables) => variables,
                Err(reason) => {
                    results.left_out.push(format!("{name}: {what}, {reason}"));
                    continue;
                }
            };
            if self.suite.as_deref().is_some_and(|suite| suite != test) {
                continue;
            }
            if found.is_late() {
                results.left_out.push(format!("{name}: {what}, {NO_TIME}"));
                continue;
            }
            for _ in 0..self.times {
                let result = step(&format!("Testing {what} with tools for {name}"), || {
                    let file = tests.get(test).context("no such test was built")?;
                    results
                        .tally
                        .begin(name, &format!("tests/{test}.rs, {what} under Debian's MPI"));
                    self.test_under_debian(mpi, file, part, &variables, found, results)
                });
                results
                    .failures
                    .extend(result.err().map(|error| format!("{name}, {what}: {error:#}")));
            }
        }
        if name == "mpich-5.0.2" && self.suite.is_none() && found.is_late() {
            results.left_out.push(format!("{name}: AddressSanitizer, {NO_TIME}"));
        } else if name == "mpich-5.0.2" && self.suite.is_none() {
            results.left_out.push(format!(
                "{name}: of Debian's programs LAMMPS and HPCC, which are linked to Open MPI, NetPIPE -z, \
                 which hangs there, and ScaLAPACK on four ranks, which takes minutes there"
            ));
            let result = step(&format!("Testing rmpi on {name} with AddressSanitizer"), || {
                self.test_sanitized(mpi, found, results)
            });
            if let Err(error) = result {
                results.failures.push(format!("{name}, AddressSanitizer: {error:#}"));
            }
        }
    }

    /// Runs tests, and reads what they say. What comes when it is late is left out.
    fn read(
        &self,
        tests: &mut Command,
        mpi: &Mpi,
        found: &Found,
        results: &mut Results,
    ) -> Result<()> {
        if found.deadline.is_some() {
            // So that all of it can be ended.
            tests.process_group(0);
        }
        let Results { tally, left_out, .. } = results;
        run_reading(tests, |line| {
            if found.is_late()
                && let Some(program) = tally::started(line)
            {
                left_out
                    .push(format!("{}: {program} and what comes behind it, {NO_TIME}", mpi.name));
                tally.forget_cargo();
                return ControlFlow::Break(());
            }
            tally.read(line);
            ControlFlow::Continue(())
        })
    }

    /// Is nothing chosen? Then a part is tested that takes about ten minutes.
    fn is_quick(&self) -> bool {
        !self.all
            && !self.more
            && !self.long
            && self.mpi.is_none()
            && self.suite.is_none()
            && self.arguments.is_empty()
    }

    /// rmpi's pure parts and its examples with AddressSanitizer, which comes with the compiler.
    fn test_sanitized(&self, mpi: &Mpi, found: &Found, results: &mut Results) -> Result<()> {
        results.tally.begin(&mpi.name, "");
        let own_home = surroundings::own_home()?;
        let sanitized = |arguments: &[&str]| {
            let mut cargo = cargo();
            cargo
                .args(arguments)
                // The sanitizer is not for proc macros, which a target keeps apart.
                .args(["--target", "x86_64-unknown-linux-gnu", "--target-dir", "target/sanitized"])
                .current_dir(environment::root())
                .envs(mpi.variables())
                .envs(own_home.iter().cloned())
                .env("RUSTC_BOOTSTRAP", "1")
                .env("RUSTFLAGS", "-Zsanitizer=address")
                .env("RMPI_RANDOM_SECONDS", "15")
                // MPI keeps some memory to the end.
                .env("ASAN_OPTIONS", "detect_leaks=0");
            cargo
        };
        run(&mut sanitized(&["build", "--quiet", "--package", "rmpi", "--examples"]))?;
        let mut tests = sanitized(&["test", "--package", "rmpi", "--no-fail-fast", "--lib"]);
        tests
            .args(["--test", "typemap", "--test", "examples"])
            // A tool cannot be loaded before the sanitizer.
            .args(["--", "--skip", "every_wrapper_calls_what_it_says"])
            .args(["--skip", "every_message_moves_what_it_says"])
            .args([
                "--skip",
                "tools_see_every_byte_of_windows",
                "--skip",
                "nothing_is_left_when_mpi_ends",
            ])
            .args(["--skip", VALGRIND_TEST])
            .args(&self.arguments);
        self.read(&mut tests, mpi, found, results)
    }

    fn test_on(&self, mpi: &Mpi, part: Part, found: &Found, results: &mut Results) -> Result<()> {
        results.tally.begin(&mpi.name, "");
        let chosen = match part {
            Part::All => vec![],
            Part::First => LATE_TESTS.iter().flat_map(|test| ["--skip", test]).collect(),
            Part::Late => LATE_TESTS.to_vec(),
        };
        let browser = environment::chromium();
        let mut tests = self.cargo_test(mpi)?;
        tests
            .args(self.suite.iter().flat_map(|suite| ["--test", suite]))
            .args(
                LATE_PROGRAMS
                    .iter()
                    .filter(|_| part == Part::Late)
                    .flat_map(|name| ["--test", name]),
            )
            .arg("--")
            .args(chosen)
            .args(if self.no_benchmarks(mpi).is_none() { &[][..] } else { &["--skip", IMB_TEST] })
            .args(if self.no_mpi4py(mpi).is_none() { &[][..] } else { &["--skip", MPI4PY_TESTS] })
            .args(self.tests_left_out(mpi).iter().flat_map(|(_, test, _)| ["--skip", test]))
            .args(if found.hosts { &[][..] } else { &HOSTS_TESTS })
            .args(if found.debugger { &[][..] } else { &["--skip", DEBUGGER_TESTS] })
            .args(if found.debugger && found.tracer { &[][..] } else { &["--skip", TRACER_TESTS] })
            .args(self.slow(mpi).flat_map(|(test, _)| ["--skip", test]))
            .args(if self.long { &[][..] } else { &["--skip", LONG_TESTS] })
            .args(if self.more && !self.long { &["--skip", ONE_RANK_TESTS][..] } else { &[] })
            .args(["--skip", FORTRAN_TESTS, "--skip", PROGRAMS_TESTS])
            .args(if browser.is_ok() { &[][..] } else { &["--skip", BROWSER_TESTS] })
            .args(&self.arguments)
            .envs(browser.unwrap_or_default())
            .env("IMB", environment::benchmarks()?)
            .env("OPENMP", environment::openmp()?)
            .env("MPI4PY", environment::mpi4py()?)
            .env("MPI4PY_SUITE", environment::mpi4py_suite()?)
            .env("LONG", if self.long { "1" } else { "0" });
        tests.env("CHECK_EVERY", self.check_every(mpi).to_string());
        if self.saves_time_on(mpi) {
            tests.env("RMPI_RANDOM_SECONDS", "15");
        }
        self.read(&mut tests, mpi, found, results)
    }

    /// Parts of tests' names that the user has given.
    fn names(&self) -> impl Iterator<Item = &String> {
        self.arguments.iter().filter(|argument| !argument.starts_with('-'))
    }

    fn has_names(&self) -> bool {
        self.names().next().is_some()
    }

    /// Programs under Debian's MPI of the same ABI.
    fn test_under_debian(
        &self,
        mpi: &Mpi,
        test: &Path,
        part: &str,
        variables: &Variables,
        found: &Found,
        results: &mut Results,
    ) -> Result<()> {
        let mut tests = Command::new(test);
        tests
            .args(Some(part).filter(|part| !part.is_empty() && !self.has_names()))
            .args(if mpi.abi() == "openmpi" { &[][..] } else { &["--skip", OPENMPI_TESTS] })
            .args(&self.arguments)
            .current_dir(environment::root().join("mpi-tool-layer"))
            .envs(variables.iter().cloned())
            .envs(surroundings::own_home()?)
            .env("MPI_TOOLS", tools_folder(serving(mpi)));
        self.read(&mut tests, mpi, found, results)
    }

    /// Builds what `test_on` runs, and returns where the tests are, by name.
    fn build_tests(&self, mpi: &Mpi) -> Result<BTreeMap<String, PathBuf>> {
        let mut build = self.cargo_test(mpi)?;
        build.args(["--no-run", "--quiet", "--message-format=json-render-diagnostics"]);
        let mut executables = BTreeMap::new();
        for message in output(&mut build)?.lines() {
            let message: serde_json::Value = serde_json::from_str(message)?;
            if let (Some(executable), Some("test"), Some(name)) = (
                message["executable"].as_str(),
                message["target"]["kind"][0].as_str(),
                message["target"]["name"].as_str(),
            ) {
                executables.insert(name.to_owned(), executable.into());
            }
        }
        Ok(executables)
    }

    /// `cargo test` for the packages that are tested on an MPI.
    fn cargo_test(&self, mpi: &Mpi) -> Result<Command> {
        let mut tests = cargo_test(mpi)?;
        match self.packages(mpi) {
            Some(packages) => tests.args(packages.map(|package| format!("--package={package}"))),
            None => tests.arg("--workspace"),
        };
        if self.is_quick() {
            tests.args(SLOW_PACKAGES.map(|package| format!("--exclude={package}")));
        }
        Ok(tests)
    }
}

/// Of the tests on an MPI, which are meant.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    All,
    /// All but the late ones.
    First,
    /// [`LATE_TESTS`]
    Late,
}

/// `cargo test` for an MPI, with what most tests must know of it.
pub(crate) fn cargo_test(mpi: &Mpi) -> Result<Command> {
    let packages = environment::site_packages(&environment::checks()?)?;
    let mut tests = cargo();
    tests
        .args(["test", "--no-fail-fast"])
        .current_dir(environment::root())
        .envs(mpi.variables())
        .envs(surroundings::own_home()?)
        .env("MPI_TOOLS", tools_folder(serving(mpi)))
        .env("PYTHONPATH", &packages)
        .env("LIBCLANG_PATH", packages.join("clang/native"));
    Ok(tests)
}

/// Why something is left out when it is late.
const NO_TIME: &str = "for which there was no time (--minutes)";

type Variables = Vec<(&'static str, String)>;

/// What Debian's programs want, under the MPI whose tools they run with.
fn programs(mpi: &Mpi) -> Result<Variables> {
    if serving(mpi) != mpi.name {
        bail!("which run with {}'s tools", serving(mpi));
    }
    environment::programs(mpi)
}

/// The MPIs that are tested if nothing else is said: those of `--all`.
const USUAL: [&str; 2] = ["mpich-5.0.2", "openmpi-5.0.11"];

/// Another ABI, and an older version.
const MORE: [&str; 2] = ["mpich-5.0.2-abi", "mpich-debian"];

/// Those on which all is tested, and whose tools serve the other MPIs of their ABIs.
pub(crate) fn is_first(mpi: &Mpi) -> bool {
    USUAL.contains(&mpi.name.as_str())
}

/// Tools in MPICH's own QMPI.
pub(crate) fn mpich_with_qmpi() -> Result<()> {
    let mpi = environment::mpich_with_qmpi()?;
    let tools = build_tools(&mpi)?;
    run(cargo()
        .args(["test", "--package", "qmpi-shim", "--test", "mpich_qmpi", "--", "--ignored"])
        .current_dir(environment::root())
        .envs(mpi.variables())
        .env("MPI_TOOLS", tools))
}

/// Prints the MPI Forum's data in the list's words.
pub(crate) fn standard() -> Result<()> {
    let packages = environment::site_packages(&environment::checks()?)?;
    run(Command::new("python3")
        .arg(environment::root().join("rmpi/mpi-sys/tests/standard.py"))
        .env("PYTHONPATH", packages))
}
