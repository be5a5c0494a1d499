//! Running a program of the suite, and what became of it.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::list::{Expected, Test};
use crate::environment::Mpi;
use crate::{surroundings, tools};

/// A way to run programs: with which variables.
pub(super) struct Way {
    /// What results call it.
    pub(super) name: &'static str,
    variables: Vec<(&'static str, String)>,
    /// The files of the tools.
    pub(super) files: Vec<PathBuf>,
}

impl Way {
    /// Without tools, with all tools preloaded that change nothing, and in a stack of them.
    pub(super) fn all(tools: &Path) -> Result<Vec<Self>> {
        let mut packages = tools::tool_packages()?;
        packages.retain(|package| !NOT_STACKED.contains(&&**package));
        packages.sort();
        let files: Vec<_> = packages
            .iter()
            .map(|package| tools.join(format!("lib{}.so", package.replace('-', "_"))))
            .collect();
        let stack = tools.join("libqmpi.so");
        let names: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
        let preloaded = vec![("LD_PRELOAD", names.join(" "))];
        let stacked = vec![("LD_PRELOAD", stack.display().to_string()), ("TOOLS", names.join(":"))];
        Ok(vec![
            Self { name: "plain", variables: Vec::new(), files: Vec::new() },
            Self { name: "preloaded", variables: preloaded, files: files.clone() },
            Self { name: "stack", variables: stacked, files: [files, vec![stack]].concat() },
        ])
    }

    /// Without tools, and with mpi-check alone, whose findings are read.
    pub(super) fn checked(tools: &Path) -> Vec<Self> {
        let checker = tools.join("libmpi_check.so");
        let variables =
            vec![("LD_PRELOAD", checker.display().to_string()), ("MPI_TOOL_FORMAT", "json".into())];
        vec![
            Self { name: "plain", variables: Vec::new(), files: Vec::new() },
            Self { name: "checked", variables, files: vec![checker] },
        ]
    }

    fn has_tools(&self) -> bool {
        !self.files.is_empty()
    }
}

/// Packages that are not among the tools of a stack: the stack's own library, and tools that change on purpose what a
/// program does, so that tests which ask how MPI completes a send would fail by right.
const NOT_STACKED: [&str; 3] = ["qmpi-shim", "mpi-strict", "mpi-perturb"];

/// With tools, a program may take so many times its limit: some call `MPI_Type_size` a hundred million times a second.
const MORE_WITH_TOOLS: u32 = 10;

/// How a program ends that takes too long.
const TIME_LIMIT: &str = "time limit";

/// How one ends that the compiler has refused.
const NOT_BUILT: &str = "not built";

/// What became of a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Outcome {
    /// `passed`, or how it ended.
    pub(super) end: String,
    /// What it said, if it has not passed: its lines, sorted, once each, without numbers.
    pub(super) said: Vec<String>,
    /// Whether the tools have left reports.
    pub(super) reports: bool,
    /// Lines on standard error, of which the suite says nothing.
    pub(super) complaints: Vec<String>,
    /// What mpi-check has found, if its report can be read.
    pub(super) findings: Vec<Finding>,
}

/// What mpi-check has said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Finding {
    pub(super) class: String,
    /// The place, as it is in the report: file and line, and function.
    pub(super) site: String,
    pub(super) message: String,
}

/// The findings of the reports in a folder; other reports have none.
fn findings(reports: &Path) -> Result<Vec<Finding>> {
    #[derive(Deserialize)]
    struct Report {
        findings: Vec<Finding>,
    }
    let mut all = Vec::new();
    for entry in fs::read_dir(reports)? {
        let text = fs::read(entry?.path())?;
        // A program that spawns others leaves several reports, one behind the other.
        let reports = serde_json::Deserializer::from_slice(&text).into_iter::<Report>();
        all.extend(reports.map_while(Result::ok).flat_map(|report| report.findings));
    }
    Ok(all)
}

impl Outcome {
    pub(super) fn passed(&self) -> bool {
        self.end == "passed"
    }

    pub(super) fn is_built(&self) -> bool {
        self.end != NOT_BUILT
    }

    /// Whether the program was not there, or had no time to come to a result.
    pub(super) fn has_no_result(&self) -> bool {
        !self.is_built() || self.end == TIME_LIMIT
    }

    /// Whether the suite would say the same of both.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.end == other.end && self.said == other.said
    }

    fn not_built() -> Self {
        let end = NOT_BUILT.into();
        Self { end, said: Vec::new(), reports: false, complaints: Vec::new(), findings: Vec::new() }
    }
}

/// Runs one program after the other.
pub(super) struct Runner<'s> {
    mpi: &'s Mpi,
    suite: &'s Path,
    /// Where the programs run and write.
    scratch: PathBuf,
    home: Vec<(&'static str, PathBuf)>,
    seconds: u64,
    /// The value of a variable that tells our processes from others.
    mark: String,
    /// Which test runs, and how long it took without tools.
    without_tools: (String, Duration),
}

/// The variable whose value tells our processes from others.
const MARK: &str = "XTASK_MPICH_SUITE";

