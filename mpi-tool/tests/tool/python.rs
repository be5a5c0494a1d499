//! Programs in Python: call sites and `mpi-tool hang --attach` name the functions and lines of the script, as Python's own traceback does.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::attach::Job;
use crate::common::{Outcome, has_mpi4py, launcher, mpi_tool, mpi_tool_command, setting, text};

fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python").join(name)
}

/// Function, file, and line of each place; a program's place is its file's name and the offset.
type Site = Vec<(String, String, u64)>;

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or("").to_owned()
}

/// Calls of two ranks with nine threads each, of which none has more paths at a place of C's stack than are told apart. Functions are made anew at each call in some chains, at places where others were before.
#[test]
fn sites_are_those_of_the_traceback() {
    if !has_mpi4py() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [mpiexec, n, two] = launcher("2");
    let chains = script("chains.py");
    let program = ["python3", text(&chains), "told", "50", "8"];
    let command = ["run", "-tmpi-profile", "-fjson", "-or.json", "--", &mpiexec, &n, &two];
    let mut command = mpi_tool_command(folder.path(), &[&command[..], &program].concat());
    let outcome = Outcome::of(command.env("PYTHONPATH", setting("MPI4PY")));
    assert_eq!(outcome.status, Some(0), "{outcome:?}");

    let mut told: BTreeMap<Site, u64> = BTreeMap::new();
    for rank in 0..2 {
        for entry in json(&folder.path().join(format!("told-{rank}.json"))).as_array().unwrap() {
            let frames = entry[0].as_array().unwrap().iter();
            let site = frames.map(|it| (word(&it[0]), word(&it[1]), it[2].as_u64().unwrap()));
            *told.entry(site.collect()).or_default() += entry[1].as_u64().unwrap();
        }
    }
    let report = json(&folder.path().join("r.json"));
    let mut found: BTreeMap<Site, u64> = BTreeMap::new();
    for row in report["rows"].as_array().unwrap() {
        if row["function"] != "MPI_Barrier" {
            continue;
        }
        let site = usize::try_from(row["site"].as_u64().unwrap()).unwrap();
        let places = report["sites"][site - 1].as_array().unwrap().iter();
        let site = places.map(|place| {
            let frame = &place["frames"][0];
            (word(&frame["function"]), word(&place["file"]), place["offset"].as_u64().unwrap())
        });
        *found.entry(site.collect()).or_default() += row["calls"].as_u64().unwrap();
    }
    assert!(told.len() > 100 && told.values().sum::<u64>() > 1000, "{}", told.len());
    // Both threads and ranks at once: what differs is what counts.
    let differ = |one: &BTreeMap<Site, u64>, other: &BTreeMap<Site, u64>| {
        let differs = |(site, calls): &(&Site, &u64)| other.get(*site) != Some(calls);
        one.iter().filter(differs).map(|it| format!("{it:?}")).take(5).collect::<Vec<_>>()
    };
    assert_eq!((differ(&told, &found), differ(&found, &told)), (vec![], vec![]));
}

/// 200 lines by turns, of which C knows nothing: the first 128 are told apart once, and all other calls are told together, without being looked into.
#[test]
fn too_many_lines_are_told_together() {
    if !has_mpi4py() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [mpiexec, n, two] = launcher("2");
    let many = script("many.py");
    let command = ["run", "-tmpi-profile", "-fjson", "-or.json", "--", &mpiexec, &n, &two];
    let program = ["python3", text(&many)];
    let mut command = mpi_tool_command(folder.path(), &[&command[..], &program].concat());
    let outcome = Outcome::of(command.env("PYTHONPATH", setting("MPI4PY")));
    assert_eq!(outcome.status, Some(0), "{outcome:?}");

    let report = json(&folder.path().join("r.json"));
    let mut lines: BTreeMap<u64, u64> = BTreeMap::new();
    let mut others = Vec::new();
    for row in report["rows"].as_array().unwrap() {
        if row["function"] != "MPI_Barrier" {
            continue;
        }
        let site = usize::try_from(row["site"].as_u64().unwrap()).unwrap();
        let place = &report["sites"][site - 1][0];
        let calls = row["calls"].as_u64().unwrap();
        match place["file"].as_str().unwrap() {
            "<many>" => *lines.entry(place["offset"].as_u64().unwrap()).or_default() += calls,
            _ => others.push((word(&place["file"]), word(&place["frames"][0]["function"]), calls)),
        }
    }
    // Two ranks, each of which calls from 200 lines, a hundred times.
    assert_eq!(lines, (1..=128).map(|line| (line, 2)).collect());
    let rest = 2 * (200 * 100 - 128);
    assert_eq!(others, [("<python>".into(), "<others>".into(), rest)]);
}

