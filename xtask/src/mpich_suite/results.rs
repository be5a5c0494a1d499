//! What became of the tests each way, and what this says of the tools.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::list::Test;
use super::program::{Finding, Outcome, Way};

/// What the runs of a test say of the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It passes each way.
    Same,
    /// It fails without tools, and in the same way with tools.
    FailsToo,
    /// It passes without tools, and not always with tools.
    Differs,
    /// It fails without tools, and otherwise with tools, or not.
    FailsOtherwise,
    /// It failed once with tools, and not again; or its result is another one from time to time without tools, too.
    Unsteady,
    /// It does not end in time without tools, so that it did not run with tools.
    TooSlow,
    /// There is no such program.
    NotBuilt,
    /// It has not run yet.
    NotYet,
}

impl Verdict {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::FailsToo => "fails without tools, too",
            Self::Differs => "DIFFERS",
            Self::FailsOtherwise => "fails without tools, and otherwise with tools",
            Self::Unsteady => "unsteady",
            Self::TooSlow => "not run with tools, since it takes too long without",
            Self::NotBuilt => "not compiled",
            Self::NotYet => "not run yet",
        }
    }
}

/// The outcomes of a test's runs, each way.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Comparison(Vec<Vec<Outcome>>);

/// Runs a test by `run`, which is told the way, of which the first is without tools; three times where it is not the same each
/// way.
pub(super) fn compare(
    ways: usize,
    mut run: impl FnMut(usize) -> Result<Outcome>,
) -> Result<Comparison> {
    let mut runs = Comparison(vec![Vec::new(); ways]);
    for round in 0..3 {
        for way in 0..ways {
            let outcome = run(way)?;
            let is_all = round == 0 && way == 0 && outcome.has_no_result();
            runs.0[way].push(outcome);
            if is_all {
                return Ok(runs);
            }
        }
        if round == 0 && runs.is_like_plain(0) {
            break;
        }
    }
    Ok(runs)
}

impl Comparison {
    /// The runs without tools, and those each other way.
    fn split(&self) -> (&[Outcome], &[Vec<Outcome>]) {
        self.0.split_first().map_or((&[], &[]), |(plain, tools)| (plain, tools))
    }

    /// Whether a round was the same each way.
    fn is_like_plain(&self, round: usize) -> bool {
        let (plain, tools) = self.split();
        tools.iter().all(|way| way[round].is_like(&plain[round]))
    }

    pub(super) fn verdict(&self) -> Verdict {
        let (plain, tools) = self.split();
        let known = |outcome: &Outcome| plain.iter().any(|plain| plain.is_like(outcome));
        let passes = plain.iter().all(Outcome::passed);
        if plain.is_empty() {
            Verdict::NotYet
        } else if tools.iter().all(Vec::is_empty) {
            if plain[0].is_built() { Verdict::TooSlow } else { Verdict::NotBuilt }
        } else if tools.iter().flatten().all(known) {
            match (passes, plain.iter().any(Outcome::passed)) {
                (true, _) => Verdict::Same,
                (false, false) => Verdict::FailsToo,
                (false, true) => Verdict::Unsteady,
            }
        } else if tools.iter().all(|way| way.iter().skip(1).all(known)) {
            let fails = !plain.iter().any(Outcome::passed);
            if fails { Verdict::FailsToo } else { Verdict::Unsteady }
        } else if passes {
            Verdict::Differs
        } else {
            Verdict::FailsOtherwise
        }
    }

    /// Whether the test passes without tools and has run with them.
    pub(super) fn was_checked(&self) -> bool {
        let (plain, tools) = self.split();
        let is_right = !plain.is_empty() && plain.iter().all(Outcome::passed);
        is_right && tools.iter().any(|way| !way.is_empty())
    }

    /// What mpi-check has found, if the test passes without tools.
    pub(super) fn findings_if_right(&self) -> impl Iterator<Item = &Finding> {
        let is_right = self.was_checked();
        let (_, tools) = self.split();
        tools.iter().flatten().flat_map(|run| &run.findings).filter(move |_| is_right)
    }

    /// What the runs with tools have said on standard error, and none without tools.
    fn said_by_tools(&self) -> Vec<&str> {
        let (plain, tools) = self.split();
        let is_new = |line: &&String| !plain.iter().any(|run| run.complaints.contains(line));
        let mut lines: Vec<_> = tools
            .iter()
            .flatten()
            .flat_map(|run| run.complaints.iter().filter(is_new))
            .map(String::as_str)
            .collect();
        lines.sort();
        lines.dedup();
        lines
    }