impl<'s> Runner<'s> {
    pub(super) fn new(
        mpi: &'s Mpi,
        suite: &'s Path,
        folder: &Path,
        number: usize,
        seconds: u64,
    ) -> Result<Self> {
        Ok(Self {
            mpi,
            suite,
            scratch: folder.join(format!("scratch/{number}")),
            home: surroundings::own_home()?,
            seconds,
            mark: format!("{}.{number}", std::process::id()),
            without_tools: (String::new(), Duration::ZERO),
        })
    }

    /// A folder for a program that has nothing in it but links to the programs that the suite has beside it.
    fn make_room(&self, test: &Test) -> Result<PathBuf> {
        if self.scratch.exists() {
            fs::remove_dir_all(&self.scratch).context("the last program's folder")?;
        }
        let here = self.scratch.join(&test.folder);
        fs::create_dir_all(&here)?;
        for entry in fs::read_dir(self.suite.join(&test.folder))? {
            let entry = entry?;
            let data = entry.metadata()?;
            if data.is_file() && data.permissions().mode() & 0o111 != 0 {
                symlink(entry.path(), here.join(entry.file_name()))?;
            }
        }
        Ok(here)
    }

    pub(super) fn run(&mut self, test: &Test, way: &Way) -> Result<Outcome> {
        let here = self.make_room(test)?;
        if !here.join(&test.program).exists() {
            return Ok(Outcome::not_built());
        }
        let own = test.limit.unwrap_or(Duration::from_secs(180));
        let mut limit = own.min(Duration::from_secs(self.seconds));
        let name = test.name();
        // A program that ends in time without tools may take longer with tools on a busy machine.
        if way.has_tools() && self.without_tools.0 == name && self.without_tools.1 < limit {
            limit *= MORE_WITH_TOOLS;
        }
        let reports = self.scratch.join("tool-reports");
        let (output, errors) = (self.scratch.join("stdout"), self.scratch.join("stderr"));
        let mut mpiexec = Command::new(&self.mpi.mpiexec);
        mpiexec
            .args(["-n", &test.ranks.to_string()])
            .args(&test.launcher)
            .arg(format!("./{}", test.program))
            .args(&test.arguments)
            .current_dir(&here)
            .envs(self.mpi.variables())
            .envs(self.home.iter().cloned())
            // More ranks than processors: who waits sleeps, which takes a fraction of the time.
            .env("MPIR_CVAR_ENABLE_HEAVY_YIELD", "1")
            .envs(test.variables.iter().cloned())
            .envs(way.variables.iter().cloned())
            .env("MPIEXEC_TIMEOUT", limit.as_secs().to_string())
            .env("MPI_TOOL_OUTPUT", reports.join("%t"))
            .env(MARK, &self.mark)
            // Input that does not end, as at a terminal.
            .stdin(Stdio::piped())
            .stdout(File::create(&output)?)
            .stderr(File::create(&errors)?);
        fs::create_dir_all(&reports)?;
        let start = Instant::now();
        let mut child = mpiexec.spawn().context("cannot run mpiexec")?;
        let input = child.stdin.take();
        let mut pause = Duration::from_millis(5);
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            // The launcher ends the program at its limit, unless it hangs itself.
            if start.elapsed() > limit + Duration::from_secs(10) {
                child.kill()?;
                child.wait()?;
                break None;
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(100));
        };
        drop(input);
        self.end_processes()?;
        let took = start.elapsed();
        if !way.has_tools() {
            self.without_tools = (name, took);
        }
        let read =
            |file: &Path| fs::read(file).map(|text| String::from_utf8_lossy(&text).into_owned());
        let (output, errors) = (read(&output)?, read(&errors)?);
        let end = match status {
            Some(_) if took >= limit => TIME_LIMIT.to_owned(),
            None => TIME_LIMIT.to_owned(),
            Some(status) => ending(status.success(), &output),
        };
        Ok(Outcome {
            reports: fs::read_dir(&reports)?.next().is_some(),
            complaints: lines(&errors),
            findings: findings(&reports)?,
            ..outcome(test.expected, end, &output)
        })
    }

    /// Ends what a program has left behind: processes that have our mark in their environment.
    fn end_processes(&self) -> Result<()> {
        let mark = format!("{MARK}={}", self.mark);
        for entry in fs::read_dir("/proc")? {
            let process = entry?.path();
            // Others end meanwhile, or are not ours to read.
            let Ok(environment) = fs::read(process.join("environ")) else { continue };
            if environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes()) {
                let id = process.file_name().unwrap_or_default();
                // It may just have ended.
                let _ = Command::new("kill").arg("-9").arg(id).stderr(Stdio::null()).status();
            }
        }
        Ok(())
    }
}

/// How a program has ended that the launcher speaks of.
fn ending(success: bool, output: &str) -> String {
    if success {
        return "success".into();
    }
    // Signals that the launcher itself sends to the other ranks say nothing of the program.
    let mut signals = output.lines().filter_map(|line| {
        let (_, signal) = line.split_once("APPLICATION TERMINATED WITH THE EXIT STRING: ")?;
        let number = signal.rsplit_once("(signal ")?.1.trim_end_matches(')');
        (!["9", "15"].contains(&number)).then_some(number)
    });
    signals.next_back().map_or("failure".into(), |number| format!("signal {number}"))
}

