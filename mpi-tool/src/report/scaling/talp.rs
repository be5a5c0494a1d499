//! Files of TALP, the profiler of BSC's DLB, in JSON.
//!
//! Three forms are known from DLB's sources. DLB 3.5 and later write an object for each region, with times in nanoseconds and
//! efficiencies with two digits: in `Application`, or in `popMetrics` in files marked as version 3.5. Earlier versions write
//! lists: `popMetrics` with efficiencies, and, if asked, `popRaw` with the number of ranks and the useful time.

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::input::{About, Clock, Factors, Input, Note, TIMES, time};

/// What regions of the whole program are called.
const WHOLE: [&str; 3] = ["Global", "Application", "MPI Execution"];

/// How much written efficiencies may be beyond 1: by rounding, as TALP itself warns of.
const BEYOND: f64 = 0.01;

/// An efficiency below this is unknown: TALP writes 0.00 where it has measured nothing.
const LEAST: f64 = 0.005;

/// Is it one of TALP's files?
pub(super) fn is(value: &Value) -> bool {
    value["schema"].is_null()
        && ["dlbVersion", "Application", "popMetrics"].iter().any(|field| !value[field].is_null())
}

/// Reads a file. What it does not have stays unknown.
pub(super) fn read(name: String, file: &Value) -> Result<Input> {
    let (region, metrics) = region(&name, file)?;
    let raw = file["popRaw"].as_array().into_iter().flatten().find(|raw| raw["name"] == region);
    let raw = raw.unwrap_or(&Value::Null);
    let resources = &file["resources"];
    let count = |fields: [&Value; 4]| {
        fields.into_iter().find_map(|field| field.as_u64().filter(|count| *count > 0))
    };
    let ranks = count([
        &metrics["numMpiRanks"],
        &resources["numMpiRanks"],
        &resources["num_mpi_ranks"],
        &raw["numRanks"],
    ]);
    let ranks = ranks.with_context(|| {
        format!(
            "{name} does not say how many MPI ranks it is of: DLB before 3.5 writes that only in popRaw \
             (--talp-summary=pop-metrics:pop-raw), and other programs than MPI's have none"
        )
    })?;
    let cpus = count([
        &metrics["numCpus"],
        &resources["numCpus"],
        &resources["num_cpus"],
        &raw["numCpus"],
    ]);
    let hosts = count([
        &metrics["numNodes"],
        &resources["numNodes"],
        &resources["num_nodes"],
        &raw["numNodes"],
    ]);
    let number = |fields: [&Value; 2]| fields.into_iter().find_map(Value::as_f64);
    let elapsed = number([&metrics["elapsedTime"], &raw["elapsedTime"]])
        .with_context(|| format!("{name} has no elapsedTime in its region {region}"))?;
    let useful = number([&metrics["usefulTime"], &raw["usefulCpuTotal"]]);
    let part =
        |fields: [&Value; 2]| number(fields).filter(|part| (LEAST..=1.0 + BEYOND).contains(part));
    let seconds = time(&name, elapsed / 1e9)?;
    let mut notes = Vec::new();
    if cpus.is_some_and(|cpus| cpus != ranks) {
        notes.push(Note::new(About::Threads, format!(
            "{name} is of more CPUs than ranks: its parallel efficiency also has the threads' factors, and is not load balance times \
             communication efficiency"
        )));
    }
    Ok(Input {
        tool: "TALP".to_owned(),
        version: file["dlbVersion"].as_str().unwrap_or_default().to_owned(),
        ranks,
        clock: Clock::Elapsed,
        seconds,
        wall: None,
        // No more than all CPUs can have had.
        useful: useful.map(|useful| useful / 1e9).filter(|useful| {
            *useful >= *TIMES.start()
                && *useful <= seconds * cpus.unwrap_or(ranks) as f64 * (1.0 + BEYOND)
        }),
        factors: Factors {
            parallel: part([&metrics["parallelEfficiency"], &metrics["mpiParallelEfficiency"]]),
            load_balance: part([&metrics["mpiLoadBalance"], &metrics["loadBalance"]]),
            communication: part([
                &metrics["mpiCommunicationEfficiency"],
                &metrics["communicationEfficiency"],
            ]),
        },
        hosts,
        host_names: Vec::new(),
        notes,
        name,
        run: None,
    })
}

/// The region of the whole program, with its name.
fn region<'a>(name: &str, file: &'a Value) -> Result<(String, &'a Value)> {
    let mut regions: Vec<(String, &Value)> = Vec::new();
    for field in ["Application", "popMetrics"] {
        match &file[field] {
            Value::Object(named) => {
                regions.extend(named.iter().map(|(name, region)| (name.clone(), region)));
            }
            Value::Array(listed) => regions.extend(
                listed
                    .iter()
                    .filter_map(|region| Some((region["name"].as_str()?.to_owned(), region))),
            ),
            _ => {}
        }
    }
    let whole = WHOLE.iter().find_map(|whole| regions.iter().find(|(name, _)| name == whole));
    match (whole, &regions[..]) {
        (Some(region), _) | (None, [region]) => Ok(region.clone()),
        (None, []) => {
            bail!("{name} is a file of TALP without a region: have TALP write its pop-metrics")
        }
        (None, several) => bail!(
            "{name} has {} regions of TALP, but none of the whole program ({})",
            several.len(),
            WHOLE.join(", ")
        ),
    }
}
