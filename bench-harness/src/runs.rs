//! The file of runs: a line for each, to which an interrupted measurement adds.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use crate::programs::Experiment;

/// A run, as a line of the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) schema: u32,
    pub(crate) experiment: Experiment,
    pub(crate) program: String,
    pub(crate) ranks: usize,
    pub(crate) variant: String,
    /// What tells it how much to do.
    pub(crate) arguments: String,
    /// Of a stack; otherwise none.
    pub(crate) levels: Option<usize>,
    pub(crate) round: usize,
    /// What the program says that it took: seconds, or microseconds of a message.
    pub(crate) time: f64,
    /// From the launcher's start to its end, in seconds.
    pub(crate) wall: f64,
    /// The most memory of a process in MiB, where that was measured.
    pub(crate) memory: Option<f64>,
    /// Parts of the time: seconds by MPI function, over all ranks, or microseconds by message size.
    pub(crate) parts: Vec<(String, f64)>,
}

pub(crate) const SCHEMA: u32 = 2;

/// What tells a run from the others.
pub(crate) fn key(sample: &Sample) -> String {
    let Sample { experiment, program, ranks, variant, arguments, levels, round, .. } = sample;
    format!("{experiment:?} {program} {ranks} {variant} {arguments} {levels:?} {round}")
}

/// The runs of a file; none if it is not there.
pub(crate) fn read(path: &Path) -> Result<Vec<Sample>> {
    let Ok(text) = fs::read_to_string(path) else { return Ok(Vec::new()) };
    let mut samples = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let place = || format!("{}, line {}", path.display(), number + 1);
        let value: serde_json::Value = serde_json::from_str(line).with_context(place)?;
        if value["schema"] != SCHEMA {
            bail!(
                "{}: schema {}, which this program does not know: remove the file, or give another",
                place(),
                value["schema"]
            );
        }
        samples.push(serde_json::from_value(value).with_context(place)?);
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of an earlier version is refused, and says what to do.
    #[test]
    fn schemas_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        fs::write(&path, "{\"schema\": 1}\n").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("line 1: schema 1") && error.contains("remove"), "{error}");
    }
}
