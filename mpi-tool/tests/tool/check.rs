//! `mpi-tool check` and what is made of its findings.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::common::{compile_with, mpi_tool, setting, text, tool};
use crate::hang::signal;

/// For how long a state may take to be reached.
const LIMIT: Duration = Duration::from_secs(100);

/// What ranks with mpi-check leave that were killed, `mpi-tool clean` removes; what a process uses, stays.
#[test]
fn what_checked_runs_leave_is_cleaned() {
    let job = tempfile::tempdir().unwrap();
    let folder = job.path().join("run");
    let program = compile_with(setting("MPICC"), "hang", "hang", &["-g"]);
    let clean = || mpi_tool(job.path(), &["clean", text(&folder)]).stdout;
    let begin = Instant::now();
    // The file has a name until MPI_Init ends, as a rank alone is all that there are: the process is stopped before that.
    let mut child = loop {
        let mut command = Command::new(&program);
        // One rank without a launcher, which waits for ever.
        command.arg("receive cycle").env("LD_PRELOAD", tool("mpi_check"));
        command.env("MPI_TOOL_RUN", &folder).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let has = |file: &str, what: &str| {
            let file = format!("/proc/{}/{file}", child.id());
            fs::read_to_string(file).is_ok_and(|text| text.contains(what))
        };
        let until = |file: &str, what: &str| {
            while !has(file, what) && begin.elapsed() < LIMIT {
                sleep(Duration::from_millis(2));
            }
        };
        until("maps", ".check");
        signal("STOP", child.id().into());
        until("status", "State:\tT");
        if has("maps", ".check\n") || begin.elapsed() >= LIMIT {
            break child;
        }
        child.kill().unwrap();
        child.wait().unwrap();
    };
    assert_eq!(clean(), "there are no folders of runs that are over\n");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(clean(), format!("removed {}\n", folder.display()));
    assert!(!folder.exists());
}

/// What must be so in each SARIF file, by the standard (SARIF 2.1.0): the properties that it requires, of the types
/// and with the values that it allows.
fn check_sarif(log: &Value) {
    // 3.13
    assert_eq!(log["version"], "2.1.0");
    for run in log["runs"].as_array().unwrap() {
        // 3.18.2, 3.19.8, 3.49.3
        let driver = &run["tool"]["driver"];
        assert!(driver["name"].is_string());
        let rules = driver["rules"].as_array().unwrap();
        let level = |value: &Value| {
            assert!(["none", "note", "warning", "error"].contains(&value.as_str().unwrap()));
        };
        for rule in rules {
            assert!(rule["id"].is_string() && rule["shortDescription"]["text"].is_string());
            level(&rule["defaultConfiguration"]["level"]);
        }
        for invocation in run["invocations"].as_array().unwrap() {
            // 3.20.14
            assert!(invocation["executionSuccessful"].is_boolean());
        }
        for result in run["results"].as_array().unwrap() {
            // 3.27.11, 3.27.5, 3.27.6
            assert!(result["message"]["text"].is_string());
            level(&result["level"]);
            let index = result["ruleIndex"].as_u64().unwrap() as usize;
            assert_eq!(rules[index]["id"], result["ruleId"]);
            for of in ["locations", "relatedLocations"] {
                for location in result[of].as_array().into_iter().flatten() {
                    // 3.29.3, 3.30.5: lines begin with 1.
                    let place = &location["physicalLocation"];
                    assert!(place["artifactLocation"]["uri"].is_string());
                    assert!(place["region"]["startLine"].as_u64().unwrap() >= 1);
                }
            }
        }
    }
}

/// Findings become SARIF with the paths of the sources, and with rules, levels and lines.
#[test]
fn findings_become_sarif() {
    let folder = tempfile::tempdir().unwrap();
    let sources = folder.path().join("src/of it");
    fs::create_dir_all(&sources).unwrap();
    fs::write(sources.join("found.c"), "").unwrap();
    let finding = |class: &str, site: &str, other: &str| {
        json!({
            "class": class, "ranks": [0, 2], "function": "MPI_Isend", "site": site, "message": "it is \"wrong\" in f::{closure}",
            "count": 3, "other_site": other,
        })
    };
    let findings = json!({
        "schema": "mpi-tool-check/1", "tool": "mpi-check", "ranks": 4, "partial": false, "suppressed": 0,
        "limits": ["not all was looked at"],
        "findings": [
            finding("buffer-in-use", "found.c:31 main", "started at elsewhere.c:7 send(int, int)"),
            finding("leak", "a.out+0x12", ""),
        ],
    });
    fs::write(folder.path().join("findings.json"), findings.to_string()).unwrap();
    let outcome = mpi_tool(folder.path(), &["report", "findings.json", "-o", "findings.sarif"]);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    let sarif = fs::read_to_string(folder.path().join("findings.sarif")).unwrap();
    let sarif: Value = serde_json::from_str(&sarif).unwrap();
    check_sarif(&sarif);
    let results = &sarif["runs"][0]["results"];
    assert_eq!(results.as_array().unwrap().len(), 2);
    let place = |location: &Value| {
        let place = &location["physicalLocation"];
        (place["artifactLocation"]["uri"].clone(), place["region"]["startLine"].clone())
    };
    let first = &results[0];
    assert_eq!((&first["ruleId"], &first["level"]), (&json!("buffer-in-use"), &json!("error")));
    // 3.11.5: braces stand twice.
    assert_eq!(first["message"]["text"], "it is \"wrong\" in f::{{closure}}");
    assert_eq!(first["occurrenceCount"], 3);
    assert_eq!(place(&first["locations"][0]), (json!("src/of%20it/found.c"), json!(31)));
    assert_eq!(place(&first["relatedLocations"][0]), (json!("elsewhere.c"), json!(7)));
    assert_eq!(results[1]["level"], "warning");
    assert_eq!(results[1]["locations"], Value::Null);
    let notes = &sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"];
    assert_eq!(notes[0]["message"]["text"], "not all was looked at");
}

/// What is no list of findings is refused, by its name.
#[test]
fn other_reports_are_no_findings() {
    let folder = tempfile::tempdir().unwrap();
    for contents in ["", "{}", "[]", "{\"schema\": \"mpi-tool-report/2\"}"] {
        fs::write(folder.path().join("other.json"), contents).unwrap();
        let outcome = mpi_tool(folder.path(), &["report", "other.json", "--to", "sarif"]);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{contents}");
        assert!(outcome.said()[0].starts_with("other.json "), "{contents}: {outcome:?}");
    }
}

/// A file that is not there is told before anything starts.
#[test]
fn a_missing_file_of_suppressions_is_told() {
    let outcome = mpi_tool(Path::new("/"), &["check", "--suppress", "none.txt", "--", "true"]);
    assert_eq!(outcome.status, Some(2));
    assert_eq!(outcome.said(), ["none.txt: there is no such file (--suppress)"]);
}
