//! What runs of CI take in turns: the commit's hash chooses.

use std::collections::BTreeSet;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::change;
use super::data::{self, Data};

/// How many turns there are. Each commit has one of them.
const TURNS: u32 = 8;

/// What only some turns have.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Turn {
    /// An MPI, something else that a run does, or in words what the tests are.
    pub(super) what: String,
    /// The tests, under the first MPI. As in rows of what is left out.
    #[serde(default)]
    pub(super) suites: Vec<String>,
    #[serde(default)]
    pub(super) tests: Vec<String>,
    /// Which turns, from one on.
    turns: Vec<u32>,
    /// In how many parts it comes. The hash chooses one of them as well.
    #[serde(default = "one")]
    parts: u32,
    /// How long it takes in CI, with what is built for it: a person's measure, for estimates.
    seconds: u32,
}

fn one() -> u32 {
    1
}

impl Turn {
    pub(super) fn is_tests(&self) -> bool {
        !self.suites.is_empty()
    }

    /// The part that a commit has of this, if it is the commit's turn.
    fn part_at(&self, hash: &str) -> Option<u32> {
        self.turns.contains(&turn_at(hash)).then(|| chosen(first_digits(hash), self.parts))
    }

    /// Do changes of files touch these tests? If their own source has changed, or one of the few suites that are touched is
    /// theirs.
    fn is_touched(&self, files: &BTreeSet<String>, few: &[String]) -> bool {
        let is_source = |suite: &String| {
            let modules = self.tests.iter().filter_map(|test| test.split_once("::"));
            let of_module = modules.map(|(module, _)| format!("tests/{suite}/{module}.rs"));
            let mut ends = of_module.chain([format!("tests/{suite}.rs")]);
            ends.any(|end| files.iter().any(|file| file.ends_with(&end)))
        };
        self.suites.iter().any(|suite| few.contains(suite) || is_source(suite))
    }

    /// When what a commit leaves out of this was last run, if each commit was tested.
    fn words(&self, commit: &str, before: &[(String, u64)], now: u64) -> String {
        let last = |part| {
            let what = if self.parts > 1 { format!("part {part}") } else { "it".to_owned() };
            match before.iter().find(|(hash, _)| self.part_at(hash) == Some(part)) {
                Some((hash, when)) => {
                    let hours = now.saturating_sub(*when) / 3600;
                    format!("commit {} has {what}, {hours} hours ago", &hash[..7])
                }
                None => format!("no commit that is known has {what}"),
            }
        };
        let now = self.part_at(commit);
        let others = (1..=self.parts).filter(|part| now != Some(*part)).map(last);
        let others = others.collect::<Vec<_>>().join(", ");
        match now {
            Some(part) => format!("{}, all but part {part} of {}: {others}", self.what, self.parts),
            None => format!("{}, of turn {}: {others}", self.what, listed(&self.turns)),
        }
    }
}

/// `1, 2 or 3`.
fn listed(turns: &[u32]) -> String {
    let words: Vec<_> = turns.iter().map(u32::to_string).collect();
    match words.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => words.concat(),
    }
}

/// Which turn a commit has.
fn turn_at(hash: &str) -> u32 {
    // Not by what chooses the part, so that each turn has all parts.
    chosen(&hash[hash.len().saturating_sub(7)..], TURNS)
}

fn first_digits(hash: &str) -> &str {
    hash.get(..7).unwrap_or("0")
}

/// One of so many, as good as by chance.
fn chosen(digits: &str, of: u32) -> u32 {
    u32::from_str_radix(digits, 16).unwrap_or(0) % of + 1
}

/// What a commit has.
pub(super) struct Turns<'a> {
    all: &'a [Turn],
    commit: String,
    /// The commits before, with their times, newest first.
    before: Vec<(String, u64)>,
    /// What has no turn, and runs because of what the last commits have changed.
    touched: Vec<&'a str>,
    /// The suites that they touch, if these are few.
    pub(super) few_touched: Vec<String>,
}

impl<'a> Turns<'a> {
    pub(super) fn at(commit: &str, data: &'a Data) -> Result<Self> {
        let mut commits = change::commits(commit)?;
        ensure!(!commits.is_empty(), "there is no commit");
        let files = change::files_of_last_commits(commit)?;
        let few = data.few_touched(&files);
        let is_touched = |turn: &&Turn| turn.is_tests() && turn.is_touched(&files, &few);
        let touched = data.turn.iter().filter(is_touched).map(|turn| turn.what.as_str()).collect();
        let (commit, _) = commits.remove(0);
        Ok(Self { all: &data.turn, commit, before: commits, touched, few_touched: few })
    }

    /// Does this commit have it, or a part of it?
    pub(super) fn has(&self, what: &str) -> bool {
        let mut of_turn = self.all.iter().filter(|turn| turn.part_at(&self.commit).is_some());
        self.touched.contains(&what) || of_turn.any(|turn| turn.what == what)
    }

    /// The part that this commit has of something, and of how many.
    pub(super) fn part(&self, what: &str) -> Option<(u32, u32)> {
        let turn = self.all.iter().find(|turn| turn.what == what && turn.parts > 1)?;
        Some((turn.part_at(&self.commit)?, turn.parts))
    }

    /// The tests that this commit does not have, as cargo-nextest's filters say it.
    pub(super) fn tests_of_others(&self) -> impl Iterator<Item = String> {
        let others = self.all.iter().filter(|turn| turn.is_tests() && !self.has(&turn.what));
        others.map(|turn| data::filter(&turn.suites, &turn.tests))
    }

