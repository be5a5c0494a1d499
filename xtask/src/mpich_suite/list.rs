//! The lists of the suite: which program runs how often, and how.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

/// When the suite says that a program has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expected {
    /// It ends well, and prints "No Errors" and nothing else.
    NoErrors,
    /// It prints "No Errors" and nothing else, however it ends.
    NoErrorsAnyEnd,
    /// It does not end well.
    BadEnd,
}

/// A line of a list.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Test {
    /// The row of the table that it counts in: the folder, and the list if it is not the folder's first.
    pub(super) list: String,
    /// The folder of the program, such as `threads/pt2pt`.
    pub(super) folder: String,
    pub(super) program: String,
    pub(super) ranks: u32,
    pub(super) arguments: Vec<String>,
    pub(super) variables: Vec<(String, String)>,
    /// Options of the launcher.
    pub(super) launcher: Vec<String>,
    pub(super) limit: Option<Duration>,
    pub(super) expected: Expected,
    /// The gigabytes of memory that it needs.
    memory: f32,
}

impl Test {
    /// Whether it is in a folder of the suite, or in a list of one.
    pub(super) fn is_in(&self, name: &str) -> bool {
        self.list == name || self.list.split('.').next() == Some(name)
    }

    /// What tells it from all others, and what people see of it.
    pub(super) fn name(&self) -> String {
        let mut name = format!("{}/{} on {}", self.folder, self.program, self.ranks);
        for word in &self.arguments {
            name.push_str(&format!(" {word}"));
        }
        for (variable, value) in &self.variables {
            name.push_str(&format!(" {variable}={value}"));
        }
        name
    }
}

/// What a line of a list says.
#[derive(Debug, PartialEq)]
enum Line {
    Folder(String),
    Test(Test),
}

/// Reads a line, whose first word may name a folder in `is_folder`'s eyes.
///
/// # Errors
/// The line has a word that no list of the suite is known to have.
fn line(text: &str, folder: &str, is_folder: impl Fn(&str) -> bool) -> Result<Option<Line>> {
    let text = text.split('#').next().unwrap_or_default();
    let mut words = text.split_whitespace();
    let Some(program) = words.next() else { return Ok(None) };
    if is_folder(program) {
        return Ok(Some(Line::Folder(program.into())));
    }
    let mut test = Test {
        list: String::new(),
        folder: folder.into(),
        program: program.into(),
        ranks: 2,
        arguments: Vec::new(),
        variables: Vec::new(),
        launcher: Vec::new(),
        limit: None,
        expected: Expected::NoErrors,
        memory: 0.0,
    };
    if let Some(ranks) = words.next() {
        test.ranks = ranks.parse().with_context(|| format!("{ranks}: not a number of ranks"))?;
    }
    for word in words {
        // The lists have such words by mistake; the suite's own script does not see them either.
        let Some((key, value)) = word.split_once('=') else { continue };
        match key {
            "arg" => test.arguments.push(value.into()),
            "mpiexecarg" => test.launcher.push(value.into()),
            "env" => {
                let (name, value) = value.split_once('=').with_context(|| word.to_owned())?;
                test.variables.push((name.into(), value.into()));
            }
            "timeLimit" => {
                let seconds = value.parse().context("timeLimit")?;
                test.limit = Some(Duration::from_secs(seconds));
            }
            "mem" => test.memory = value.parse().context("mem")?,
            "resultTest" => {
                test.expected = match value {
                    "TestStatus" | "TestErrFatal" => Expected::BadEnd,
                    "TestStatusNoErrors" => Expected::NoErrorsAnyEnd,
                    _ => bail!("{value}: no known way to tell whether a test has passed"),
                }
            }
            // All tests run, also those that are known to fail; and MPICH is new enough, and not only MPI.
            "xfail" | "strict" | "mpix" | "mpiversion" | "lock" => {}
            _ => bail!("{word}: not known"),
        }
    }
    Ok(Some(Line::Test(test)))
}

/// The folders of programs in C, in the order in which they run: what is short comes first.
pub(super) const FOLDERS: [&str; 17] = [
    "attr", "comm", "group", "info", "init", "topo", "datatype", "errhan", "mpi_t", "pt2pt",
    "coll", "errors", "part", "threads", "spawn", "io", "rma",
];

