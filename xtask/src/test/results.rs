//! What came of the tests: read from what cargo-nextest writes for machines (JUnit's format).

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::round::build_of;
use crate::environment;

/// A test that has run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ran {
    /// What `--mpi` calls the MPI.
    pub(crate) mpi: String,
    /// The test program.
    pub(crate) suite: String,
    pub(crate) name: String,
    pub(crate) passed: bool,
    pub(crate) seconds: f64,
}

/// Of a run.
#[derive(Debug, Default)]
pub(crate) struct Results {
    pub(crate) tests: Vec<Ran>,
    /// Tests in documentation, which cargo counts.
    documentation: [u64; 2],
    left_out: Vec<String>,
    /// What failed that is no test.
    failures: Vec<String>,
}

impl Results {
    pub(crate) fn leave_out(&mut self, what: String) {
        if !self.left_out.contains(&what) {
            self.left_out.push(what);
        }
    }

    pub(crate) fn fail(&mut self, what: String) {
        self.failures.push(what);
    }

    /// Tests in documentation: how many passed, and how many failed.
    pub(crate) fn add_documentation(&mut self, count: [u64; 2]) {
        for (sum, more) in self.documentation.iter_mut().zip(count) {
            *sum += more;
        }
    }

    /// What failed that is no test, if anything did.
    pub(crate) fn broken(&self) -> Option<String> {
        (!self.failures.is_empty()).then(|| self.failures.join("; "))
    }

    pub(crate) fn has_failed(&self) -> bool {
        !self.failures.is_empty()
            || self.documentation[1] > 0
            || self.tests.iter().any(|test| !test.passed)
    }

    pub(super) fn say_left_out(&self) {
        for reason in &self.left_out {
            eprintln!("Left out: {reason}");
        }
    }

    /// Says what came of the run.
    pub(crate) fn end(self, took: Duration) -> Result<()> {
        self.say_left_out();
        println!("{}", self.longest(20));
        let failed = self.failed();
        let passed = self.tests.iter().filter(|test| test.passed).count() as u64;
        println!(
            "{} s\ntotal: {} passed, {} failed",
            took.as_secs(),
            passed + self.documentation[0],
            self.tests.len() as u64 - passed + self.documentation[1]
        );
        if self.has_failed() {
            bail!("not all is right\n  {}\n{failed}", self.failures.join("\n  "));
        }
        if self.tests.is_empty() {
            bail!("no test has this name");
        }
        Ok(())
    }

    /// The tests that took longest, and the test programs.
    fn longest(&self, rows: usize) -> String {
        let mut tests: Vec<_> = self.tests.iter().collect();
        tests.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        let mut text = String::from("\nThe longest:\n");
        for test in tests.into_iter().take(rows).filter(|test| test.seconds >= 1.0) {
            let Ran { mpi, suite, name, seconds, .. } = test;
            let _ = writeln!(text, "  {seconds:6.1} s  {mpi}, {suite} {name}");
        }
        text
    }

    /// Which tests failed, and how one of them is run again; empty if none did.
    fn failed(&self) -> String {
        let mut text = String::new();
        for test in self.tests.iter().filter(|test| !test.passed) {
            let Ran { mpi, suite, name, .. } = test;
            let _ = writeln!(text, "  {mpi}, {suite}: {name}");
        }
        if let Some(Ran { mpi, suite, name, .. }) = self.tests.iter().find(|test| !test.passed) {
            // A library's own tests are in no suite.
            let option = build_of(suite).map_or(String::new(), |_| format!(" --suite {suite}"));
            let _ = writeln!(
                text,
                "Run one again by its name:\n  cargo xtask test --mpi {mpi}{option} {name}"
            );
        }
        text
    }

    /// Reads the tests that ran under an MPI.
    pub(super) fn read(&mut self, mpi: &str, report: &Path) -> Result<()> {
        let text = fs::read_to_string(report).with_context(|| report.display().to_string())?;
        let document = roxmltree::Document::parse(&text)?;
        for case in document.descendants().filter(|node| node.has_tag_name("testcase")) {
            let attribute = |name| case.attribute(name).unwrap_or_default();
            let has = |tag| case.children().any(|child| child.has_tag_name(tag));
            // `rmpi::typemap`, `mpi-tool::bin/mpi-tool`, or `rmpi`, for its library.
            let class = attribute("classname");
            self.tests.push(Ran {
                mpi: mpi.to_owned(),
                suite: class.rsplit("::").next().unwrap_or(class).replace("bin/", ""),
                name: attribute("name").to_owned(),
                passed: !has("failure") && !has("error"),
                seconds: attribute("time").parse().unwrap_or(0.0),
            });
        }
        Ok(())
    }
}

/// Where cargo-nextest writes its report, and where those of all rounds are kept.
pub(super) fn report_file() -> PathBuf {
    environment::root().join("target/nextest/default/junit.xml")
}

/// Keeps the report of a round for people and for CI.
pub(super) fn keep(report: &Path, title: &str) -> Result<()> {
    let folder = environment::root().join("target/tests");
    fs::create_dir_all(&folder)?;
    let name: String = title
        .chars()
        .map(|one| if one.is_alphanumeric() || one == '.' { one } else { '-' })
        .collect();
    fs::copy(report, folder.join(format!("{name}.xml")))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="rmpi" tests="2" failures="1" errors="0" time="1.0">
    <testsuite name="system-tests::lifecycle" tests="2" failures="1">
        <testcase name="launcher" classname="system-tests::lifecycle" time="0.250">
            <failure type="test failure" message="left: 1">left: 1 &amp; right: 2</failure>
        </testcase>
        <testcase name="other" classname="system-tests::lifecycle" time="1.500"/>
    </testsuite>
</testsuites>"#;

    #[test]
    fn failed_tests_are_named_with_how_to_run_one_again() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(&file, REPORT).unwrap();
        let mut results = Results::default();
        results.read("openmpi-5.0.11", file.path()).unwrap();
        assert_eq!(
            results.failed(),
            "  openmpi-5.0.11, lifecycle: launcher\nRun one again by its name:\n  \
             cargo xtask test --mpi openmpi-5.0.11 --suite lifecycle launcher\n"
        );
        assert!(results.longest(3).contains("1.5 s  openmpi-5.0.11, lifecycle other"));
        assert!(results.has_failed());
        results.tests.retain(|test| test.passed);
        assert_eq!((results.failed(), results.has_failed()), (String::new(), false));
    }

    #[test]
    fn a_run_without_a_test_has_failed() {
        assert!(Results::default().end(Duration::ZERO).is_err());
    }
}
