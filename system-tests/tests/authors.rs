//! The example tools of mpi-tool-layer, as authors write them: what they find in a program whose calls are known.

use serde_json::{Value, json};
use test_support::{Run, compile, example, is_openmpi_4};

/// A run of `authors.c` on two ranks with an example.
fn run(tool: &str, arguments: &[&str]) -> Run {
    Run::new(&compile("authors"), 2).arguments(arguments).preload(example(tool))
}

/// What it reports as JSON.
fn report(tool: &str, arguments: &[&str]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("report.json");
    let run = run(tool, arguments)
        .variable("MPI_TOOL_FORMAT", "json")
        .variable("MPI_TOOL_OUTPUT", path.to_str().unwrap());
    run.run().expect_success(tool);
    test_support::schema::report(&std::fs::read_to_string(path).unwrap())
}

/// Every third send of rank 1 fails, and its error handler is called.
#[test]
fn faults_are_raised_where_they_are_asked_for() {
    let faults = run("fault", &["sends"])
        .variable("MPI_TOOL_FAULT_EVERY", "3")
        .variable("MPI_TOOL_FAULT_RANK", "1");
    let outcome = faults.run();
    outcome.expect_success("fault");
    assert_eq!(outcome.lines(), ["rank 0: 0 failed, 0 handled", "rank 1: 2 failed, 2 handled"]);
    assert!(outcome.stderr.contains("MPI_Send: 2"), "{}", outcome.stderr);
    let none = run("fault", &["sends"]).run();
    assert_eq!(none.lines(), ["rank 0: 0 failed, 0 handled", "rank 1: 0 failed, 0 handled"]);
}

/// The rows are those of the program, by rank and in their order, with times that follow each other.
#[test]
fn accesses_of_files_are_logged() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("data, \"quoted\"");
    let file = file.to_str().unwrap();
    let report = report("io_log", &["accesses", file]);
    let columns = json!(["rank", "function", "file", "offset", "bytes", "at", "time"]);
    assert_eq!((&report["columns"], &report["rows_are"]), (&columns, &json!("accesses")));
    let rows = report["rows"].as_array().unwrap();
    let without_times: Vec<&[Value]> =
        rows.iter().map(|row| &row.as_array().unwrap()[..5]).collect();
    let expected = [
        json!([0, "MPI_File_open", file, null, null]),
        json!([0, "MPI_File_write_at", file, 32, 16]),
        json!([0, "MPI_File_iwrite_at", file, 64, 8]),
        json!([0, "MPI_File_read_at_all", file, 64, 8]),
        json!([0, "MPI_File_close", file, null, null]),
        json!([1, "MPI_File_open", file, null, null]),
        json!([1, "MPI_File_read_at_all", file, 64, 8]),
        json!([1, "MPI_File_close", file, null, null]),
    ];
    // Open MPI says of what is written without waiting that it has no bytes, with and without a tool.
    let is_as_expected = |(row, wanted): (&&[Value], &Value)| {
        let wanted = wanted.as_array().unwrap();
        let length = if wanted[1] == "MPI_File_iwrite_at" { 4 } else { 5 };
        row[..length] == wanted[..length]
    };
    assert_eq!(rows.len(), expected.len(), "{report:#}");
    assert!(without_times.iter().zip(&expected).all(is_as_expected), "{report:#}");
    for (before, row) in rows.iter().zip(&rows[1..]).filter(|(one, next)| one[0] == next[0]) {
        let ended = before[5].as_u64().unwrap() + before[6].as_u64().unwrap();
        assert!(ended <= row[5].as_u64().unwrap(), "{report:#}");
    }
    let text = run("io_log", &["accesses", file]).run();
    text.expect_success("io_log");
    assert!(text.stderr.contains("# io-log "), "{}", text.stderr);
    assert_eq!(text.stderr.matches("MPI_File_read_at_all").count(), 2, "{}", text.stderr);
}

/// In phase 1 there are 64 MB more than before.
#[test]
fn gauges_are_not_added_up() {
    let report = report("memory", &["memory"]);
    let of = |name: &str, class: &str, what: &str| {
        let counters = report["counters"].as_array().unwrap();
        let counter = counters.iter().find(|one| one["name"] == name && one["class"] == class);
        counter.unwrap_or_else(|| panic!("{name}, {class}: {report:#}"))[what].as_f64().unwrap()
    };
    let (before, in_phase) = ("outside of phases", "phase 1");
    for what in ["min", "mean", "max"] {
        let more = of(in_phase, "highest", what) - of(before, "last", what);
        assert!((60_000.0..90_000.0).contains(&more), "{what}, {more} kB: {report:#}");
    }
    let all = report["counters"].as_array().unwrap();
    assert!(all.iter().all(|one| one["total"].is_null() && one["gauge"] == true), "{report:#}");
    let text = run("memory", &["memory"]).run();
    assert!(text.stderr.contains("kB resident, of 2 ranks"), "{}", text.stderr);
    assert!(text.stderr.contains("phase 1, highest: "), "{}", text.stderr);
}

/// Three messages of four bytes and one of four thousand.
#[test]
fn arrivals_are_told_by_source_tag_and_size() {
    let report = report("arrivals", &["messages"]);
    let rows = report["rows"].as_array().unwrap();
    let mut found: Vec<[u64; 4]> = rows
        .iter()
        .map(|row| {
            let number = |name: &str| row[name].as_u64().unwrap();
            [
                number("source"),
                number("tag"),
                number("messages"),
                row["received"]["sum"].as_u64().unwrap(),
            ]
        })
        .collect();
    found.sort_unstable();
    assert_eq!(found, [[1, 5, 3, 12], [1, 6, 1, 4000]], "{report:#}");
}

/// The hooks are called once for a world and once for sessions, with a position where there is a world.
#[test]
fn tools_hear_when_mpi_starts_and_ends() {
    let said = |program: &std::path::Path, ranks: u32| {
        let outcome = Run::new(program, ranks).preload(example("hooks")).run();
        outcome.expect_success("hooks");
        let lines = outcome.stderr.lines().filter(|line| line.starts_with("hooks: "));
        let mut lines: Vec<String> = lines.map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    let world = said(&compile("ring"), 2);
    let of = |what: &str| [0, 1].map(|rank| format!("hooks: {what} at {rank} of 2"));
    assert_eq!(world, [of("ends"), of("starts")].concat());
    // Two sessions one after the other, where the MPI can start again; none if it has no sessions.
    let sessions = said(&compile("sessions"), 2);
    let count = |what: &str| {
        let line = format!("hooks: {what} without a world");
        sessions.iter().filter(|said| **said == line).count()
    };
    assert_eq!(count("starts"), count("ends"), "{sessions:?}");
    assert_eq!(count("starts") + count("ends"), sessions.len(), "{sessions:?}");
    assert!([0, 2, 4].contains(&count("starts")), "{sessions:?}");
    assert!(count("starts") > 0 || is_openmpi_4(), "{sessions:?}");
}