/// The lists in a folder, and what the table has for them behind the folder's name: the usual one, and what `configure`
/// makes of it, for datatypes and for the algorithms of collective operations.
const LISTS: [(&str, &str); 3] =
    [("testlist", ""), ("testlist.dtp", ".dtp"), ("testlist.cvar", ".cvar")];

/// What needs more memory does not run.
pub(super) const GIGABYTES: f32 = 4.0;

/// The tests, and how many there are besides that need too much memory.
pub(super) fn read(suite: &Path, max_ranks: u32) -> Result<(Vec<Test>, usize)> {
    let mut tests = Vec::new();
    for (list, suffix) in LISTS {
        for folder in FOLDERS {
            let first = tests.len();
            read_folder(suite, folder, list, &mut tests)?;
            for test in &mut tests[first..] {
                test.list = format!("{folder}{suffix}");
                test.ranks = test.ranks.min(max_ranks);
            }
        }
    }
    let all = tests.len();
    tests.retain(|test| test.memory <= GIGABYTES);
    let too_large = all - tests.len();
    // Two lines may be the same once their ranks are limited.
    let mut known = std::collections::HashSet::new();
    tests.retain(|test| known.insert(test.name()));
    Ok((tests, too_large))
}

fn read_folder(suite: &Path, folder: &str, list: &str, tests: &mut Vec<Test>) -> Result<()> {
    let here = suite.join(folder);
    let file = here.join(list);
    if !file.exists() {
        return Ok(());
    }
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    for text in text.lines() {
        let read = line(text, folder, |name| here.join(name).is_dir());
        match read.with_context(|| format!("{}: {text}", file.display()))? {
            Some(Line::Folder(name)) => {
                read_folder(suite, &format!("{folder}/{name}"), list, tests)?;
            }
            Some(Line::Test(test)) => tests.push(test),
            None => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(text: &str) -> Test {
        match line(text, "coll", |name| name == "pt2pt").unwrap() {
            Some(Line::Test(test)) => test,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_line_has_a_program_ranks_and_settings() {
        let test = test(
            "allred 7 arg=-counts=10,100 arg=-x timeLimit=600 env=MPIR_CVAR_A=B=C \
             mpiexecarg=-disable-auto-cleanup strict=false xfail=ticket1 xfail=ticket2 # slow",
        );
        assert_eq!((test.program.as_str(), test.ranks), ("allred", 7));
        assert_eq!(test.arguments, ["-counts=10,100", "-x"]);
        assert_eq!(test.variables, [("MPIR_CVAR_A".to_owned(), "B=C".to_owned())]);
        assert_eq!(test.launcher, ["-disable-auto-cleanup"]);
        assert_eq!(test.limit, Some(Duration::from_secs(600)));
        assert_eq!(test.expected, Expected::NoErrors);
        assert_eq!(test.name(), "coll/allred on 7 -counts=10,100 -x MPIR_CVAR_A=B=C");
    }

    #[test]
    fn two_ranks_are_usual() {
        assert_eq!(test("  sendself").ranks, 2);
    }

    #[test]
    fn a_word_that_sets_nothing_is_passed_over() {
        assert_eq!(test("sendself 1 test/mpi/pt2pt/sendself arg=-x").arguments, ["-x"]);
    }

    #[test]
    fn what_must_fail_is_known() {
        assert_eq!(test("exitst1 2 resultTest=TestStatus").expected, Expected::BadEnd);
        assert_eq!(test("errfatal 1 resultTest=TestErrFatal").expected, Expected::BadEnd);
        let any = test("senddead 2 resultTest=TestStatusNoErrors");
        assert_eq!(any.expected, Expected::NoErrorsAnyEnd);
    }

    #[test]
    fn memory_is_a_fraction() {
        assert_eq!(test("bigtype 1 mem=6.5").memory, 6.5);
    }

    #[test]
    fn comments_and_folders_are_no_tests() {
        let read = |text| line(text, "errors", |name| name == "pt2pt").unwrap();
        assert_eq!(read("# allred 4"), None);
        assert_eq!(read("  "), None);
        assert_eq!(read("#"), None);
        assert_eq!(read("pt2pt"), Some(Line::Folder("pt2pt".into())));
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in ["a 2 new=1", "a two", "a 2 resultTest=Other", "a 2 env=X", "a 2 mem=x"] {
            assert!(line(text, "coll", |_| false).is_err(), "{text}");
        }
    }
}