    /// What this commit leaves to others, for people.
    pub(super) fn left_out(&self) -> Vec<String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let others = self.all.iter().filter(|turn| turn.parts > 1 || !self.has(&turn.what));
        others.map(|turn| turn.words(&self.commit, &self.before, now)).collect()
    }

    /// What this commit has that others have not, and how long that takes, for people.
    pub(super) fn words(&self) -> String {
        let here: Vec<_> = self.all.iter().filter(|turn| self.has(&turn.what)).collect();
        let names: Vec<_> = here.iter().map(|turn| turn.what.as_str()).collect();
        let seconds: u32 = here.iter().map(|turn| turn.seconds).sum();
        format!(
            "Commit {} has turn {} of {TURNS}, which takes {} minutes more than what all have: {}",
            first_digits(&self.commit),
            turn_at(&self.commit),
            seconds.div_ceil(60),
            names.join("; ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::{EXTRA, USUAL, plan, round};

    /// What CI takes without any turn, at most: format and lints, builds, all suites on the first MPI, the book.
    const BASE: u32 = 2300;

    /// A commit of each turn, with each part.
    fn commits() -> impl Iterator<Item = String> {
        (0..TURNS).flat_map(|turn| (0..8).map(move |part| format!("{part:07x}{turn:033x}")))
    }

    fn at(data: &Data, commit: String) -> Turns<'_> {
        Turns {
            all: &data.turn,
            commit,
            before: Vec::new(),
            touched: Vec::new(),
            few_touched: Vec::new(),
        }
    }

    #[test]
    fn everything_has_its_turn() {
        let data = Data::read().unwrap();
        for turn in &data.turn {
            let parts: BTreeSet<_> = commits().filter_map(|hash| turn.part_at(&hash)).collect();
            assert_eq!(parts, (1..=turn.parts).collect(), "{}", turn.what);
        }
    }

    #[test]
    fn no_turn_has_all_nor_more_than_there_is_time_for() {
        let data = Data::read().unwrap();
        for commit in commits() {
            let turns = at(&data, commit);
            let here = data.turn.iter().filter(|turn| turns.has(&turn.what));
            let seconds: u32 = here.map(|turn| turn.seconds).sum();
            assert!((300..=1100).contains(&seconds), "{}", turns.words());
            assert!(BASE + seconds < 58 * 60, "{}", turns.words());
            // At most one other MPI, and at most three of the long tests.
            let is_mpi = |turn: &&Turn| [USUAL[1], EXTRA[0], EXTRA[1]].contains(&&*turn.what);
            let has = |turn: &&Turn| turns.has(&turn.what);
            assert!(data.turn.iter().filter(is_mpi).filter(has).count() <= 1);
            assert!(turns.tests_of_others().count() >= 4);
        }
    }

    /// What names no tests is something that the runner asks for.
    #[test]
    fn nothing_has_a_turn_that_nobody_asks_for() {
        let data = Data::read().unwrap();
        let others = data.turn.iter().filter(|turn| !turn.is_tests());
        let names: BTreeSet<_> = others.map(|turn| turn.what.as_str()).collect();
        let known = [USUAL[1], EXTRA[0], EXTRA[1], round::DOCUMENTATION, round::SANITIZER];
        assert_eq!(names, known.into_iter().chain([plan::DEBIAN, plan::FOREIGN]).collect());
    }

    #[test]
    fn a_test_whose_source_has_changed_is_touched() {
        let data = Data::read().unwrap();
        let touched = |files: &[&str], few: &[&str]| -> Vec<&str> {
            let files = files.iter().map(|file| (*file).to_owned()).collect();
            let few: Vec<_> = few.iter().map(|suite| (*suite).to_owned()).collect();
            let is_touched = data.turn.iter().filter(|turn| turn.is_touched(&files, &few));
            is_touched.map(|turn| turn.what.as_str()).collect()
        };
        assert_eq!(touched(&["system-tests/tests/mpi4py.rs"], &[]), ["mpi4py's suite"]);
        assert_eq!(touched(&["mpi-tool/tests/tool/projects.rs"], &[]), ["projects of new tools"]);
        assert_eq!(touched(&["mpi-tool/tests/tool/hang.rs"], &["pgas"]), ["global arrays"]);
        assert_eq!(touched(&["README.md"], &[]), Vec::<&str>::new());
    }

    #[test]
    fn what_is_left_out_is_told_with_its_age() {
        let turn: Turn =
            toml::from_str("what = \"openmpi-5.0.11\"\nturns = [1, 2]\nparts = 3\nseconds = 900\n")
                .unwrap();
        let commit = |part: u32, turn: u32| format!("{:07x}{:033x}", part - 1, turn - 1);
        let before = [(commit(2, 3), 90_000), (commit(2, 2), 3600)];
        assert_eq!(
            turn.words(&commit(1, 1), &before, 10_800),
            "openmpi-5.0.11, all but part 1 of 3: commit 0000001 has part 2, 2 hours ago, no commit that is known has part 3"
        );
        assert_eq!(
            turn.words(&commit(1, 4), &before[..0], 0),
            "openmpi-5.0.11, of turn 1 or 2: no commit that is known has part 1, no commit that is known has part 2, no commit that is known has part 3"
        );
    }
}
