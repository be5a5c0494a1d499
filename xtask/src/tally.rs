//! What test programs say: how many tests there were, which failed, and how long each program took.

use std::fmt::Write as _;
use std::time::Instant;

/// How many tests there were, from the closing lines of test programs.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Count {
    /// Reads `test result: ok. 4 passed; 0 failed; …`.
    fn of(line: &str) -> Option<Self> {
        let result = line.strip_prefix("test result: ")?;
        let number = |what: &str| {
            let part = result.split([';', '.']).find(|part| part.ends_with(what))?;
            part.trim().strip_suffix(what)?.trim().parse::<u64>().ok()
        };
        Some(Self { passed: number("passed").unwrap_or(0), failed: number("failed").unwrap_or(0) })
    }
}

/// A test program, under an MPI.
#[derive(Debug)]
pub(crate) struct Suite {
    /// What `--mpi` calls the MPI.
    mpi: String,
    /// The program, and what is special: `tests/lifecycle.rs`.
    name: String,
    count: Count,
    /// The names of the tests that failed.
    pub(crate) failed: Vec<String>,
    /// Whether the program has said its result.
    has_ended: bool,
    start: Instant,
    seconds: f32,
    /// The list of failed tests that is just being read.
    list: Option<Vec<String>>,
}

impl Suite {
    fn new(mpi: &str, name: &str) -> Self {
        Self {
            mpi: mpi.into(),
            name: name.into(),
            count: Count::default(),
            failed: Vec::new(),
            has_ended: false,
            start: Instant::now(),
            seconds: 0.0,
            list: None,
        }
    }

    fn read(&mut self, line: &str) {
        if let Some(count) = Count::of(line) {
            // The last list before the result is the one of names; one before it has what they printed.
            self.failed.extend(self.list.take().unwrap_or_default());
            self.count.passed += count.passed;
            self.count.failed += count.failed;
            self.has_ended = true;
        } else if line == "failures:" {
            self.list = Some(Vec::new());
        } else if let (Some(list), Some(name)) = (&mut self.list, line.strip_prefix("    ")) {
            list.push(name.into());
        }
    }

    fn close(&mut self) {
        self.seconds = self.start.elapsed().as_secs_f32();
    }

    fn is_right(&self) -> bool {
        self.has_ended && self.count.failed == 0 && self.failed.is_empty()
    }
}

/// All test programs that ran.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) suites: Vec<Suite>,
    is_open: bool,
}

impl Tally {
    /// A test program begins, or cargo, which names the ones that it starts.
    pub(crate) fn begin(&mut self, mpi: &str, name: &str) {
        self.end();
        self.suites.push(Suite::new(mpi, name));
        self.is_open = true;
    }

    /// Reads a line of what cargo and the test programs print.
    pub(crate) fn read(&mut self, line: &str) {
        let Some(suite) = self.suites.last_mut().filter(|_| self.is_open) else { return };
        match started(line) {
            // The first one takes the place of what stood for cargo.
            Some(name) if !suite.has_ended && suite.name.is_empty() => suite.name = name,
            Some(name) => {
                let mpi = suite.mpi.clone();
                self.begin(&mpi, &name);
            }
            None => suite.read(line),
        }
    }

    /// Cargo has started no program, and will start none.
    pub(crate) fn forget_cargo(&mut self) {
        if self.is_open && self.suites.last().is_some_and(|suite| suite.name.is_empty()) {
            self.suites.pop();
            self.is_open = false;
        }
    }

    /// The last program has ended.
    pub(crate) fn end(&mut self) {
        if let Some(suite) = self.suites.last_mut().filter(|_| self.is_open) {
            suite.close();
        }
        self.is_open = false;
    }

    pub(crate) fn count(&self) -> Count {
        self.suites.iter().fold(Count::default(), |sum, suite| Count {
            passed: sum.passed + suite.count.passed,
            failed: sum.failed + suite.count.failed,
        })
    }

    /// The programs that took longest, for people.
    pub(crate) fn longest(&self, rows: usize) -> String {
        let mut suites: Vec<_> = self.suites.iter().collect();
        suites.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let mut text = String::from("The longest:\n");
        for suite in suites.into_iter().take(rows).filter(|suite| suite.seconds >= 1.0) {
            let Suite { mpi, name, seconds, .. } = suite;
            let _ = writeln!(text, "  {seconds:6.1} s  {mpi}, {name}");
        }
        text
    }

