//! Report files: what a tool has written in JSON, or a page that `mpi-tool report -o page.html` has made of it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::{Table, html, matrix, partial, segments, timeline, wait};
use crate::out::errln;

/// A report that was read.
#[derive(Debug)]
pub(super) struct Run {
    /// The file, as messages name it.
    pub(super) name: String,
    /// All of the report, with estimates of waiting where that was not measured.
    pub(super) value: Value,
    pub(super) table: Table,
}

/// How many bytes a report file may have: more is no report that a tool writes.
const MOST_BYTES: u64 = 1 << 31;

impl Run {
    /// Reads a report, from a file or from the folder of a run. If it is not there, but the ranks' own reports are, these are
    /// added up.
    ///
    /// # Errors
    /// The file cannot be read, is no report, or contradicts itself.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let (name, value) = json(path)?;
        Self::of(name, value)
    }

    /// How many ranks the report is of.
    pub(super) fn ranks(&self) -> f64 {
        if self.table.complete {
            return self.table.ranks.unwrap_or(1).max(1) as f64;
        }
        // Of ranks' own reports: as many as there are.
        let [sum, mean] = ["sum", "mean"].map(|it| self.value["wall"][it].as_f64().unwrap_or(0.0));
        if mean > 0.0 { (sum / mean).round().max(1.0) } else { 1.0 }
    }

    /// Makes a report of JSON.
    pub(super) fn of(name: String, mut value: Value) -> Result<Self> {
        match value["schema"].as_str() {
            Some("mpi-tool-report/2") => {}
            Some("mpi-tool-check/1") => {
                bail!(
                    "{name} has findings of mpi-check, and no table to print: --to sarif writes them"
                )
            }
            Some(super::samples::SCHEMA) => {
                bail!(
                    "{name} has samples of mpi-tool top: `mpi-tool report {name}` prints them, alone"
                )
            }
            Some(other) => {
                bail!("{name} is a report of schema {other}, which has no table to print")
            }
            None => bail!("{name} is no report of a tool"),
        }
        let is_broken = || format!("{name} is not as a report should be");
        wait::estimate(&mut value);
        let table: Table = serde_json::from_value(value.clone()).with_context(is_broken)?;
        matrix::check(&table).with_context(is_broken)?;
        timeline::check(&table).with_context(is_broken)?;
        segments::check(&table).with_context(is_broken)?;
        Ok(Self { name, value, table })
    }
}

/// The JSON of a report, from a file or from the folder of a run, with the file's name as messages have it. If it is not there,
/// but the ranks' own reports are, these are added up.
///
/// # Errors
/// The file cannot be read, or is not JSON.
pub(super) fn json(path: &Path) -> Result<(String, Value)> {
    let found;
    let path = if path.is_dir() {
        found = in_folder(path)?;
        &found
    } else {
        path
    };
    let name = path.display().to_string();
    if !path.exists() {
        let files = partial::files(path);
        if !files.is_empty() {
            return Ok((name, partial::merged(&files)?));
        }
    }
    say_if_older(path);
    let size = fs::metadata(path).with_context(|| name.clone())?.len();
    if size > MOST_BYTES {
        bail!("{name} has {size} bytes, which is too much for a report");
    }
    let text = fs::read_to_string(path).with_context(|| name.clone())?;
    let json = html::data(&text).unwrap_or(&text);
    let value =
        serde_json::from_str(json).with_context(|| format!("{name} is no report in JSON"))?;
    Ok((name, value))
}

/// Says that a later run has written to the same file, and has left reports of its ranks only: it was ended before its ranks'
/// reports could be merged.
fn say_if_older(path: &Path) {
    let written = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let Some(own) = written(path) else { return };
    let newer = partial::files(path).into_iter().find(|file| written(file) > Some(own));
    if let Some(newer) = newer {
        errln!(
            "mpi-tool: {} is of an earlier run than {} beside it: the later one has left reports of single ranks only; to see those, \
             move the earlier report away",
            path.display(),
            newer.display()
        );
    }
}

/// The report in the folder of a run: the only one with a table there that is of all ranks.
fn in_folder(folder: &Path) -> Result<PathBuf> {
    let name = folder.display();
    let entries = fs::read_dir(folder).with_context(|| name.to_string())?;
    let mut reports = Vec::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        let text = if is_json { fs::read_to_string(&path).ok() } else { None };
        let value: Option<Value> = text.and_then(|text| serde_json::from_str(&text).ok());
        if value.is_some_and(|value| {
            value["schema"] == "mpi-tool-report/2" && value["complete"] == true
        }) {
            reports.push(path);
        }
    }
    match &reports[..] {
        [report] => Ok(report.clone()),
        [] => bail!(
            "{name} is a folder without a report of all ranks in JSON: name the report itself"
        ),
        [..] => bail!("{name} is a folder with {} reports: name one of them", reports.len()),
    }
}