    /// How it ended each way, for people: without tools first.
    fn ends(&self) -> String {
        let ways = self.0.iter().map(|runs| {
            let ends = runs.iter().map(|run| match run.passed() {
                true => [std::slice::from_ref(&run.end), &run.said[..]].concat().join(" by "),
                false => run.end.clone(),
            });
            ends.collect::<Vec<_>>().join(", ")
        });
        ways.collect::<Vec<_>>().join("; ")
    }
}

/// A line of the file of results.
#[derive(Serialize, Deserialize)]
struct Line {
    test: String,
    verdict: String,
    runs: Comparison,
}

/// The results of this run and of those that it goes on with.
pub(super) struct Results {
    pub(super) file: PathBuf,
    writer: File,
    known: HashMap<String, Comparison>,
}

impl Results {
    /// # Errors
    /// The results in the folder are of other tools, or of programs on other numbers of ranks.
    pub(super) fn open(path: PathBuf, fresh: bool, ways: &[Way], max_ranks: u32) -> Result<Self> {
        if fresh && path.exists() {
            fs::remove_file(&path)?;
        }
        let mut hasher = DefaultHasher::new();
        for file in ways.iter().flat_map(|way| &way.files) {
            let tool = fs::read(file).with_context(|| format!("{}: no tool", file.display()))?;
            tool.hash(&mut hasher);
        }
        let names: Vec<_> = ways.iter().map(|way| way.name).collect();
        let tools = format!("{:016x}", hasher.finish());
        let head = json!({ "tools": tools, "max_ranks": max_ranks, "ways": names });
        let text = if path.exists() { fs::read_to_string(&path)? } else { String::new() };
        let mut lines = text.lines();
        let is_new = match lines.next() {
            Some(line) if serde_json::from_str::<Value>(line).is_ok_and(|line| line == head) => {
                false
            }
            None => true,
            Some(_) => bail!(
                "{} has results of other tools, or on other numbers of ranks: begin anew with --fresh",
                path.display()
            ),
        };
        let mut known = HashMap::new();
        for line in lines {
            // The last line may be cut where a run was interrupted.
            let Ok(line) = serde_json::from_str::<Line>(line) else { continue };
            known.insert(line.test, line.runs);
        }
        let mut writer = OpenOptions::new().create(true).append(true).open(&path)?;
        if is_new {
            writeln!(writer, "{head}")?;
        } else if !text.ends_with('\n') {
            writeln!(writer)?;
        }
        Ok(Self { file: path, writer, known })
    }

    pub(super) fn of(&self, test: &Test) -> Option<&Comparison> {
        self.known.get(&test.name())
    }

    pub(super) fn add(&mut self, test: &Test, runs: Comparison) -> Result<()> {
        let verdict = runs.verdict().word().into();
        let line = Line { test: test.name(), verdict, runs };
        let text = serde_json::to_string(&line)?;
        // One write, so that two runs beside each other do not mix their lines.
        self.writer.write_all(format!("{text}\n").as_bytes())?;
        self.known.insert(line.test, line.runs);
        Ok(())
    }
}

/// The results of folders, for people.
#[derive(Default)]
pub(super) struct Table {
    rows: Vec<(String, Vec<Verdict>)>,
    /// What is to be known of single tests.
    notes: Vec<(Verdict, String)>,
    /// Tests with what only the runs with tools have said on standard error.
    said: Vec<String>,
    /// Runs with tools, and of these how many have left a report.
    reports: (usize, usize),
}

impl Table {
    pub(super) fn add(&mut self, test: &Test, runs: &Comparison) {
        let verdict = runs.verdict();
        match self.rows.last_mut() {
            Some((list, row)) if *list == test.list => row.push(verdict),
            _ => self.rows.push((test.list.clone(), vec![verdict])),
        }
        if ![Verdict::Same, Verdict::FailsToo, Verdict::NotYet].contains(&verdict) {
            self.notes.push((verdict, format!("{} ({})", test.name(), runs.ends())));
        }
        let said = runs.said_by_tools();
        if !said.is_empty() {
            self.said.push(format!("{}: {}", test.name(), said.join(" / ")));
        }
        let with_tools = runs.split().1.iter().flatten();
        self.reports.0 += with_tools.clone().count();
        self.reports.1 += with_tools.filter(|run| run.reports).count();
    }