    /// Which tests failed, and how one of them is run again; empty if none did.
    pub(crate) fn failures(&self) -> String {
        let mut text = String::new();
        let mut again = None;
        for suite in self.suites.iter().filter(|suite| !suite.is_right()) {
            let Suite { mpi, name, failed, has_ended, .. } = suite;
            let _ = writeln!(text, "  {mpi}, {name}:");
            for test in failed {
                let _ = writeln!(text, "    {test}");
                // Of a test in documentation, whose name has words, the last one tells it.
                let word = test.split_whitespace().next().unwrap_or(test);
                again.get_or_insert_with(|| format!("cargo xtask test --mpi {mpi} -- {word}"));
            }
            if !has_ended {
                let _ = writeln!(text, "    (the program ended before its tests did)");
            } else if failed.is_empty() {
                let _ = writeln!(text, "    ({} tests that it does not name)", suite.count.failed);
            }
        }
        if let Some(again) = again {
            let _ = writeln!(text, "Run one again by its name:\n  {again}");
        }
        text
    }
}

/// Which test program cargo says that it starts: `Running tests/a.rs (target/debug/deps/a-0123)`.
pub(crate) fn started(line: &str) -> Option<String> {
    let line = line.trim_start();
    if let Some(running) = line.strip_prefix("Running ") {
        let (name, file) = running.split_once(" (")?;
        let file = file.strip_suffix(')')?.rsplit('/').next()?;
        // Those of libraries and programs have the same name everywhere.
        let (of, _) = file.rsplit_once('-')?;
        return Some(match name.strip_prefix("unittests ") {
            Some(source) => format!("{of}, {source}"),
            None => name.into(),
        });
    }
    line.strip_prefix("Doc-tests ").map(|of| format!("{of}, documentation"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Tally {
        let mut tally = Tally::default();
        tally.begin("openmpi-5.0.11", "");
        text.lines().for_each(|line| tally.read(line));
        tally.end();
        tally
    }

    #[test]
    fn counts_what_cargo_closes_with() {
        let tally = read(
            "test result: ok. 19 passed; 0 failed; 0 ignored; finished in 5.87s\n\
             test result: FAILED. 2 passed; 1 failed; 0 ignored; finished in 0.36s\n\
             test sum_passed ... ok\n",
        );
        assert_eq!(tally.count(), Count { passed: 21, failed: 1 });
    }

    const FAILED: &str = "     Running unittests src/lib.rs (target/debug/deps/rmpi-0123abcd)\n\
        running 1 test\ntest pure ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored\n\n\
        \x20    Running tests/lifecycle.rs (target/debug/deps/lifecycle-89ab)\n\
        running 2 tests\ntest launcher ... FAILED\ntest other ... ok\n\nfailures:\n\n\
        ---- launcher stdout ----\n\nthread 'launcher' panicked at tests/lifecycle.rs:1:1:\n\
        assertion failed:\n    left: 1\n    right: 2\n\n\nfailures:\n    launcher\n\n\
        test result: FAILED. 1 passed; 1 failed; 0 ignored; finished in 0.1s\n\n\
        error: test failed, to rerun pass `-p mpi-tool-layer --test lifecycle`\n\
        \x20  Doc-tests rmpi\n\ntest result: ok. 7 passed; 0 failed; 0 ignored\n";

    #[test]
    fn failed_tests_are_named_with_their_program_and_how_to_run_one_again() {
        let tally = read(FAILED);
        assert_eq!(
            tally.failures(),
            "  openmpi-5.0.11, tests/lifecycle.rs:\n    launcher\nRun one again by its name:\n  \
             cargo xtask test --mpi openmpi-5.0.11 -- launcher\n"
        );
        assert_eq!(tally.count(), Count { passed: 9, failed: 1 });
        let names: Vec<_> = tally.suites.iter().map(|suite| suite.name.as_str()).collect();
        assert_eq!(names, ["rmpi, src/lib.rs", "tests/lifecycle.rs", "rmpi, documentation"]);
    }

    /// A test that brings its program down takes the closing line with it.
    #[test]
    fn a_program_that_does_not_come_to_its_end_has_failed() {
        let text = "     Running tests/fortran.rs (target/debug/deps/fortran-0123)\n\
            running 2 tests\ntest one ... ok\nerror: test failed, to rerun pass `--test fortran`\n\
            Caused by:\n  process didn't exit successfully: (signal: 11, SIGSEGV)\n";
        for more in ["", "   Doc-tests rmpi\ntest result: ok. 1 passed; 0 failed\n"] {
            let tally = read(&format!("{text}{more}"));
            assert_eq!(
                tally.failures(),
                "  openmpi-5.0.11, tests/fortran.rs:\n    (the program ended before its tests did)\n"
            );
        }
    }

    #[test]
    fn where_nothing_fails_nothing_is_listed() {
        let right = "     Running tests/a.rs (target/debug/deps/a-01)\n\
            test a ... ok\ntest result: ok. 1 passed; 0 failed; 0 ignored\n";
        assert_eq!(read(right).failures(), "");
    }
}
