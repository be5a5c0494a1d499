//! Suites of tests under each MPI: a table, for the terminal and for `docs/suites.md`.

use std::fmt::Write as _;
use std::fs;

use anyhow::{Result, ensure};

use crate::environment::{self, Mpi};
use crate::test::{Build, Ran, Results, Round, left_out_on};

/// What differs from one MPI to another.
const SUITES: [(&str, Build); 7] = [
    ("headers", Build::Linked),
    ("examples", Build::Neutral),
    ("programs", Build::Neutral),
    ("lifecycle", Build::Neutral),
    ("boundary", Build::Neutral),
    ("bandwidth", Build::Neutral),
    ("stacks", Build::Neutral),
];

/// What came of a suite under an MPI.
#[derive(Default)]
struct Cell {
    tests: Vec<Ran>,
    /// Why there is no result.
    broken: Option<String>,
}

impl Cell {
    fn is_right(&self) -> bool {
        self.broken.is_none() && self.failed().is_empty() && !self.tests.is_empty()
    }

    fn passed(&self) -> usize {
        self.tests.iter().filter(|test| test.passed).count()
    }

    /// The names of the tests that failed.
    fn failed(&self) -> Vec<&str> {
        self.tests.iter().filter(|test| !test.passed).map(|test| test.name.as_str()).collect()
    }
}

/// Runs them under some MPIs, and writes the page where these are all.
pub(crate) fn run(mpis: &[Mpi], absent: &[String], all: bool) -> Result<()> {
    let mut rows = Vec::new();
    for mpi in mpis {
        rows.push((mpi, SUITES.map(|(suite, build)| cell(mpi, suite, build))));
    }
    let page = page(&rows, absent)?;
    println!("\n{page}");
    if all {
        fs::write(environment::root().join("docs/suites.md"), page)?;
    }
    let wrong = rows.iter().flat_map(|(_, cells)| cells).filter(|cell| !cell.is_right()).count();
    ensure!(wrong == 0, "{wrong} suites failed");
    Ok(())
}

fn cell(mpi: &Mpi, suite: &str, build: Build) -> Cell {
    let mut results = Results::default();
    let run = |results: &mut Results| -> Result<()> {
        let mut filter = format!("binary(={suite})");
        for (tests, ..) in left_out_on(mpi, suite)? {
            let _ = write!(filter, " - {tests}");
        }
        let mut round = Round::of(build, mpi, &filter)?;
        round.title = format!("{suite} on {}", mpi.name);
        round.run(&[], results);
        Ok(())
    };
    let result = run(&mut results);
    let broken = result.err().map(|error| format!("{error:#}")).or_else(|| results.broken());
    Cell { tests: results.tests, broken }
}

fn page(rows: &[(&Mpi, [Cell; SUITES.len()])], absent: &[String]) -> Result<String> {
    let mut page = String::from(
        "# The tests under each MPI\n\n\
         Made by `cargo xtask matrix --suites`: how many tests of each suite passed. The programs and examples \
         are compiled for this MPI. The tools are the builds that serve all MPIs of its ABI. `headers` compares \
         `mpi.h` with the list of functions and constants. `examples` runs the examples and the test programs of \
         rmpi, each on one, two and four ranks. `programs`, `lifecycle`, `boundary` and `bandwidth` run tools with programs, and \
         `stacks` runs stacks of them. The tests leave out what an MPI lacks: functions of a newer standard, and \
         what `tests/c` and `rmpi/tests/programs` name with the reason.\n\n",
    );
    let _ = writeln!(page, "| MPI | {} |", SUITES.map(|(suite, _)| suite).join(" | "));
    let _ = writeln!(page, "|---|{}", "---|".repeat(SUITES.len()));
    let mut notes = Vec::new();
    for (mpi, cells) in rows {
        let _ = write!(page, "| {} |", mpi.name);
        for ((suite, _), cell) in SUITES.iter().zip(cells) {
            let mut said = vec![format!("{} passed", cell.passed())];
            let mut note = |text: String| {
                let known = notes.iter().position(|known| *known == text);
                known.unwrap_or_else(|| {
                    notes.push(text);
                    notes.len() - 1
                }) + 1
            };
            if let Some(reason) = &cell.broken {
                said.push(format!("BROKEN ({})", note(reason.clone())));
            }
            let failed = cell.failed();
            if !failed.is_empty() {
                let names = note(format!("`{}`", failed.join("`, `")));
                said.push(format!("{} FAILED ({names})", failed.len()));
            }
            for (_, test, reason) in left_out_on(mpi, suite)? {
                said.push(format!("1 left out ({})", note(format!("`{test}`: {reason}"))));
            }
            let _ = write!(page, " {} |", said.join(", "));
        }
        page.push('\n');
    }
    page.push('\n');
    for (number, note) in notes.iter().enumerate() {
        let _ = writeln!(page, "{}. {note}", number + 1);
    }
    for reason in absent {
        let _ = writeln!(page, "\nNot available: {reason}");
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::Cell;

    #[test]
    fn a_cell_names_what_failed() {
        let test = |name: &str, passed| super::Ran {
            mpi: "mpich-5.0.2".into(),
            suite: "programs".into(),
            name: name.into(),
            passed,
            seconds: 0.1,
        };
        let cell = Cell { tests: vec![test("ring", true), test("spawn", false)], broken: None };
        assert_eq!((cell.failed(), cell.passed()), (vec!["spawn"], 1));
        assert!(!cell.is_right());
        assert!(!Cell::default().is_right(), "nothing ran");
    }
}
