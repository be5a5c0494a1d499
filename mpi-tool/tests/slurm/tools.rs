//! Each tool in a step of one node and of three: the program does what it does without, all that it does is counted, and the
//! ranks are one world with one report.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::cluster::{is_left_out, mpi_tool_run, on_cluster, srun};
use crate::common::{compile, counters, expect_one_world, text};

const RANKS: u64 = 4;

#[test]
fn on_one_node() {
    each_tool_on(1, "tools::on_one_node");
}

#[test]
fn on_three_nodes() {
    each_tool_on(3, "tools::on_three_nodes");
}

fn each_tool_on(nodes: u32, test: &str) {
    if is_left_out(test) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let step = format!("{} -N{nodes} -n{RANKS} {}", srun(), text(&compile("hosts")));
    let tools = [
        ("call-counter:output=calls.json,format=json", ""),
        ("bandwidth-counter:output=bytes.json,format=json", ""),
        ("mpi-profile:output=profile.json,format=json", ""),
        ("mpi-watch", ""),
        ("mpi-trace", " --to json > trace.json"),
        ("mpi-check", ""),
        ("mpi-strict", ""),
        ("mpi-perturb", ""),
    ];
    let mut script = format!("{step} > plain.out\necho $? > plain.status\n");
    for (tool, then) in tools {
        let name = tool.split(':').next().unwrap();
        let run = mpi_tool_run(&format!("--tool {tool}"));
        script += &format!("{run} {step} > {name}.out 2> {name}.err\necho $? > {name}.status\n");
        if !then.is_empty() {
            script += &format!("{} trace mpi-trace-*{then}\n", env!("CARGO_BIN_EXE_mpi-tool"));
        }
    }
    fs::write(folder.path().join("all"), script).unwrap();
    let outcome = on_cluster(folder.path(), nodes, "sh ./all");
    assert_eq!(outcome.status, Some(0), "{outcome:?}");

    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    let sorted = |name: &str| {
        let mut lines: Vec<String> = read(name).lines().map(Into::into).collect();
        lines.sort_unstable();
        lines
    };
    let plain = sorted("plain.out");
    assert_eq!((plain.len() as u64, &*read("plain.status")), (RANKS, "0\n"));
    for (tool, _) in tools {
        let name = tool.split(':').next().unwrap();
        let said = read(&format!("{name}.err"));
        assert_eq!(sorted(&format!("{name}.out")), plain, "{name}: {said}");
        assert_eq!(read(&format!("{name}.status")), "0\n", "{name}: {said}");
        let expected: &[&str] = match name {
            "mpi-check" if nodes == 1 => &["mpi-check: nothing was found (4 ranks)"],
            "mpi-check" => &[
                "mpi-check: nothing was found (4 ranks)",
                "  note: deadlocks were only looked for among the ranks of each host",
            ],
            "mpi-trace" => &["# mpi-trace: 4 ranks, in "],
            _ => &[],
        };
        let lines: Vec<&str> = said.lines().filter(|line| !line.is_empty()).collect();
        let fits = lines.iter().zip(expected).all(|(line, begin)| line.starts_with(begin));
        assert!(fits && lines.len() == expected.len(), "{name}: {said}");
    }
    expect_counts(folder.path());
    expect_one_world(folder.path(), RANKS, nodes.into());
}

/// `hosts.c` sends a message around five times.
fn expect_counts(folder: &Path) {
    let once =
        ["MPI_Comm_rank", "MPI_Comm_size", "MPI_Finalize", "MPI_Get_processor_name", "MPI_Init"];
    let mut calls: Vec<(String, u64)> = once.map(|name| (name.to_owned(), RANKS)).into();
    calls.extend(["MPI_Recv", "MPI_Send"].map(|name| (name.to_owned(), 5 * RANKS)));
    assert_eq!(counters(&folder.join("calls.json")), calls);

    let report = |name: &str| -> Value {
        serde_json::from_str(&fs::read_to_string(folder.join(name)).unwrap()).unwrap()
    };
    let bytes = report("bytes.json");
    let sent: u64 = bytes["counters"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| ["sent MPI_INT", "received MPI_INT"].contains(&row["name"].as_str().unwrap()))
        .filter(|row| row["unit"] == "bytes")
        .map(|row| row["total"].as_u64().unwrap())
        .sum();
    assert_eq!(sent, 2 * 4 * 5 * RANKS, "{bytes:#}");

    let profile = report("profile.json");
    assert_eq!(
        (&profile["ranks"], &profile["partial"]),
        (&RANKS.into(), &Value::Null),
        "{profile:#}"
    );
    let rows = profile["rows"].as_array().unwrap();
    let of = |function: &str| -> u64 {
        let own = rows.iter().filter(|row| row["function"] == function);
        own.map(|row| row["calls"].as_u64().unwrap()).sum()
    };
    assert_eq!((of("MPI_Send"), of("MPI_Recv"), of("MPI_Init")), (5 * RANKS, 5 * RANKS, RANKS));
}
