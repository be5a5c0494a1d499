//! What a test reads of mpi-profile's report.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use mpi_facts::FunctionId;
use serde_json::Value;

use crate::schema::report;
use crate::{Outcome, Run, tool};

/// Has mpi-profile preloaded and report in JSON into the folder.
pub fn profiled(run: Run) -> Run {
    let report = run.folder.path().join("profile.json");
    run.preload(tool("mpi_profile"))
        .variable("MPI_TOOL_MPI_PROFILE_FORMAT", "json")
        .variable("MPI_TOOL_MPI_PROFILE_OUTPUT", report.to_str().unwrap())
}

/// Reports of mpi-profile: the merged one first.
pub fn profiles(run: &Run) -> Vec<Value> {
    let mut files: Vec<_> = fs::read_dir(run.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.file_name().unwrap().to_string_lossy().starts_with("profile.json"))
        .collect();
    files.sort();
    let read = |path| report(&fs::read_to_string(path).unwrap());
    files.iter().map(read).collect()
}

/// The one report of a run.
pub fn profile(run: &Run) -> Value {
    let mut profiles = profiles(run);
    assert_eq!(profiles.len(), 1);
    let profile = profiles.remove(0);
    assert_eq!((&profile["schema"], &profile["lost"]), (&"mpi-tool-report/2".into(), &0.into()));
    profile
}

/// A function and its large-count twin are one.
pub fn without_twin(name: &str) -> &str {
    let twin = name.strip_suffix("_c").filter(|narrow| narrow.parse::<FunctionId>().is_ok());
    twin.unwrap_or(name)
}

/// What rows say of each function, added up.
pub fn by_function(profile: &Value, number: impl Fn(&Value) -> u64) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for row in profile["rows"].as_array().unwrap() {
        *sums.entry(row["function"].as_str().unwrap().to_owned()).or_default() += number(row);
    }
    sums
}

/// The sum of a measure of a row; 0 if nothing was measured.
pub fn sum(row: &Value, measure: &str) -> u64 {
    row[measure]["sum"].as_u64().unwrap_or(0)
}

/// The source lines of a row's places, as `addr2line -i` of the binutils says them: names of files with lines,
/// inlined functions' first, and for each place a `/`.
pub fn source_lines(profile: &Value, row: &Value) -> String {
    let Some(site) = row["site"].as_u64() else { return row["site"].to_string() };
    let mut lines = String::new();
    for place in profile["sites"][site as usize - 1].as_array().unwrap() {
        let offset = format!("{:#x}", place["offset"].as_u64().unwrap());
        let mut addr2line = Command::new("addr2line");
        addr2line.args(["-i", "-e", place["file"].as_str().unwrap(), &offset]);
        let output = addr2line.output().expect("addr2line runs");
        for line in String::from_utf8(output.stdout).unwrap().lines() {
            let line = line.split(" (discriminator").next().unwrap();
            lines += line.rsplit('/').next().unwrap();
            lines += " ";
        }
        lines += "/ ";
    }
    lines
}

/// What mpi-profile has measured is what the call counter and the bandwidth counter have, which ran beside it and reported in
/// JSON: calls by function, and bytes sent and received. A call of `MPI_Pcontrol` that stops measuring is not measured, so
/// these are left out.
pub fn is_as_counted(profile: &Value, outcome: &Outcome, what: &str) {
    let counters = |tool: &str| {
        let is_it = |report: &&Value| report["tool"] == tool && report["complete"] == true;
        let report = outcome.reports.iter().find(is_it);
        let report = report.unwrap_or_else(|| panic!("{what}: no report of {tool}"));
        report["counters"].as_array().unwrap()
    };
    let mut calls = BTreeMap::<String, u64>::new();
    for counter in counters("call-counter") {
        let name = without_twin(counter["name"].as_str().unwrap()).to_owned();
        *calls.entry(name).or_default() += counter["total"].as_u64().unwrap();
    }
    let mut measured = BTreeMap::<String, u64>::new();
    for (name, count) in by_function(profile, |row| row["calls"].as_u64().unwrap()) {
        *measured.entry(without_twin(&name).to_owned()).or_default() += count;
    }
    calls.remove("MPI_Pcontrol");
    measured.remove("MPI_Pcontrol");
    assert_eq!(measured, calls, "{what}");

    let counted = |flows: &[&str]| {
        let bytes = counters("bandwidth-counter").iter().filter(|counter| {
            let flow = counter["name"].as_str().unwrap().split(' ').next().unwrap();
            counter["unit"] == "bytes" && flows.contains(&flow)
        });
        bytes.map(|counter| counter["total"].as_u64().unwrap()).sum::<u64>()
    };
    let measured =
        |measure: &str| by_function(profile, |row| sum(row, measure)).values().sum::<u64>();
    assert_eq!(measured("sent"), counted(&["sent", "reduced"]), "{what}");
    assert_eq!(measured("received"), counted(&["received"]), "{what}");
}