    pub(super) fn faults(&self) -> usize {
        self.notes.iter().filter(|(verdict, _)| *verdict == Verdict::Differs).count()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = [
            &[Verdict::Same, Verdict::Unsteady][..],
            &[Verdict::FailsToo, Verdict::FailsOtherwise],
            &[Verdict::Differs],
            &[Verdict::TooSlow, Verdict::NotBuilt],
            &[Verdict::NotYet],
        ];
        writeln!(
            f,
            "| folder | tests | same | fail without tools, too | differ | no result | not run yet |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|")?;
        let all: Vec<_> = self.rows.iter().flat_map(|(_, row)| row).copied().collect();
        let all = (String::from("all"), all);
        for (name, verdicts) in self.rows.iter().chain([&all]) {
            let count = |of: &[Verdict]| verdicts.iter().filter(|one| of.contains(one)).count();
            let [same, fail, differ, none, not_yet] = columns.map(count);
            let tests = verdicts.len();
            writeln!(f, "| {name} | {tests} | {same} | {fail} | {differ} | {none} | {not_yet} |")?;
        }
        let (runs, reports) = self.reports;
        writeln!(f, "\nOf {runs} runs with tools, {reports} left a report of a tool.")?;
        for verdict in [
            Verdict::Differs,
            Verdict::FailsOtherwise,
            Verdict::Unsteady,
            Verdict::TooSlow,
            Verdict::NotBuilt,
        ] {
            let notes: Vec<_> = self.notes.iter().filter(|(of, _)| *of == verdict).collect();
            if !notes.is_empty() {
                writeln!(f, "{}: {}", verdict.word(), notes.len())?;
            }
            for (_, note) in notes {
                writeln!(f, "  {note}")?;
            }
        }
        if !self.said.is_empty() {
            writeln!(f, "only with tools on standard error: {}", self.said.len())?;
        }
        for said in &self.said {
            writeln!(f, "  {said}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(end: &str) -> Outcome {
        let none = Vec::new;
        Outcome {
            end: end.into(),
            said: none(),
            reports: false,
            complaints: none(),
            findings: vec![],
        }
    }

    /// The verdict where the runs end so, in the order in which they take place; all are needed.
    fn verdict(ends: &[[&str; 3]]) -> Verdict {
        let mut runs = ends.iter().flatten();
        let of =
            compare(3, |_| Ok(outcome(runs.next().expect("no more runs than these")))).unwrap();
        assert_eq!(runs.next(), None, "fewer runs than these");
        let text = serde_json::to_string(&of).unwrap();
        let read: Comparison = serde_json::from_str(&text).unwrap();
        assert_eq!(read.verdict(), of.verdict());
        of.verdict()
    }

    #[test]
    fn what_is_the_same_runs_once() {
        assert_eq!(verdict(&[["passed", "passed", "passed"]]), Verdict::Same);
        assert_eq!(verdict(&[["failure", "failure", "failure"]]), Verdict::FailsToo);
    }

    #[test]
    fn what_says_nothing_without_tools_does_not_run_with_tools() {
        let runs = |end| compare(3, |way| (way == 0).then(|| outcome(end)).context("another run"));
        assert_eq!(runs("not built").unwrap().verdict(), Verdict::NotBuilt);
        assert_eq!(runs("time limit").unwrap().verdict(), Verdict::TooSlow);
        assert!(runs("failure").is_err());
    }

    #[test]
    fn a_difference_that_comes_again_is_one() {
        let pass = ["passed"; 3];
        let stack = ["passed", "passed", "signal 11"];
        assert_eq!(verdict(&[stack, stack, stack]), Verdict::Differs);
        assert_eq!(verdict(&[stack, pass, stack]), Verdict::Differs);
        assert_eq!(verdict(&[["passed", "failure", "passed"], stack, pass]), Verdict::Differs);
        assert_eq!(verdict(&[stack, pass, pass]), Verdict::Unsteady);
    }

    #[test]
    fn what_fails_without_tools_is_no_fault_of_theirs() {
        let other = ["failure", "passed", "passed"];
        assert_eq!(verdict(&[other, other, other]), Verdict::FailsOtherwise);
        assert_eq!(verdict(&[other, ["passed", "failure", "passed"], other]), Verdict::Unsteady);
        let all = ["signal 11", "failure", "failure"];
        assert_eq!(verdict(&[all, ["failure"; 3], ["failure"; 3]]), Verdict::FailsToo);
    }
}
