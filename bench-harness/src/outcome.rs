//! What experiments share: programs that print their samples, what was not measured, the file of the figures,
//! targets.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Error, Result, bail};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What came out otherwise than it should: it is told at the end, and does not keep the rest from being measured.
#[derive(Debug, Default)]
pub(crate) struct Troubles {
    /// Targets that were measured, and missed.
    pub(crate) missed: Vec<String>,
    /// What was not measured, and why.
    failed: Vec<String>,
}

impl Troubles {
    /// The value, or nothing and a note of why there is none.
    pub(crate) fn note<T>(&mut self, what: &str, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.fail(what, &error)).ok()
    }

    pub(crate) fn fail(&mut self, what: &str, reason: &Error) {
        self.failed.push(format!("{what}: {reason:#}"));
    }

    /// All of them, as the error that ends the experiment.
    ///
    /// # Errors
    /// There are any.
    pub(crate) fn tell(&self) -> Result<()> {
        let mut text = String::new();
        for (what, list) in [("not measured", &self.failed), ("targets missed", &self.missed)] {
            if !list.is_empty() {
                let _ = writeln!(text, "{what}:\n  {}", list.join("\n  "));
            }
        }
        if !text.is_empty() {
            bail!("{}", text.trim_end());
        }
        Ok(())
    }
}

/// A cell of a table: a figure, or that there is none.
pub(crate) fn cell(value: Option<f64>, digits: usize) -> String {
    value.map_or_else(|| "not measured".into(), |value| format!("{value:.digits$}"))
}

/// The instructions that callgrind counted in a program that ran to its good end. One that did not even start
/// has no instructions in what is measured, and zero is a number like any other.
///
/// # Errors
/// The program failed, or callgrind says nothing.
pub(crate) fn collected(command: &mut Command) -> Result<f64> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .context("valgrind does not run; it counts the instructions (Debian: valgrind)")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    succeeded(command, &output)?;
    let count: f64 = errors
        .lines()
        .find_map(|line| line.split_once("Collected : "))
        .and_then(|(_, count)| count.trim().parse().ok())
        .with_context(|| format!("callgrind counted nothing:\n{errors}"))?;
    if count == 0.0 {
        bail!("the program did not come to what is measured:\n{errors}");
    }
    Ok(count)
}

/// # Errors
/// A program that did not succeed, with what it said.
pub(crate) fn succeeded(command: &Command, output: &Output) -> Result<()> {
    if output.status.success() {
        return Ok(());
    }
    let said =
        [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    let said = said.join("\n");
    bail!("{} failed ({}): {}", command.get_program().display(), output.status, said.trim());
}

/// Runs a program on ranks, and reads the lines of JSON that it prints.
///
/// # Errors
/// The program failed, or printed no sample.
pub(crate) fn samples<T: DeserializeOwned>(
    mpiexec: &Path,
    ranks: usize,
    program: &mut Command,
) -> Result<Vec<T>> {
    let output = Command::new(mpiexec)
        .args(["-n", &ranks.to_string()])
        .arg(program.get_program())
        .args(program.get_args())
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("{} does not run", mpiexec.display()))?;
    succeeded(program, &output)?;
    let lines = String::from_utf8(output.stdout)?;
    let samples = lines.lines().filter(|line| line.starts_with('{'));
    let samples =
        samples.map(|line| Ok(serde_json::from_str(line)?)).collect::<Result<Vec<T>>>()?;
    if samples.is_empty() {
        bail!("{} printed no figures:\n{lines}", program.get_program().display());
    }
    Ok(samples)
}

/// Writes the figures.
///
/// # Errors
/// What was not measured, and which targets were missed.
pub(crate) fn finish(
    figures: &impl Serialize,
    output: Option<&Path>,
    troubles: &Troubles,
) -> Result<()> {
    if let Some(path) = output {
        std::fs::write(path, serde_json::to_string_pretty(figures)?)
            .with_context(|| format!("cannot write {}", path.display()))?;
        println!("\nFigures in {}", path.display());
    }
    troubles.tell()?;
    println!("\nAll targets met.");
    Ok(())
}

