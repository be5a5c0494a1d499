//! What changed, by git.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::environment;
use crate::step::output;

fn git(arguments: &[&str]) -> Result<String> {
    output(Command::new("git").current_dir(environment::root()).args(arguments))
}

/// The files that differ from a commit, committed or not.
pub(super) fn files_since(commit: &str) -> Result<BTreeSet<String>> {
    let changed = git(&["diff", "--name-only", commit])?;
    let new = git(&["ls-files", "--others", "--exclude-standard"])?;
    Ok(changed.lines().chain(new.lines()).map(str::to_owned).collect())
}

/// The files that the last commits have changed: a commit, and those of the six hours before it. Nothing in a history that
/// is not there.
pub(super) fn files_of_last_commits(commit: &str) -> Result<BTreeSet<String>> {
    let when = git(&["log", "-1", "--format=%ct", commit])?;
    let when: u64 = when.trim().parse().context("the last commit has a time")?;
    let before = (when - 6 * 3600).to_string();
    let last = git(&["rev-list", "-1", &format!("--before={before}"), commit])?;
    if last.trim().is_empty() {
        return Ok(BTreeSet::new());
    }
    let changed = git(&["diff", "--name-only", last.trim(), commit])?;
    Ok(changed.lines().map(str::to_owned).collect())
}

/// A commit and those before it, with their times, newest first.
pub(super) fn commits(commit: &str) -> Result<Vec<(String, u64)>> {
    let log = git(&["log", "--format=%H %ct", "-n", "300", commit])?;
    let commits = log.lines().filter_map(|line| {
        let (hash, when) = line.split_once(' ')?;
        Some((hash.to_owned(), when.parse().ok()?))
    });
    Ok(commits.collect())
}
