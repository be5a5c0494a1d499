//! What mpi-check says of tests that pass, and whether it is true: each finding was read by a person, with the test's source.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use super::list::Test;
use super::program::Finding;
use super::results::Comparison;
use crate::environment;

/// The file with the judgements.
pub(super) const FILE: &str = "xtask/mpich-findings.toml";

/// A finding that is true.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Judgement {
    /// Folder and name of the program.
    program: String,
    class: String,
    /// A part of the site or of the message, where the program has several of the class.
    #[serde(default)]
    says: String,
    /// Only under these MPIs, by the beginnings of their names; under all if none is named.
    #[serde(default)]
    mpis: Vec<String>,
    /// Why it is true.
    #[allow(dead_code, reason = "it is there for people, and must not be left out")]
    why: String,
}

impl Judgement {
    fn is_of(&self, mpi: &str, program: &str, finding: &Finding) -> bool {
        self.program == program
            && self.class == finding.class
            && (finding.site.contains(&self.says) || finding.message.contains(&self.says))
            && (self.mpis.is_empty() || self.mpis.iter().any(|name| mpi.starts_with(&**name)))
    }
}

/// All judgements, and the findings of a run.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Judged {
    finding: Vec<Judgement>,
    /// How many tests that pass were checked, of how many something was found.
    #[serde(skip)]
    tests: (usize, usize),
    /// How many findings are true.
    #[serde(skip)]
    known: usize,
    /// Of the others: the program, the class and the site with the first message, and the tests that had it.
    #[serde(skip)]
    unknown: BTreeMap<(String, String, String), (String, Vec<String>)>,
}

impl Judged {
    pub(super) fn read() -> Result<Self> {
        let text = fs::read_to_string(environment::root().join(FILE)).context(FILE)?;
        toml::from_str(&text).context(FILE)
    }

    /// Judges what was found in a test.
    pub(super) fn add(&mut self, mpi: &str, test: &Test, runs: &Comparison) {
        let program = format!("{}/{}", test.folder, test.program);
        let mut has_any = false;
        for finding in runs.findings_if_right() {
            has_any = true;
            if self.finding.iter().any(|judgement| judgement.is_of(mpi, &program, finding)) {
                self.known += 1;
                continue;
            }
            let key = (program.clone(), finding.class.clone(), finding.site.clone());
            let entry = self.unknown.entry(key);
            let (_, tests) = entry.or_insert_with(|| (finding.message.clone(), Vec::new()));
            if !tests.contains(&test.name()) {
                tests.push(test.name());
            }
        }
        self.tests.0 += usize::from(runs.was_checked());
        self.tests.1 += usize::from(has_any);
    }

    pub(super) fn unknown(&self) -> usize {
        self.unknown.len()
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tests, found) = self.tests;
        writeln!(
            f,
            "mpi-check: {tests} tests that pass were checked; findings in {found} of them: {} are true by {FILE}, {} are not there",
            self.known,
            self.unknown.len()
        )?;
        for ((program, class, site), (message, tests)) in &self.unknown {
            writeln!(f, "  {program}: {class} at {site}: {message}")?;
            writeln!(f, "    {}", tests.join("\n    "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_known_by_program_class_and_words() {
        let judged: Judged = toml::from_str(
            "[[finding]]\nprogram = \"comm/x\"\nclass = \"leak\"\nsays = \"x.c:7\"\nmpis = [\"mpich\"]\nwhy = \"it is\"\n",
        )
        .unwrap();
        let of = |class: &str, site: &str| Finding {
            class: class.into(),
            site: site.into(),
            message: "a communicator".into(),
        };
        let is_known =
            |mpi, program, finding: &Finding| judged.finding[0].is_of(mpi, program, finding);
        assert!(is_known("mpich-5.0.2", "comm/x", &of("leak", "x.c:7 (main)")));
        assert!(!is_known("openmpi-5.0.11", "comm/x", &of("leak", "x.c:7 (main)")));
        assert!(!is_known("mpich-5.0.2", "comm/y", &of("leak", "x.c:7 (main)")));
        assert!(!is_known("mpich-5.0.2", "comm/x", &of("deadlock", "x.c:7 (main)")));
        assert!(!is_known("mpich-5.0.2", "comm/x", &of("leak", "x.c:8 (main)")));
    }

    #[test]
    fn the_file_can_be_read() {
        Judged::read().unwrap();
    }
}