/// How an experiment ended, for the page: a line of the file that `BENCH_FAILURES` names.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Failure {
    pub(crate) experiment: String,
    pub(crate) reason: String,
}

/// The variable that names the file.
pub(crate) const FAILURES: &str = "BENCH_FAILURES";

/// Writes down why an experiment failed.
pub(crate) fn write_failure(path: &Path, experiment: &str, error: &Error) -> Result<()> {
    let failure = Failure { experiment: experiment.into(), reason: format!("{error:#}") };
    let mut file = std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .with_context(|| format!("cannot write {}", path.display()))?;
    writeln!(file, "{}", serde_json::to_string(&failure)?)?;
    Ok(())
}

/// The failures of a file; none if it is not there.
pub(crate) fn read_failures(path: &Path) -> Result<Vec<Failure>> {
    let Ok(text) = std::fs::read_to_string(path) else { return Ok(Vec::new()) };
    text.lines()
        .map(|line| serde_json::from_str(line).with_context(|| path.display().to_string()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What valgrind says of a program that does not start, and of one that never calls what is measured.
    #[test]
    fn a_program_that_did_not_run_has_no_figure() {
        for (script, wanted) in [
            ("echo '==1== Collected : 0' >&2; exit 127", "failed (exit status: 127)"),
            ("echo '==1== Collected : 1234' >&2; exit 1", "failed (exit status: 1)"),
            ("echo '==1== Collected : 0' >&2", "did not come to what is measured"),
            ("echo nothing >&2", "counted nothing"),
        ] {
            let error = collected(Command::new("sh").args(["-c", script])).unwrap_err();
            assert!(format!("{error:#}").contains(wanted), "{script}: {error:#}");
        }
        let right = collected(Command::new("sh").args(["-c", "echo '==1== Collected : 1234' >&2"]));
        assert_eq!(right.unwrap(), 1234.0);
        assert_eq!((cell(None, 1), cell(Some(0.04), 1)), ("not measured".into(), "0.0".into()));
    }

    #[test]
    fn programs_without_figures_are_an_error() {
        // In place of a launcher.
        let run = |script: &str| {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("launcher");
            std::fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
            let mut sh = Command::new("sh");
            assert!(sh.args(["-c", "chmod +x \"$0\""]).arg(&file).status().unwrap().success());
            samples::<serde_json::Value>(&file, 2, &mut Command::new("program"))
        };
        assert!(run("exit 127").unwrap_err().to_string().contains("exit status: 127"));
        assert!(run("echo hello").unwrap_err().to_string().contains("printed no figures"));
        assert_eq!(run("echo '{\"a\": 1}'").unwrap().len(), 1);
    }

    #[test]
    fn troubles_are_told_together() {
        let mut troubles = Troubles::default();
        assert!(troubles.tell().is_ok());
        assert_eq!(troubles.note("a", Ok(1)), Some(1));
        assert_eq!(troubles.note::<u32>("b", Err(anyhow::anyhow!("no b"))), None);
        troubles.missed.push("c: 3 of 2".into());
        let told = troubles.tell().unwrap_err().to_string();
        assert_eq!(told, "not measured:\n  b: no b\ntargets missed:\n  c: 3 of 2");
    }

    #[test]
    fn failures_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("failures.jsonl");
        assert_eq!(read_failures(&path).unwrap(), []);
        for reason in ["one\ntwo", "three"] {
            write_failure(&path, "library", &anyhow::anyhow!(reason)).unwrap();
        }
        let failures = read_failures(&path).unwrap();
        assert_eq!(failures.len(), 2);
        assert_eq!((&*failures[0].experiment, &*failures[0].reason), ("library", "one\ntwo"));
    }
}