/// The same in a trace, by its text.
#[test]
fn a_trace_has_lines_of_python() {
    if !has_mpi4py() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [mpiexec, n, two] = launcher("2");
    let chains = script("chains.py");
    let program = ["python3", text(&chains), "told", "100", "0"];
    let command = ["run", "-tmpi-trace", "--", &mpiexec, &n, &two];
    let mut command = mpi_tool_command(folder.path(), &[&command[..], &program].concat());
    command.env("MPI_TOOL_RUN", "trace").env("MPI_TOOL_MPI_TRACE_DEPTH", "4");
    let outcome = Outcome::of(command.env("PYTHONPATH", setting("MPI4PY")));
    assert_eq!(outcome.status, Some(0), "{outcome:?}");

    let mut told: BTreeMap<String, u64> = BTreeMap::new();
    for rank in 0..2 {
        for entry in json(&folder.path().join(format!("told-{rank}.json"))).as_array().unwrap() {
            let frames = entry[0].as_array().unwrap().iter().map(|it| {
                let file = word(&it[1]);
                format!("{}:{} {}", file.rsplit('/').next().unwrap(), it[2], word(&it[0]))
            });
            let site = frames.collect::<Vec<_>>().join(" < ");
            *told.entry(site).or_default() += entry[1].as_u64().unwrap();
        }
    }
    let outcome = mpi_tool(folder.path(), &["trace", "trace", "--to", "csv"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for line in outcome.stdout.lines().filter(|line| line.contains(",MPI_Barrier,")) {
        let site = line.rsplit(',').next().unwrap().trim_matches('"');
        *found.entry(site.into()).or_default() += 1;
    }
    assert!(told.values().sum::<u64>() > 200, "{told:?}");
    assert_eq!(found, told);
}

/// The line of a script that has a comment.
fn line(script: &Path, comment: &str) -> u64 {
    let source = fs::read_to_string(script).unwrap();
    let end = format!("# {comment}");
    let found: Vec<_> = source.lines().zip(1..).filter(|(line, _)| line.ends_with(&end)).collect();
    assert_eq!(found.len(), 1, "one line {comment}");
    found[0].1
}

/// Python, C that calls it back, and Python again: each in its place.
#[test]
fn ranks_in_python_are_seen_there() {
    if !has_mpi4py() {
        return;
    }
    let late = script("late.py");
    let path = setting("MPI4PY").into_string().unwrap();
    let program = [&*format!("PYTHONPATH={path}"), "python3", text(&late)];
    let mut job = Job::start(Path::new("env"), 2, &program);
    let is_there = |job: &Value| {
        let ranks = job["ranks"].as_array().unwrap();
        let what = |rank: &Value| word(&rank["threads"][0]["what"]);
        ranks.len() == 2
            && what(&ranks[0]) == "sleeps"
            && ["stands", "stays"].contains(&&*what(&ranks[1]))
            && ranks[1]["threads"][0]["function"] == "MPI_Barrier"
    };
    let seen = job.until("rank 1 waits", is_there);
    for (rank, innermost) in [(0, "sleeps"), (1, "waits")] {
        let thread = &seen["ranks"][rank]["threads"][0];
        assert_eq!(thread["whole"], true, "{thread:#}");
        let spots = thread["site"].as_array().unwrap();
        let of_script: Vec<_> = spots
            .iter()
            .filter(|spot| spot["file"] == text(&late))
            .map(|spot| (word(&spot["function"]), spot["line"].as_u64().unwrap()))
            .collect();
        let at = |function: &str, comment| (function.to_owned(), line(&late, comment));
        let wanted = [
            at("exchange", innermost),
            at("compare", "compares"),
            at("main", "sorts"),
            at("<module>", "begins"),
        ];
        // Before Python 3.11, a function's class is not known.
        let plain = of_script
            .iter()
            .map(|(function, line)| (function.rsplit('.').next().unwrap_or("").to_owned(), *line));
        assert_eq!(plain.collect::<Vec<_>>(), wanted, "{thread:#}");
        // The user's own line is the first one, and what has called Python back is in between.
        assert_eq!(spots[0]["line"].as_u64(), Some(wanted[0].1), "{thread:#}");
        let place = |is_it: &dyn Fn(&str) -> bool| {
            spots.iter().position(|spot| is_it(spot["text"].as_str().unwrap()))
        };
        let inner = place(&|text| text.contains("compare"));
        let outer = place(&|text| text.ends_with("main"));
        let sort = place(&|text| text.contains("qsort") || text.starts_with("libc.so"));
        assert!(inner.is_some() && inner < sort && sort < outer, "{thread:#}");
    }
}

/// What mpi-check finds is at the lines of the script, also where the other rank is in a function that this one was never in.
#[test]
fn findings_are_at_the_lines_of_the_script() {
    if !has_mpi4py() {
        return;
    }
    let script = script("wrong.py");
    let [mpiexec, n, two] = launcher("2");
    for (what, class, function, comment, other) in [
        ("root", "collective-mismatch", "roots", "root", None),
        ("truncated", "truncation", "truncated", "truncated", Some("sent")),
        ("leak", "leak", "Left.begin", "leak", None),
        ("deadlock", "deadlock", "waits_for_message", "receives", Some("stands")),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let program = ["python3", text(&script), what];
        let command = [
            "check",
            "--hang-after",
            "5s",
            "--kill",
            "-fjson",
            "-or.json",
            "--",
            &mpiexec,
            &n,
            &two,
        ];
        let mut command = mpi_tool_command(folder.path(), &[&command[..], &program].concat());
        let outcome = Outcome::of(command.env("PYTHONPATH", setting("MPI4PY")));
        let report = folder.path().join("r.json");
        assert!(report.exists(), "{what}: {outcome:?}");
        let report = json(&report);
        let of_class = |finding: &&Value| finding["class"] == class;
        let finding = report["findings"].as_array().unwrap().iter().find(of_class);
        let finding = finding.unwrap_or_else(|| panic!("{what}: {report:#}"));
        let all = finding.to_string();
        let place = |comment: &str| format!("wrong.py:{} ", line(&script, comment));
        let site = finding["site"].as_str().unwrap();
        // Before Python 3.11, a method is named without its class.
        let own = function.rsplit('.').next().unwrap();
        assert!(site.starts_with(&place(comment)) && site.ends_with(own), "{what}: {all}");
        assert!(other.is_none_or(|other| all.contains(&place(other))), "{what}: {all}");
        assert!(!all.contains("_PyEval"), "{what}: {all}");
    }
}

/// Ranks that stand are named at the lines of the script, by what mpi-watch keeps.
#[test]
fn a_hang_is_told_with_lines_of_python() {
    if !has_mpi4py() {
        return;
    }
    let script = script("wrong.py");
    let [mpiexec, n, two] = launcher("2");
    let folder = tempfile::tempdir().unwrap();
    let program = ["python3", text(&script), "deadlock"];
    let command = ["run", "--hang-after", "2s", "--kill", "--", &mpiexec, &n, &two];
    let mut command = mpi_tool_command(folder.path(), &[&command[..], &program].concat());
    let outcome = Outcome::of(command.env("PYTHONPATH", setting("MPI4PY")));
    assert_eq!(outcome.status, Some(124), "{outcome:?}");
    for (comment, function) in [("receives", "waits_for_message"), ("stands", "waits_for_all")] {
        let place = format!("wrong.py:{} {function}", line(&script, comment));
        assert!(outcome.stderr.contains(&place), "{place}: {outcome:?}");
    }
    assert!(!outcome.stderr.contains("_PyEval"), "{outcome:?}");
}
