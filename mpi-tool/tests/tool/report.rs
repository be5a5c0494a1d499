//! `mpi-tool report`: reports of `mpi-profile`, printed with source lines and as numbers, and files that are none.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{Outcome, compile_with, mpi_tool, run_two, setting, text};

/// What `report.c` calls on two ranks, by hand: function, calls, and bytes that are sent and received.
const FUNCTIONS: [(&str, u64, u64, u64); 6] = [
    ("MPI_Barrier", 2 * 4, 0, 0),
    ("MPI_Comm_rank", 2, 0, 0),
    ("MPI_Finalize", 2, 0, 0),
    ("MPI_Init", 2, 0, 0),
    ("MPI_Recv", 3 + 2, 0, 3 * 40 + 2 * 400),
    ("MPI_Send", 3 + 2, 3 * 40 + 2 * 400, 0),
];

/// A report of `report.c`, in a folder: `profile.json`.
fn profiled() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let program = compile_with(setting("MPICC"), "report", "report", &["-g"]);
    let options = ["--tool", "mpi-profile", "--format", "json", "--output", "profile.json"];
    let outcome = run_two(folder.path(), &options, &[text(&program)]);
    assert_eq!((outcome.status, outcome.said()), (Some(0), vec![]), "{outcome:?}");
    folder
}

/// `mpi-tool report profile.json OPTIONS`, which succeeds and complains of nothing.
fn printed(folder: &TempDir, options: &[&str]) -> String {
    let arguments: Vec<_> = ["report", "profile.json"].iter().chain(options).copied().collect();
    let outcome = mpi_tool(folder.path(), &arguments);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{arguments:?}");
    outcome.stdout
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The line of `report.c` that has a comment.
fn line_of(comment: &str) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/report.c");
    let source = fs::read_to_string(source).unwrap();
    let mut lines =
        source.lines().zip(1..).filter(|(line, _)| line.ends_with(&format!("/* {comment} */")));
    let line = lines.next().unwrap_or_else(|| panic!("no line is {comment}")).1;
    assert!(lines.next().is_none(), "one line is {comment}");
    format!("report.c:{line}")
}

/// What `addr2line -i -f` of the binutils says of a place: functions and lines, the innermost first.
fn addr2line(place: &Value) -> Vec<(String, String)> {
    let mut addr2line = Command::new("addr2line");
    let offset = format!("{:#x}", place["offset"].as_u64().unwrap());
    addr2line.args(["-i", "-f", "-e", place["file"].as_str().unwrap(), &offset]);
    let output = addr2line.output().expect("addr2line runs");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<_> =
        text.lines().map(|line| line.split(" (discriminator").next().unwrap()).collect();
    lines.chunks(2).map(|frame| (frame[0].to_owned(), frame[1].to_owned())).collect()
}

#[test]
fn functions_are_numbers_for_programs() {
    let folder = profiled();
    let csv = printed(&folder, &["--by", "function", "--to", "csv"]);
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let column = |name: &str| {
        header.iter().position(|column| *column == name).unwrap_or_else(|| panic!("{name}: {csv}"))
    };
    let [function, calls, seconds] = ["function", "calls", "seconds"].map(column);
    let [sent, received] = ["bytes_sent", "bytes_received"].map(column);
    let mut rows = Vec::new();
    for line in lines {
        assert_eq!(line.len(), header.len(), "{csv}");
        let number = |column: usize| line[column].parse::<u64>().unwrap();
        rows.push((line[function], number(calls), number(sent), number(received)));
        let time: f64 = line[seconds].parse().unwrap();
        // The report is made inside of MPI_Finalize, which has no time.
        assert_eq!(time > 0.0, line[function] != "MPI_Finalize", "{csv}");
    }
    assert_eq!(rows, FUNCTIONS);

    let printed = json(&printed(&folder, &["--by", "function", "--to", "json"]));
    let sum = |row: &Value, measure: &str| row[measure]["sum"].as_u64().unwrap();
    let rows = printed["rows"].as_array().unwrap().iter().map(|row| {
        let calls = row["calls"].as_u64().unwrap();
        (row["function"].as_str().unwrap(), calls, sum(row, "sent"), sum(row, "received"))
    });
    assert_eq!(rows.collect::<Vec<_>>(), FUNCTIONS);
}

#[test]
fn sites_have_the_lines_of_addr2line() {
    let folder = profiled();
    let printed = json(&printed(&folder, &["--to", "json"]));
    let sites = printed["sites"].as_array().unwrap();
    assert!(!sites.is_empty());
    for place in sites.iter().flat_map(|site| site.as_array().unwrap()) {
        let frames = place["frames"].as_array().unwrap().iter().map(|frame| {
            let line = format!("{}:{}", frame["file"].as_str().unwrap(), frame["line"]);
            (frame["function"].as_str().unwrap().to_owned(), line)
        });
        assert_eq!(frames.collect::<Vec<_>>(), addr2line(place), "{place}");
    }
    // But for the frames, it is the report that the tool has written.
    let mut plain = printed.clone();
    for place in plain["sites"].as_array_mut().unwrap() {
        for place in place.as_array_mut().unwrap() {
            place.as_object_mut().unwrap().remove("frames");
        }
    }
    assert_eq!(plain, json(&fs::read_to_string(folder.path().join("profile.json")).unwrap()));
}

