//! What the report of a profile says of the trace of the same run: by what its time is lost, how much of each function's time is
//! waiting, and for whom.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Result, bail};
use mpi_facts::FunctionId;

use super::messages::Messages;
use super::path::Idle;
use super::read::{self, Process, Trace};
use super::waits::WaitKind;
use super::{Found, causes, text, whole};
use crate::out::errln;
use crate::report::symbols::Frame;

/// So many functions, and so many parts of the critical path.
const LINES: usize = 5;

/// Of a run folder, whose trace is of the report's run. `frames`: the functions of the report's call sites.
pub(crate) fn of(folder: &Path, ranks: Option<u64>, frames: &[Vec<Frame>]) -> Result<String> {
    let (trace, messages) = super::read(&[folder.to_owned()])?;
    let first = trace.processes.iter().find(|process| process.world == 0);
    let size = first.and_then(|process| process.size).map(u64::from);
    if let (Some(size), Some(ranks)) = (size, ranks.filter(|ranks| Some(*ranks) != size)) {
        bail!(
            "{}: the trace is of {size} ranks, and the report of {ranks}: they are not of one run",
            folder.display()
        );
    }
    if !share_functions(&trace, frames) {
        bail!(
            "{}: the trace is of {}, and no function that calls MPI there does so in the report: they are not of one run",
            folder.display(),
            first.map_or("a program", |process| &process.program)
        );
    }
    Ok(written(&trace, &messages, folder))
}

/// Is there a function that calls MPI in both? So it is taken to be if nothing is known of one.
fn share_functions(trace: &Trace, frames: &[Vec<Frame>]) -> bool {
    let functions =
        trace.processes.iter().flat_map(Process::functions_of_sites).collect::<BTreeSet<_>>();
    let mut of_report = frames.iter().flatten().filter_map(|frame| frame.function.as_deref());
    let Some(first) = of_report.next() else { return true };
    functions.is_empty() || functions.contains(first) || of_report.any(|it| functions.contains(it))
}

/// Of the trace in a report's own folder, if one is there with as many ranks. `frames` looks the functions of the report's call sites
/// up, which is done only then.
pub(crate) fn beside(
    report: &Path,
    ranks: Option<u64>,
    frames: impl FnOnce() -> Vec<Vec<Frame>>,
) -> Option<String> {
    let folder = match report.parent() {
        _ if report.is_dir() => report,
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    if !read::has_trace(folder) {
        return None;
    }
    match super::read(&[folder.to_owned()]) {
        Ok((trace, messages)) => {
            let is_the_same =
                ranks == Some(trace.processes.len() as u64) && share_functions(&trace, &frames());
            is_the_same.then(|| written(&trace, &messages, folder))
        }
        Err(error) => {
            // Nobody has asked for it.
            errln!("mpi-tool: {error:#}; the report is without it");
            None
        }
    }
}

fn written(trace: &Trace, messages: &Messages, folder: &Path) -> String {
    let found = Found::of(trace, messages);
    let Found { waits, causes, .. } = &found;
    let idle = Idle::of(trace, waits);
    let mpi: i64 = idle.iter().map(|one| one.mpi).sum();
    let waiting: i64 = waits.iter().map(|wait| wait.time).sum();
    let mut text = String::new();
    for warning in whole::warnings(trace) {
        let _ = writeln!(text, "{}: {warning}", folder.display());
    }
    let _ = writeln!(
        text,
        "by the trace in {}, ranks wait for others in {} of {} in MPI",
        folder.display(),
        text::seconds(waiting),
        text::seconds(mpi),
    );
    text.push_str(&text::efficiencies(trace, &found));
    text.push_str(&causes::text(trace, causes, LINES));
    // By function and kind: how long, and of whom most is waited for.
    let mut groups: BTreeMap<(FunctionId, WaitKind), (i64, BTreeMap<usize, i64>)> = BTreeMap::new();
    for wait in waits {
        let function = wait.call.of(trace).function;
        let (sum, culprits) = groups.entry((function, wait.kind)).or_default();
        *sum += wait.time;
        *culprits.entry(wait.culprit).or_default() += wait.time;
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(key, (sum, _))| (core::cmp::Reverse(*sum), *key));
    for ((function, kind), (sum, culprits)) in groups.iter().take(LINES) {
        let Some((culprit, most)) = culprits.iter().max_by_key(|(_, time)| **time) else {
            continue;
        };
        let _ = writeln!(
            text,
            "{:>12}  {:<13}  {function}, {:.0} % of it for {}",
            text::seconds(*sum),
            kind.name(),
            *most as f64 * 100.0 / (*sum).max(1) as f64,
            text::name(trace, *culprit),
        );
    }
    if groups.len() > LINES {
        let _ = writeln!(text, "… all: mpi-tool trace {}", folder.display());
    }
    text.push_str(&text::critical_path(trace, &found, LINES));
    text
}

#[cfg(test)]
mod tests {
    use mpi_facts::FunctionId::{MPI_Barrier, MPI_Finalize, MPI_Init};

    use super::super::read::made_up::{call, process, trace};
    use super::*;

    /// The tree of efficiencies is that of `mpi-tool trace`. By hand: rank 0 computes 1,000 ns, and rank 1 500, up to a barrier
    /// that ends when both are there; then nobody computes. So the load balance is 75 %, and serialization and transfer 100 %.
    #[test]
    fn the_tree_is_told() {
        let rank = |rank: u32, computes: i64| {
            let barrier = call(MPI_Barrier, 100 + computes, 1100).on_world();
            process(rank, vec![call(MPI_Init, 0, 100), barrier, call(MPI_Finalize, 1100, 1200)])
        };
        let trace = trace(vec![rank(0, 1000), rank(1, 500)]);
        let text = written(&trace, &Messages::of(&trace), Path::new("run"));
        let told: Vec<String> = text
            .lines()
            .filter(|line| line.starts_with("  ") && line.ends_with(" %"))
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        let expected = [
            "parallel efficiency 75.0 %",
            "load balance 75.0 %",
            "communication efficiency 100.0 %",
            "serialization efficiency 100.0 %",
            "transfer efficiency 100.0 %",
        ];
        assert_eq!(told, expected, "{text}");
    }
}
