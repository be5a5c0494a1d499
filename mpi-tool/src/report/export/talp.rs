//! The JSON of TALP, the profiler of BSC's DLB, which `talp-pages` makes tables and pages of.
//!
//! TALP also counts cycles, instructions, OpenMP and accelerators. A report has none of these: the numbers are 0, and the
//! efficiencies are 1, as TALP writes what there was nothing of.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context as _, Result, bail};
use serde_json::json;

use super::super::read::Run;
use super::super::{By, Efficiency, lines};

/// The version of DLB whose format this is.
const DLB: &str = "3.8.0";

/// What a report does not have.
const NOTHING_OF: [&str; 18] = [
    "cycles",
    "instructions",
    "numOmpParallels",
    "numOmpTasks",
    "numGpuRuntimeCalls",
    "numGpus",
    "ompLoadImbalanceTime",
    "ompSchedulingTime",
    "ompOutsideParallelTime",
    "gpuRuntimeTime",
    "gpuUsefulTime",
    "gpuCommunicationTime",
    "gpuInactiveTime",
    "gpuParallelEfficiency",
    "gpuLoadBalance",
    "gpuCommunicationEfficiency",
    "gpuOrchestrationEfficiency",
    "mpiWorkerIdleTime",
];

/// Efficiencies of what was not there.
const NOTHING_LOST: [&str; 5] = [
    "ompParallelEfficiency",
    "ompLoadBalance",
    "ompSchedulingEfficiency",
    "ompCoverageEfficiency",
    "deviceOffloadEfficiency",
];

/// Writes the run as TALP's region of the whole program. Reports do not say when the program ran: the time is that of the
/// report's file.
pub(in super::super) fn write(out: &mut dyn Write, run: &Run) -> Result<()> {
    let Run { name, table, .. } = run;
    let (Some(ranks), Some(useful), true) = (table.ranks, &table.useful, table.complete) else {
        bail!("{name} is not a report of all ranks, with their useful time");
    };
    let calls = lines(table, By::Function)
        .with_context(|| format!("{name} is not as a report should be"))?
        .values()
        .map(|line| line.events)
        .fold(0, u64::saturating_add);
    let hosts = table.hosts.len().max(1);
    let one = Efficiency {
        parallel: 1.0,
        load_balance: 1.0,
        communication: 1.0,
        within_hosts: None,
        between_hosts: None,
    };
    let Efficiency { parallel, load_balance, communication, within_hosts, between_hosts } =
        table.efficiency.as_ref().unwrap_or(&one);
    let changed = fs::metadata(Path::new(name)).and_then(|known| known.modified());
    let time = humantime::format_rfc3339_seconds(changed.unwrap_or(SystemTime::now())).to_string();
    let mut global = json!({
        "numCpus": ranks, "numNodes": hosts, "numMpiRanks": ranks, "avgCpus": ranks,
        "numMeasurements": 1, "numMpiCalls": calls,
        "elapsedTime": table.active().most as u64,
        "usefulTime": useful.sum as u64,
        "mpiTime": table.inside.sum as u64,
        "parallelEfficiency": parallel,
        "mpiParallelEfficiency": parallel,
        "mpiCommunicationEfficiency": communication,
        "mpiLoadBalance": load_balance,
        "mpiLoadBalanceIn": within_hosts.unwrap_or(*load_balance),
        "mpiLoadBalanceOut": between_hosts.unwrap_or(1.0),
    });
    for name in NOTHING_OF {
        global[name] = 0.0.into();
    }
    for name in NOTHING_LOST {
        global[name] = 1.0.into();
    }
    let object = json!({
        "dlbVersion": DLB,
        "app": format!("{} {}", table.tool, table.version),
        "timestamp": time.replace('Z', "+00:00"),
        "resources": {"numCpus": ranks, "numNodes": hosts, "numMpiRanks": ranks, "numGpus": 0},
        // The region of the whole program.
        "Application": {"Global": global},
    });
    writeln!(out, "{object:#}")?;
    Ok(())
}
