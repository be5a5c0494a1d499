//! What was seen for programs to read: `docs/hangs.md` has the schema. What reads it again takes the ranks, and not the groups.

use anyhow::Result;
use serde_json::{Value, json};

use super::seen::Report;
use super::text::{closing, groups};

/// One object.
pub(super) fn of(report: &Report) -> Result<Value> {
    let mut value = serde_json::to_value(report)?;
    for (at, job) in report.jobs.iter().enumerate() {
        let groups: Vec<Value> = groups(job)
            .iter()
            .map(|group| {
                let ranks: Vec<_> = group.ranks.iter().map(|rank| rank.rank).collect();
                let pids: Vec<_> = group.ranks.iter().map(|rank| rank.pid).collect();
                json!({"ranks": ranks, "pids": pids, "sentence": group.sentence()})
            })
            .collect();
        value["jobs"][at]["groups"] = groups.into();
        value["jobs"][at]["text"] = closing(job).into();
    }
    Ok(value)
}
