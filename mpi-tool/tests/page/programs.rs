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

/// What Python makes of the bytes of `profile.proto`: by hand, since its fields are few.
const PPROF: &str = r#"
import gzip, json
data = gzip.open("run.pb.gz").read()
def varint(data, at):
    number = shift = 0
    while True:
        number |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return number, at
def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            assert key & 7 == 2, key
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
        yield key >> 3, value
def packed(data):
    at, numbers = 0, []
    while at < len(data):
        number, at = varint(data, at)
        numbers.append(number)
    return numbers
profile = list(fields(data))
texts = [value.decode() for field, value in profile if field == 6]
assert texts[0] == ""
types = [[texts[number] for _, number in fields(value)] for field, value in profile if field == 1]
functions = {one[1]: (texts[one[2]], texts[one.get(4, 0)]) for one in (dict(fields(value)) for field, value in profile if field == 5)}
locations = {}
for one in (dict(fields(value)) for field, value in profile if field == 4):
    line = dict(fields(one[4]))
    locations[one[1]] = [*functions[line[1]], line.get(2, 0)]
samples = []
for one in (dict(fields(value)) for field, value in profile if field == 2):
    samples.append([[locations[number] for number in packed(one[1])], packed(one[2])])
print(json.dumps({"types": types, "samples": samples}))
"#;

