//! Reports that nobody should write, as files: Python's package and `mpi-tool report` refuse them with a reason, or show
//! what there is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use serde_json::{Value, json};

use crate::simulated::Simulated;
use crate::{Outcome, report};

/// What `malformed.py` takes: the same files each time.
const SEED: u64 = 19;

/// A report of few rows with all that reports may have.
fn whole() -> Value {
    let mut run = Simulated { sites: 3, ..Simulated::of(4) }.report();
    run["communicators"].as_array_mut().unwrap().push(Value::Null);
    run["rows"][1]["communicator"] = "others".into();
    run["rows"][2]["site"] = Value::Null;
    run["rows"][2]["phase"] = 2.into();
    run["timeline"] =
        json!([{"rank": 0, "ranks": 4, "width": 80_000_000, "permille": [1, 2, 1000]}]);
    run["matrix"][3]["ranks"] = Value::Null;
    run["hosts"].as_array_mut().unwrap().truncate(1);
    let [wall, inside, useful] = ["wall", "inside", "useful"].map(|name| run[name].clone());
    run["phases"] = json!([{"phase": 2, "ranks": 4, "wall": wall, "inside": inside, "useful": useful,
        "efficiency": run["efficiency"]}]);
    run["efficiency"]["within_hosts"] = 0.9.into();
    run["efficiency"]["between_hosts"] = 0.9.into();
    run
}

/// Has `malformed.py` try the package on all, and leave some files; returns what it says.
fn malformed(folder: &Path, count: usize) -> (Vec<String>, Value) {
    fs::write(folder.join("whole.json"), whole().to_string()).unwrap();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("python3")
        .arg(tests.join("tests/page/malformed.py"))
        .args(["whole.json", &SEED.to_string(), ".", &count.to_string()])
        .current_dir(folder)
        .env("PYTHONPATH", tests.parent().unwrap().join("python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let mut lines: Vec<_> =
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    let numbers = serde_json::from_str(&lines.pop().unwrap()).unwrap();
    (lines, numbers)
}

/// Python refuses each with a `ReportError`, and most of them: a value of another type is wrong nearly everywhere.
#[test]
fn python_says_what_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let (wrong, numbers) = malformed(folder.path(), 0);
    assert_eq!(wrong, [""; 0], "{numbers}");
    let [read, refused] = ["read", "refused"].map(|name| numbers[name].as_u64().unwrap());
    assert!(read > 500 && refused > 4 * read, "{numbers}");
}

/// It says where, too.
#[test]
fn python_says_where_it_is_wrong() {
    let folder = tempfile::tempdir().unwrap();
    let told = |change: &dyn Fn(&mut Value)| {
        let mut run = whole();
        change(&mut run);
        fs::write(folder.path().join("run.json"), run.to_string()).unwrap();
        let output = Command::new("python3")
            .args(["-c", "import mpi_tool\ntry: mpi_tool.load('run.json')\nexcept mpi_tool.ReportError as error: print(error)"])
            .current_dir(folder.path())
            .env("PYTHONPATH", Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("python"))
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    for (told, words) in [
        (
            told(&|run| run["rows"][1]["time"]["sum"] = "x".into()),
            "rows[1].time.sum is 'x', and should be a whole number",
        ),
        (
            told(&|run| run["rows"][0]["site"] = 9.into()),
            "rows[0].site is 9, and there are 3 of them",
        ),
        (
            told(&|run| run["hosts"][0]["by_rank"]["wall"] = json!([])),
            "the lists of hosts[0].by_rank differ in length",
        ),
        (
            told(&|run| run["matrix"][0]["ranks"] = json!([[0, 5, 0, 1]])),
            "matrix[0] has ranks that are not in this world",
        ),
        (
            told(&|run| run["matrix"][0]["peer"] = (-1).into()),
            "matrix[0] has a peer that is not in this world",
        ),
        (
            told(&|run| {
                run.as_object_mut().unwrap().remove("wall");
            }),
            "the report has no field wall",
        ),
        (told(&|run| run["rows"][2] = 5.into()), "rows[2] is 5, and should be an object"),
    ] {
        assert!(told.contains(words), "{words}: {told}");
        assert!(told.starts_with("run.json: not as a report should be: "), "{told}");
    }
    assert_eq!(told(&|_| {}), "");
}

/// Whatever is asked for, there is an error in a line or a result, and never a script in a page.
#[test]
fn mpi_tool_refuses_or_shows_them() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    malformed(folder, 300);
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 301);
    let half = files.len() / 2;
    let shown: usize = thread::scope(|threads| {
        let halves = [&files[..half], &files[half..]].map(|files| {
            threads.spawn(move || files.iter().map(|file| tried(folder, file)).sum::<usize>())
        });
        halves.map(|half| half.join().unwrap()).into_iter().sum()
    });
    // Some of either kind.
    assert!((20..280).contains(&shown), "{shown}");
}

/// Tries a file in all ways, and says in how many of ten it was shown: all, or none.
fn tried(folder: &Path, file: &Path) -> usize {
    let name = file.file_name().unwrap().to_str().unwrap();
    let page = format!("{name}.html");
    let mut shown = 0;
    for arguments in [
        &[name][..],
        &[name, "-o", &page],
        &[name, "--to", "csv"],
        &[name, "--to", "json"],
        &[name, "--to", "talp"],
        &[name, "--to", "sqlite", "-o", &format!("{name}.sqlite")],
        &[name, "--by", "communicator"],
        &[name, "--by", "phase"],
        &[name, "--matrix"],
        &[name, "--placement"],
        &[name, "whole.json"],
        &["whole.json", name],
        &["whole.json", name, "--to", "html", "-o", &format!("{page}.both.html")],
    ] {
        let outcome = report(folder, arguments);
        let Outcome { status, stdout, stderr } = &outcome;
        let is_error = *status == Some(2) && stdout.is_empty() && stderr.starts_with("mpi-tool: ");
        assert!(*status == Some(0) || is_error, "{arguments:?}: {outcome:?}");
        assert!(!stderr.contains("panicked"), "{arguments:?}: {outcome:?}");
        if arguments.len() == 1 && *status == Some(0) {
            shown = 1;
        }
    }
    for page in [page.clone(), format!("{page}.both.html")] {
        if let Ok(text) = fs::read_to_string(folder.join(page)) {
            // The report and the page's own.
            assert_eq!(text.matches("<script").count(), 2, "{name}");
            assert_eq!(text.matches("</script").count(), 2, "{name}");
            assert!(!text.contains("<script>alert"), "{name}");
        }
    }
    shown
}
