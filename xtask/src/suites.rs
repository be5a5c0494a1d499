//! Suites of tests under each MPI: a table, for the terminal and for `docs/suites.md`.

use std::fmt::Write as _;
use std::fs;
use std::ops::ControlFlow;

use anyhow::{Result, ensure};

use crate::environment::{self, Mpi};
use crate::step::{cargo, run as run_command, run_reading, step};
use crate::tally::Tally;
use crate::test::{cargo_test, tests_left_out};

/// What differs from one MPI to another.
const SUITES: [&str; 7] =
    ["headers", "examples", "programs", "lifecycle", "boundary", "bandwidth", "stacks"];

/// The packages that have them. Always all, so that they are built once for an MPI.
const PACKAGES: [&str; 4] =
    ["--package=rmpi-sys", "--package=rmpi", "--package=mpi-tool-layer", "--package=qmpi-shim"];

/// What came of a suite under an MPI.
#[derive(Default)]
struct Cell {
    tally: Tally,
    /// Why there is no result.
    broken: Option<String>,
}

impl Cell {
    fn is_right(&self) -> bool {
        let count = self.tally.count();
        self.broken.is_none() && count.failed == 0 && count.passed > 0
    }

    /// The names of the tests that failed.
    fn failed(&self) -> Vec<&str> {
        self.tally.suites.iter().flat_map(|suite| &suite.failed).map(String::as_str).collect()
    }
}

/// Runs them under some MPIs, and writes the page where these are all.
pub(crate) fn run(mpis: &[Mpi], absent: &[String], all: bool) -> Result<()> {
    let mut rows = Vec::new();
    for mpi in mpis {
        // Tools that are examples, and rmpi's examples, which are built with all tests only.
        let examples = step(&format!("Building for {}", mpi.name), || {
            let mut build = cargo();
            build.args(["build", "--quiet", "--examples"]).args(PACKAGES);
            run_command(build.current_dir(environment::root()).envs(mpi.variables()))
        });
        let cells = SUITES.map(|suite| match &examples {
            Ok(()) => cell(mpi, suite),
            Err(error) => Cell { broken: Some(format!("{error:#}")), ..Cell::default() },
        });
        rows.push((mpi, cells));
    }
    let page = page(&rows, absent);
    println!("\n{page}");
    if all {
        fs::write(environment::root().join("docs/suites.md"), page)?;
    }
    let wrong = rows.iter().flat_map(|(_, cells)| cells).filter(|cell| !cell.is_right()).count();
    ensure!(wrong == 0, "{wrong} suites failed");
    Ok(())
}

fn cell(mpi: &Mpi, suite: &str) -> Cell {
    let mut cell = Cell::default();
    cell.tally.begin(&mpi.name, "");
    let result = step(&format!("{suite} on {}", mpi.name), || {
        let mut tests = cargo_test(mpi)?;
        tests.args(PACKAGES).args(["--test", suite, "--"]);
        tests.args(tests_left_out(mpi).iter().flat_map(|(_, test, _)| ["--skip", test]));
        run_reading(&mut tests, |line| {
            cell.tally.read(line);
            ControlFlow::Continue(())
        })
    });
    cell.tally.end();
    if let Err(error) = result.as_ref().map_err(|error| format!("{error:#}")) {
        // Failed tests speak for themselves.
        cell.broken = Some(error.clone()).filter(|_| cell.failed().is_empty());
    }
    cell
}

fn page(rows: &[(&Mpi, [Cell; SUITES.len()])], absent: &[String]) -> String {
    let mut page = String::from(
        "# The tests under each MPI\n\n\
         Made by `cargo xtask matrix --suites`: how many tests of each suite passed. The programs and examples \
         are compiled for this MPI. The tools are the builds that serve all MPIs of its ABI. `headers` compares \
         `mpi.h` with the list of functions and constants. `examples` runs the examples and the test programs of \
         rmpi, each on one, two and four ranks. `programs`, `lifecycle`, `boundary` and `bandwidth` are suites of `mpi-tool-layer`, and \
         `stacks` is one of `qmpi-shim`. The tests leave out what an MPI lacks: functions of a newer standard, and \
         what `tests/c` and `rmpi/tests/programs` name with the reason.\n\n",
    );
    let _ = writeln!(page, "| MPI | {} |", SUITES.join(" | "));
    let _ = writeln!(page, "|---|{}", "---|".repeat(SUITES.len()));
    let mut notes = Vec::new();
    for (mpi, cells) in rows {
        let _ = write!(page, "| {} |", mpi.name);
        for (suite, cell) in SUITES.iter().zip(cells) {
            let mut said = vec![format!("{} passed", cell.tally.count().passed)];
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
            for (_, test, reason) in tests_left_out(mpi).iter().filter(|(of, ..)| of == suite) {
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
    page
}

#[cfg(test)]
mod tests {
    use super::Cell;

    #[test]
    fn a_cell_names_what_failed() {
        let mut cell = Cell::default();
        cell.tally.begin("mpich-5.0.2", "");
        for line in ["test ring ... ok", "test spawn ... FAILED", "failures:", "    spawn", ""] {
            cell.tally.read(line);
        }
        cell.tally.read("test result: FAILED. 1 passed; 1 failed; 0 ignored; finished in 0.36s");
        assert_eq!((cell.failed(), cell.tally.count().passed), (vec!["spawn"], 1));
        assert!(!cell.is_right());
        assert!(!Cell::default().is_right(), "nothing ran");
    }
}