/// The wrappers' calls, each with its line, its callers' lines and its calls.
#[test]
fn the_text_shows_the_wrappers_callers() {
    let folder = profiled();
    let text = printed(&folder, &[]);
    let mut lines = text.lines();
    assert!(lines.next().unwrap().ends_with(": calls of 2 ranks"), "{text}");
    assert!(lines.next().unwrap().starts_with("wall time "), "{text}");
    assert!(lines.next().unwrap().starts_with("parallel efficiency "), "{text}");
    let from = |comment: &str, function: &str| format!("{} {function}", line_of(comment));
    let wrapped = |call: &str, from_main: &str| {
        let callers = [from("wrapped", "exchange"), from(from_main, "main")];
        format!("{} < {}", from(call, "transfer"), callers.join(" < "))
    };
    let barrier = format!("{} < {}", from("meet", "meet"), from("barriers", "main"));
    let expected = [
        ("MPI_Send", 3, "120 B", "0 B", wrapped("send", "short")),
        ("MPI_Send", 2, "800 B", "0 B", wrapped("send", "long")),
        ("MPI_Recv", 3, "0 B", "120 B", wrapped("receive", "short")),
        ("MPI_Recv", 2, "0 B", "800 B", wrapped("receive", "long")),
        ("MPI_Barrier", 8, "0 B", "0 B", barrier),
    ];
    for (function, calls, sent, received, site) in &expected {
        let end = format!("{calls:>13}{sent:>12}{received:>12}  {function}, {site}");
        let found = text.lines().filter(|line| line.ends_with(&end)).count();
        assert_eq!(found, 1, "{end}\n{text}");
    }
    // Five of these, and MPI_Init, MPI_Comm_rank and MPI_Finalize.
    let top = printed(&folder, &["--top", "3"]);
    assert!(top.ends_with("and 5 lines more: --top 0 prints all\n"), "{top}");

    let csv = printed(&folder, &["--to", "csv"]);
    for (function, calls, _, _, site) in expected {
        let places: Vec<_> = site.split(" < ").collect();
        let is_it = |line: &&str| {
            let mut rest = line.strip_prefix(&format!("{function},")).unwrap_or("");
            // The paths of the files are in front of their names.
            places.iter().all(|place| {
                let found = rest.find(&format!("/{place}"));
                rest = found.map_or("", |at| &rest[at..]);
                found.is_some()
            }) && rest.contains(&format!(",{calls},"))
        };
        assert_eq!(csv.lines().filter(is_it).count(), 1, "{function} {site}\n{csv}");
    }
}

