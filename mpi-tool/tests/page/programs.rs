//! What other programs read: Python's tables, databases, TALP's JSON, and files for launchers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::report;
use crate::simulated::Simulated;

/// The root of the source tree.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// A simulated run in a folder: `run.json`.
fn simulated(ranks: u64) -> (TempDir, Value) {
    let folder = tempfile::tempdir().unwrap();
    let run = Simulated::of(ranks).report();
    fs::write(folder.path().join("run.json"), run.to_string()).unwrap();
    (folder, run)
}

/// Runs a program of Python, with the package.
fn python(folder: &Path, program: &str) -> String {
    let mut python = Command::new("python3");
    python.args(["-W", "error", "-c", program]).current_dir(folder);
    let output = python
        .env("PYTHONPATH", root().join("python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("python3 starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{program}");
    String::from_utf8(output.stdout).unwrap()
}

/// The example of the documentation, all its parts in one program.
#[test]
fn the_python_example_runs() {
    let (folder, run) = simulated(16);
    assert_eq!(report(folder.path(), &["run.json", "-o", "lines.json"]).status, Some(0));
    let page = fs::read_to_string(root().join("docs/python.md")).unwrap();
    let parts: Vec<&str> =
        page.split("```python\n").skip(1).map(|part| part.split("```").next().unwrap()).collect();
    assert!(parts.len() >= 5, "{page}");
    let said = python(folder.path(), &parts.concat());
    // By hand: what the rows of each function add up to.
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for row in run["rows"].as_array().unwrap() {
        *sums.entry(row["function"].as_str().unwrap()).or_default() +=
            row["time"]["sum"].as_u64().unwrap();
    }
    let (function, most) = sums.iter().max_by_key(|(_, sum)| **sum).unwrap();
    let first = said.lines().next().unwrap();
    assert!(first.ends_with(function), "{said}");
    assert!(first.trim_start().starts_with(&format!("{:.6} s", *most as f64 / 1e9)), "{said}");
    // Of all sites the last one takes most time.
    assert!(said.contains("part4.c:49 f39 < main.c:139 main"), "{said}");
    assert!(said.contains("0 to 4 320000 bytes"), "{said}");
}

#[test]
fn python_reads_pages_and_folders_and_refuses_others() {
    let (folder, _) = simulated(4);
    assert_eq!(report(folder.path(), &["run.json", "-o", "page.html"]).status, Some(0));
    let program = r#"
import mpi_tool
one, other, folder = (mpi_tool.load(name) for name in ("run.json", "page.html", "."))
assert one.rows == other.rows == folder.rows and len(one.rows) == 40
assert [rank["host"] for rank in one.by_rank] == ["node0", "node1", "node2", "node3"]
assert sum(pair["bytes"] for pair in one.pairs()) == sum(pair["bytes"] for pair in one.pairs("received"))
for text in ("", "[]", "{}", "{\"schema\": \"mpi-tool-report/2\"}", "[" * 100000):
    try:
        mpi_tool.loads(text)
    except mpi_tool.ReportError:
        continue
    raise AssertionError(text[:20])
"#;
    python(folder.path(), program);
}

/// Python's own SQLite reads the database.
#[test]
fn a_database_has_all_rows() {
    let (folder, run) = simulated(16);
    let outcome = report(folder.path(), &["run.json", "--to", "sqlite", "-o", "run.sqlite"]);
    assert_eq!(
        (outcome.status, outcome.stdout.as_str(), outcome.stderr.as_str()),
        (Some(0), "", "")
    );
    let program = r#"
import json, sqlite3
connection = sqlite3.connect("run.sqlite")
ask = lambda words: connection.execute(words).fetchall()
print(json.dumps({
    "sums": ask("select function, time_sum, sent_by_rank_most from rows order by number"),
    "ranks": ask("select rank, wall, inside from ranks order by rank"),
    "places": ask("select function from sites where site = 3 order by depth"),
    "report": ask("select ranks, wall_most, complete from report"),
    "segments": ask("""
        select before, a.function, time_sum, busiest from segments join sites as a on a.site = after_site
        where a.depth = 1 order by segments.number
    """),
    "elsewhere": ask("select segments_rank, segments_elsewhere_sum from report"),
}))
"#;
    let found: Value = serde_json::from_str(&python(folder.path(), program)).unwrap();
    let rows = run["rows"].as_array().unwrap();
    let sums = rows
        .iter()
        .map(|row| json!([row["function"], row["time"]["sum"], row["sent"]["by_rank"]["most"]]));
    assert_eq!(found["sums"], Value::Array(sums.collect()));
    assert_eq!(found["ranks"].as_array().unwrap().len(), 16);
    assert_eq!(found["places"], json!([["f2"], ["main"]]));
    let segments = run["segments"]["rows"].as_array().unwrap().iter().enumerate();
    let segments = segments.map(|(at, row)| {
        json!([row["before"], format!("f{}", at + 1), row["time"]["sum"], row["busiest"]])
    });
    assert_eq!(found["segments"], Value::Array(segments.collect()));
    let [rank, rest] = [&run["segments"]["rank"], &run["segments"]["elsewhere"]["sum"]];
    assert_eq!(found["elsewhere"], json!([[rank, rest]]));
    assert_eq!(found["report"], json!([[16, run["wall"]["most"], 1]]));
    assert_eq!(report(folder.path(), &["run.json", "--to", "sqlite"]).status, Some(2));
}

/// The fields that talp-pages 3.8.0 reads.
#[test]
fn talp_has_the_efficiencies() {
    let (folder, run) = simulated(16);
    let outcome = report(folder.path(), &["run.json", "--to", "talp"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let talp: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert!(talp["dlbVersion"].as_str().unwrap().starts_with("3.8"));
    assert_eq!(talp["resources"]["numMpiRanks"], 16);
    let global = &talp["Application"]["Global"];
    assert_eq!(global["parallelEfficiency"], run["efficiency"]["parallel"]);
    assert_eq!(global["mpiLoadBalance"], run["efficiency"]["load_balance"]);
    assert_eq!(global["elapsedTime"], run["wall"]["most"]);
    assert_eq!((&global["cycles"], &global["ompLoadBalance"]), (&json!(0.0), &json!(1.0)));
}

/// All time in MPI is in folded stacks, each of which ends with a function.
#[test]
fn folded_stacks_have_all_time() {
    let (folder, run) = simulated(16);
    let outcome = report(folder.path(), &["run.json", "-o", "run.folded"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let text = fs::read_to_string(folder.path().join("run.folded")).unwrap();
    let mut all: BTreeMap<&str, u64> = BTreeMap::new();
    for line in text.lines() {
        let (stack, time) = line.rsplit_once(' ').unwrap();
        *all.entry(stack.rsplit(';').next().unwrap()).or_default() += time.parse::<u64>().unwrap();
        assert!(stack.starts_with("MPI_") || stack.contains("main"), "{stack}");
    }
    let mut expected: BTreeMap<&str, u64> = BTreeMap::new();
    for row in run["rows"].as_array().unwrap() {
        let function = row["function"].as_str().unwrap();
        *expected.entry(function).or_default() += row["time"]["sum"].as_u64().unwrap();
    }
    expected.retain(|_, time| *time > 0);
    assert_eq!(all, expected);
}

/// Ranks of an 8 × 8 grid in another order, on four hosts: within 5 % of four quarters.
#[test]
fn a_shuffled_grid_is_put_together() {
    let mut chance = crate::simulated::Chance::new(7);
    let mut name: Vec<u64> = (0..64).collect();
    for last in (1..64).rev() {
        name.swap(last, (chance.next() * (last + 1) as f64) as usize);
    }
    let mut run = Simulated::of(64).report();
    let mut entries = Vec::new();
    let mut pairs = Vec::new();
    for place in 0..64 {
        let right = (place % 8 < 7).then_some(place + 1);
        for other in [right, Some(place + 8)].into_iter().flatten().filter(|other| *other < 64) {
            let (one, other) = (name[place], name[other]);
            pairs.push((one as usize, other as usize));
            entries.push(
                json!({"function": "MPI_Send", "flow": "sent", "peer": other as i64 - one as i64,
                "messages": 1, "bytes": 1000, "ranks": [[one, 1, 0, 1]]}),
            );
        }
    }
    run["matrix"] = json!(entries);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("run.json"), run.to_string()).unwrap();
    let outcome = report(folder.path(), &["run.json", "--placement", "ranks"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    assert!(outcome.stdout.contains("the proposed order saves"), "{}", outcome.stdout);
    let file = fs::read_to_string(folder.path().join("ranks")).unwrap();
    let hosts: Vec<&str> = file
        .lines()
        .enumerate()
        .map(|(rank, line)| {
            let (before, behind) = line.split_once('=').unwrap();
            assert_eq!(before, format!("rank {rank}"));
            behind.split_once(" slot=").unwrap().0
        })
        .collect();
    for host in ["node0", "node1", "node2", "node3"] {
        assert_eq!(hosts.iter().filter(|name| **name == host).count(), 16);
    }
    // Four quarters of 4 × 4 have 2 × 8 pairs between them.
    let between = pairs.iter().filter(|(one, other)| hosts[*one] != hosts[*other]).count();
    assert!(between as f64 <= 16.0 * 1.05, "{between}\n{}", outcome.stdout);
    let slurm = fs::read_to_string(folder.path().join("ranks.slurm")).unwrap();
    assert_eq!(slurm.lines().collect::<Vec<_>>(), hosts);
}

/// A ring on four hosts with four ranks each is as good as it can be.
#[test]
fn nothing_is_to_be_won_where_blocks_are_best() {
    let mut run = Simulated::of(16).report();
    run["matrix"] = json!([{"function": "MPI_Send", "flow": "sent", "peer": 1, "messages": 1, "bytes": 1000,
        "ranks": [[0, 15, 0, 1]]}]);
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("run.json"), run.to_string()).unwrap();
    let outcome = report(folder.path(), &["run.json", "--placement", "ranks"]);
    assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    assert!(outcome.stdout.contains("nothing is to be won"), "{}", outcome.stdout);
    assert!(!folder.path().join("ranks").exists());
    let without = {
        run.as_object_mut().unwrap().remove("matrix");
        fs::write(folder.path().join("run.json"), run.to_string()).unwrap();
        report(folder.path(), &["run.json", "--placement"])
    };
    assert_eq!(without.status, Some(2));
    assert!(without.stderr.contains("MPI_TOOL_MPI_PROFILE_PEER=1"), "{}", without.stderr);
}