/// Each call site is a stack, the MPI function first, with its calls and measures; and so is the code between two calls.
#[test]
fn pprof_has_all_stacks() {
    let (folder, run) = simulated(16);
    let outcome = report(folder.path(), &["run.json", "-o", "run.pb.gz"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let found: Value = serde_json::from_str(&python(folder.path(), PPROF)).unwrap();
    let nanoseconds = |name: &str| json!([name, "nanoseconds"]);
    let types = json!([
        ["calls", "count"],
        nanoseconds("time"),
        nanoseconds("wait"),
        ["sent", "bytes"],
        nanoseconds("computing")
    ]);
    assert_eq!(found["types"], types);
    let samples: BTreeMap<String, &Value> = found["samples"]
        .as_array()
        .unwrap()
        .iter()
        .map(|sample| (sample[0].to_string(), &sample[1]))
        .collect();
    let number = |of: &Value| of.as_u64().unwrap_or(0);
    let place = |function: String, file: String, line: usize| json!([function, file, line]);
    for (site, row) in run["rows"].as_array().unwrap().iter().enumerate() {
        let stack = json!([
            [row["function"], "", 0],
            place(format!("f{site}"), format!("/opt/app/part{}.c", site % 5), 10 + site),
            place("main".into(), "/opt/app/main.c".into(), 100 + site),
        ]);
        let measures = ["time", "wait", "sent"].map(|name| number(&row[name]["sum"]));
        let values = json!([row["calls"], measures[0], measures[1], measures[2], 0]);
        assert_eq!(samples.get(&stack.to_string()), Some(&&values), "{stack}");
    }
    // Both calls have `main` in common. The first one was from its line 103.
    let stack = json!([
        ["between MPI_Recv at part3.c:13 (f3) and MPI_Waitall at part4.c:14 (f4)", "", 0],
        ["main", "/opt/app/main.c", 103],
    ]);
    let sum = &run["segments"]["rows"][3]["time"]["sum"];
    assert_eq!(samples.get(&stack.to_string()), Some(&&json!([0, 0, 0, 0, sum])));
    let elsewhere = json!([0, 0, 0, 0, run["segments"]["elsewhere"]["sum"]]);
    assert_eq!(samples.get(&json!([["elsewhere", "", 0]]).to_string()), Some(&&elsewhere));
    assert_eq!(samples.len(), 40 + 39 + 1);

    // pprof itself, where there is a Go with it.
    let pprof = Command::new("go")
        .args(["tool", "pprof", "-raw", "run.pb.gz"])
        .current_dir(folder.path())
        .env("HOME", folder.path())
        .output();
    match pprof {
        Ok(output) if output.status.success() => {
            let raw = String::from_utf8(output.stdout).unwrap();
            assert!(raw.contains("calls/count time/nanoseconds[dflt] "), "{raw}");
            let time = number(&run["rows"][3]["time"]["sum"]);
            assert!(raw.lines().any(|line| line.contains(&format!(" {time} "))), "{raw}");
        }
        _ => eprintln!("go tool pprof is not tried: it is not installed here"),
    }
}

/// All values are in the tree, which Hatchet reads where it is installed.
#[test]
fn hatchet_has_all_calls() {
    let (folder, run) = simulated(16);
    let outcome = report(folder.path(), &["run.json", "--to", "hatchet", "-o", "run.hatchet"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""));
    let text = fs::read_to_string(folder.path().join("run.hatchet")).unwrap();
    let tree: Value = serde_json::from_str(&text).unwrap();
    let roots = tree.as_array().unwrap();
    let sum = |metric: &str| -> f64 {
        roots.iter().map(|root| root["metrics"][metric].as_f64().unwrap()).sum()
    };
    let rows = run["rows"].as_array().unwrap();
    let of_rows = |of: &dyn Fn(&Value) -> u64| rows.iter().map(of).sum::<u64>() as f64;
    let near = |found: f64, expected: f64| {
        assert!((found - expected).abs() <= expected * 1e-9, "{found} is not {expected}");
    };
    let time = of_rows(&|row| row["time"]["sum"].as_u64().unwrap()) / 1e9;
    near(sum("calls (inc)"), of_rows(&|row| row["calls"].as_u64().unwrap()));
    near(sum("time (inc)"), time);
    near(sum("computing (inc)"), run["useful"]["sum"].as_f64().unwrap() / 1e9);
    let main = roots.iter().find(|root| root["frame"]["line"] == 103).unwrap();
    assert_eq!(
        main["frame"],
        json!({"name": "main", "type": "function", "file": "/opt/app/main.c", "line": 103})
    );
    assert_eq!(main["metrics"]["time"], 0.0);
    let called: Vec<&Value> =
        main["children"].as_array().unwrap().iter().map(|child| &child["frame"]["name"]).collect();
    assert_eq!(
        called,
        ["between MPI_Recv at part3.c:13 (f3) and MPI_Waitall at part4.c:14 (f4)", "f3"]
    );
    let call = &main["children"][1]["children"][0];
    assert_eq!(call["frame"]["name"], "MPI_Recv");
    near(call["metrics"]["time"].as_f64().unwrap(), rows[3]["time"]["sum"].as_f64().unwrap() / 1e9);

    let has_hatchet = Command::new("python3").args(["-c", "import hatchet"]).output();
    if !has_hatchet.is_ok_and(|output| output.status.success()) {
        eprintln!("Hatchet is not tried: python3 has no llnl-hatchet");
        return;
    }
    let program = r#"
import hatchet, json
frame = hatchet.GraphFrame.from_literal(json.load(open("run.hatchet")))
table = frame.dataframe
calls = table[table["name"].str.startswith("MPI_")]
print(json.dumps([len(table), len(calls), calls["time"].sum(), table["computing"].sum(), sorted(frame.inc_metrics)]))
"#;
    let output =
        Command::new("python3").args(["-c", program]).current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    // 40 lines of `main`, 40 functions, their calls, 39 segments, and what is elsewhere.
    assert_eq!((&found[0], &found[1]), (&json!(3 * 40 + 39 + 1), &json!(40)));
    near(found[2].as_f64().unwrap(), time);
    near(found[3].as_f64().unwrap(), run["useful"]["sum"].as_f64().unwrap() / 1e9);
    let inclusive = ["calls (inc)", "computing (inc)", "sent (inc)", "time (inc)", "wait (inc)"];
    assert_eq!(found[4], json!(inclusive));
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