/// The program has changed since: no lines of it are shown, and why is said.
#[test]
fn another_program_has_no_lines() {
    let folder = profiled();
    let report = fs::read_to_string(folder.path().join("profile.json")).unwrap();
    let mut report = json(&report);
    let program = folder.path().join("changed");
    fs::copy("/bin/true", &program).unwrap();
    for place in report["sites"]
        .as_array_mut()
        .unwrap()
        .iter_mut()
        .flat_map(|site| site.as_array_mut().unwrap())
    {
        place["file"] = text(&program).into();
    }
    fs::write(folder.path().join("changed.json"), report.to_string()).unwrap();
    let outcome = mpi_tool(folder.path(), &["report", "changed.json"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert_eq!(outcome.stderr.matches("it is not the file that ran").count(), 1, "{outcome:?}");
    assert!(outcome.stdout.contains(" MPI_Barrier, changed+0x"), "{outcome:?}");
    assert!(!outcome.stdout.contains("report.c"), "{outcome:?}");
}

/// `mpi-tool report FILE` fails and says why in one line; it never panics.
fn refused(folder: &Path, contents: Option<&[u8]>) -> String {
    let file: PathBuf = folder.join("some.json");
    match contents {
        Some(contents) => fs::write(&file, contents).unwrap(),
        None => assert!(!file.exists()),
    }
    let mut last = None;
    for options in
        [&[][..], &["--to", "json"], &["--to", "csv"], &["--by", "function", "--to", "csv"]]
    {
        let arguments: Vec<_> = ["report", "some.json"].iter().chain(options).copied().collect();
        let outcome: Outcome = mpi_tool(folder, &arguments);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{outcome:?}");
        assert_eq!(outcome.said().len(), 1, "{outcome:?}");
        assert!(outcome.said()[0].contains("some.json"), "{outcome:?}");
        assert!(!outcome.stderr.contains("panicked"), "{outcome:?}");
        last = Some(outcome.said()[0].to_owned());
    }
    last.unwrap()
}

#[test]
fn what_is_no_report_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    assert!(refused(folder, None).contains("No such file"));
    for (contents, reason) in [
        (&b""[..], "is no report in JSON"),
        (b"# call-counter 0.1.0: calls\nMPI_Init: 1\n", "is no report in JSON"),
        (b"\xff\xfe\x00", "some.json"),
        (b"[]", "is no report of a tool"),
        (b"{\"schema\": 2}", "is no report of a tool"),
        (b"{\"schema\": \"mpi-tool-report/1\", \"counters\": []}", "has no table to print"),
        (b"{\"schema\": \"mpi-tool-check/1\", \"findings\": []}", "--to sarif writes them"),
        (b"{\"schema\": \"mpi-tool-report/2\"}", "is not as a report should be"),
    ] {
        let said = refused(folder, Some(contents));
        assert!(said.contains(reason), "{said}");
    }
}

/// A later run that was ended has left reports of its ranks beside the earlier run's.
#[test]
fn a_report_of_an_earlier_run_is_told_as_such() {
    let folder = profiled();
    let folder = folder.path();
    let report = || mpi_tool(folder, &["report", "profile.json"]);
    assert_eq!(report().stderr, "");
    std::thread::sleep(std::time::Duration::from_millis(20));
    fs::copy(folder.join("profile.json"), folder.join("profile.json.rank1")).unwrap();
    // Copies keep no times.
    let outcome = report();
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert!(
        outcome.stderr.contains("is of an earlier run than ./profile.json.rank1")
            || outcome.stderr.contains("is of an earlier run than profile.json.rank1"),
        "{outcome:?}"
    );
}

/// A real report with something broken in it, in turn: what a person or a full disk may do to it.
#[test]
fn a_broken_report_is_refused() {
    let folder = profiled();
    let folder = folder.path();
    let whole = fs::read(folder.join("profile.json")).unwrap();
    refused(folder, Some(&whole[..whole.len() / 2]));
    let whole = json(&String::from_utf8(whole).unwrap());
    type Break = fn(&mut Value);
    let breaks: [(&str, Break); 9] = [
        ("rows are none", |report| report["rows"] = "many".into()),
        ("a row is a number", |report| report["rows"][0] = 1.into()),
        ("a row has no function", |report| report["rows"][0]["function"] = Value::Null),
        ("a row has no calls", |report| report["rows"][0]["calls"] = (-1).into()),
        ("a site is not there", |report| report["rows"][0]["site"] = 1_000_000.into()),
        ("a site is number 0", |report| report["rows"][0]["site"] = 0.into()),
        ("a place is a text", |report| report["sites"][0][0] = "main".into()),
        ("an offset is a text", |report| report["sites"][0][0]["offset"] = "0x12".into()),
        ("no measures", |report| report["measures"] = Value::Null),
    ];
    for (what, break_it) in breaks {
        let mut report = whole.clone();
        break_it(&mut report);
        let arguments = ["report", "broken.json"];
        fs::write(folder.join("broken.json"), report.to_string()).unwrap();
        let outcome = mpi_tool(folder, &arguments);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(2), ""), "{what}: {outcome:?}");
        assert_eq!(outcome.said().len(), 1, "{what}: {outcome:?}");
        assert!(outcome.said()[0].contains("broken.json"), "{what}: {outcome:?}");
    }
}

/// At `-O2` and above, one line of the source may have several call instructions, of which the report itself has a site
/// each. Printed, they are one.
#[test]
fn a_line_with_several_calls_is_one_site() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["-g", "-O3", "-funroll-loops"];
    let program = compile_with(setting("MPICC"), "one_line", "one_line", &flags);
    let options = ["--tool", "mpi-profile", "--format", "json", "--output", "profile.json"];
    let outcome = run_two(folder.path(), &options, &[text(&program)]);
    assert_eq!((outcome.status, outcome.said()), (Some(0), vec![]), "{outcome:?}");
    let csv = printed(&folder, &["--to", "csv"]);
    let barriers: Vec<_> = csv.lines().filter(|line| line.starts_with("MPI_Barrier,")).collect();
    let calls = |place: &str| {
        let of_place: Vec<_> = barriers.iter().filter(|line| line.contains(place)).collect();
        assert_eq!(of_place.len(), 1, "{place}: {csv}");
        of_place[0].split(',').nth(2).unwrap().parse::<u64>().unwrap()
    };
    // On two ranks.
    assert_eq!((calls("one_line.c:6 several"), calls("one_line.c:11 main")), (2 * 3, 2 * 2));
    assert_eq!(barriers.len(), 2, "{csv}");
    // The table of the report has one for each instruction.
    let report = json(&printed(&folder, &["--to", "json"]));
    let rows = report["rows"].as_array().unwrap().iter();
    assert!(rows.filter(|row| row["function"] == "MPI_Barrier").count() >= 4, "{report:#}");
    for options in [&[][..], &["--to", "html"]] {
        // The advice may name it once more, if the ranks waited long in it.
        let text = printed(&folder, options).replace("Look at MPI_Barrier, one_line.c:6", "");
        assert_eq!(text.matches(", one_line.c:6 several").count(), 1, "{text}");
    }
}