/// What the suite says of a program.
fn outcome(expected: Expected, end: String, output: &str) -> Outcome {
    let spoken = || output.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_verdict = |line: &str| line.eq_ignore_ascii_case("no errors") || line == "Test Passed";
    let found_none = |mut lines: Box<dyn Iterator<Item = &str> + '_>| {
        let first = lines.next().is_some_and(is_verdict);
        first && lines.all(is_verdict)
    };
    let passed = match expected {
        Expected::NoErrors => end == "success" && found_none(Box::new(spoken())),
        Expected::NoErrorsAnyEnd => {
            end != TIME_LIMIT && found_none(Box::new(spoken().filter(|line| !is_launcher(line))))
        }
        Expected::BadEnd => end != "success",
    };
    let (end, said) = match passed {
        // It may fail in one way without tools, and in another one with tools.
        true if expected == Expected::BadEnd => ("passed".to_owned(), vec![end]),
        true => ("passed".to_owned(), Vec::new()),
        // How far it has come by then is a matter of chance.
        false if end == TIME_LIMIT => (end, Vec::new()),
        false => (end, lines(output)),
    };
    Outcome { end, said, reports: false, complaints: Vec::new(), findings: Vec::new() }
}

/// Whether the launcher says this, of a program that has failed.
fn is_launcher(line: &str) -> bool {
    line.starts_with('=')
        || line.starts_with("YOUR APPLICATION TERMINATED WITH")
        || line.starts_with("This typically refers to a problem with your application")
        || line.starts_with("Please see the FAQ page for debugging")
}

/// What a program has said, in which order and how often ranks ever did: without numbers, which may be process ids,
/// addresses and times.
fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<_> = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !is_launcher(line))
        .map(without_numbers)
        .collect();
    lines.sort();
    lines.dedup();
    // Enough to see what it is about.
    lines.truncate(50);
    lines
}

fn without_numbers(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let is_part: fn(char) -> bool = match rest.strip_prefix("0x") {
            Some(_) => |letter| letter.is_ascii_hexdigit() || letter == 'x',
            None => |letter| letter.is_ascii_digit(),
        };
        if first.is_ascii_digit() {
            text.push('#');
            rest = rest.trim_start_matches(is_part);
        } else {
            text.push(first);
            rest = &rest[first.len_utf8()..];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(expected: Expected, end: &str, output: &str) -> String {
        outcome(expected, end.into(), output).end
    }

    #[test]
    fn a_test_passes_that_says_so_and_nothing_else() {
        let of = |end_, output| end(Expected::NoErrors, end_, output);
        assert_eq!(of("success", " No Errors\n"), "passed");
        assert_eq!(of("success", " No errors\n"), "passed");
        assert_eq!(of("success", ""), "success");
        assert_eq!(of("success", "warning\n No Errors\n"), "success");
        assert_eq!(of("failure", " No Errors\n"), "failure");
        assert_eq!(of("time limit", " No Errors\n"), "time limit");
    }

    #[test]
    fn a_test_that_must_fail_passes_when_it_does() {
        let launcher = "\n====\n=   BAD TERMINATION OF ONE\n====\n";
        assert_eq!(end(Expected::BadEnd, "failure", ""), "passed");
        assert_eq!(end(Expected::BadEnd, "success", " No Errors\n"), "success");
        let of = |end: &str| outcome(Expected::BadEnd, end.into(), "");
        assert!(of("failure").passed() && of("signal 11").passed());
        assert!(!of("failure").is_like(&of("signal 11")));
        let any = |output: &str| end(Expected::NoErrorsAnyEnd, "failure", output);
        assert_eq!(any(&format!(" No Errors\n{launcher}")), "passed");
        assert_eq!(any(launcher), "failure");
    }

    #[test]
    fn a_crash_is_told_from_what_the_launcher_does() {
        let killed = |name| format!("YOUR APPLICATION TERMINATED WITH THE EXIT STRING: {name}\n");
        assert_eq!(ending(true, ""), "success");
        assert_eq!(ending(false, ""), "failure");
        assert_eq!(ending(false, &killed("Segmentation fault (signal 11)")), "signal 11");
        assert_eq!(ending(false, &killed("Killed (signal 9)")), "failure");
    }

    #[test]
    fn numbers_and_the_order_of_ranks_are_left_out() {
        let one = "[1] pid 4711 at 0x7ffeab12, 1.25 s\nFound 3 errors\n";
        let other = "Found 12 errors\n[0] pid 99 at 0x55d0, 0.5 s\n\n====\n";
        assert_eq!(lines(one), lines(other));
        assert_eq!(lines(one), ["Found # errors", "[#] pid # at #, #.# s"]);
        assert_ne!(lines(one), lines("Found 3 faults\n"));
    }
}
