//! mpi-check: what it says and where, and what changes by its settings. `check_programs.rs` has its collections of programs.

#[path = "check/common.rs"]
mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;
use test_support::{Outcome, Run, compile_with, is_debian, is_openmpi, tool};

use common::{checked, is_named, program, source};

/// Programs in Rust, by way of rmpi: a line of `rmpi/tests/tools/wrong.rs` that ends in a class is named, and nothing is
/// found in the right ones.
#[test]
fn wrong_programs_in_rust_are_named() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rmpi/tests/tools/wrong.rs");
    let text = fs::read_to_string(source).unwrap();
    let program = test_support::program("wrong");
    let mut faults: BTreeMap<&str, Option<(&str, String)>> = BTreeMap::new();
    let mut last = "";
    for (index, line) in text.lines().enumerate() {
        if let Some(name) = line.trim_start().strip_prefix('"') {
            last = name.split('"').next().unwrap();
            faults.entry(last).or_default();
        }
        if let Some((_, class)) =
            line.split_once(" // ").filter(|(code, _)| !code.trim().is_empty())
        {
            let fault = (class, format!("wrong.rs:{} ", index + 1));
            faults.insert(last, Some(fault));
        }
    }
    assert_eq!((faults.values().flatten().count(), faults.len()), (9, 13));
    for (name, fault) in faults {
        let run = Run::new(&program, 2).arguments(&[name]).seconds(60);
        let (report, outcome) = checked(run);
        let report = report.unwrap_or_else(|| panic!("{name}: {}", outcome.stderr));
        let findings = report["findings"].as_array().unwrap();
        match &fault {
            None => {
                outcome.expect_success(name);
                assert!(findings.is_empty(), "{name}: {report:#}");
            }
            Some((class, line)) => {
                // Either rank may come first: the message has the other one's place.
                let fields = ["site", "other_site", "message"];
                let is_it = is_named(findings, class, line, &fields);
                assert!(is_it, "{name}, {class}, {line}: {report:#}");
            }
        }
    }
}

/// Nothing is found in right programs, on any number of ranks and with any thread level.
#[test]
fn nothing_is_found_in_right_programs() {
    // Ranks of Debian's MPICH never give up their core: five take a minute and a half.
    let ranks = if is_debian() { 3 } else { 5 };
    let run = || Run::new(&program("right"), ranks).arguments(&["all", "threads"]).seconds(600);
    let plain = run().run();
    plain.expect_success("right");
    let (report, outcome) = checked(run());
    outcome.expect_success("right");
    assert_eq!(outcome.stdout, plain.stdout);
    let report = report.unwrap();
    assert_eq!(report["findings"], Value::Array(Vec::new()), "{report:#}");
    assert_eq!((&report["ranks"], &report["partial"]), (&ranks.into(), &false.into()));
}

/// Nothing is found where threads call MPI one at a time, and where one leaves a call by a jump.
#[test]
fn nothing_is_found_where_threads_take_turns() {
    for _ in 0..5 {
        let (report, outcome) = checked(Run::new(&program("threads"), 2));
        outcome.expect_success("threads");
        let report = report.unwrap();
        assert_eq!(report["findings"], Value::Array(Vec::new()), "{report:#}");
    }
}

/// What MPI-4 lets outlive the world is judged at the process's end.
#[test]
fn what_outlives_the_world_is_no_leak() {
    let run = |what: &str| checked(Run::new(&program("outside"), 2).arguments(&[what]));
    let (report, outcome) = run("freed");
    outcome.expect_success("outside");
    assert_eq!(report.unwrap()["findings"], Value::Array(Vec::new()));
    assert!(!outcome.stderr.contains("leak"), "{}", outcome.stderr);
    let text = fs::read_to_string(source("outside")).unwrap();
    let at = text.lines().position(|line| line.ends_with("/* SESSION */")).unwrap() + 1;
    let left = run("left").1;
    if left.stdout.contains("with a session") {
        let said = left.stderr;
        assert!(said.contains(&format!("mpi-check: leak at outside.c:{at} main")), "{said}");
    }
}

/// Who goes on after a wait that has failed is told of that message, and of no request: whether those are complete, only MPI
/// knows.
#[test]
fn requests_whose_completion_failed_are_not_accused() {
    let (report, outcome) = checked(Run::new(&program("survives"), 2));
    outcome.expect_success("survives");
    let report = report.unwrap();
    let findings = report["findings"].as_array().unwrap();
    assert!(!findings.is_empty(), "{report:#}");
    assert!(findings.iter().all(|finding| finding["class"] == "truncation"), "{report:#}");
}

/// What only the root says, and what may be a null pointer.
#[test]
fn nothing_is_found_where_programs_are_started() {
    let outcome = Run::new(&program("starts"), 2).preload(tool("mpi_check")).run();
    outcome.expect_success("starts");
    let said = outcome.stderr.lines().filter(|line| line.starts_with("mpi-check: "));
    for line in said {
        assert!(line.starts_with("mpi-check: nothing was found"), "{}", outcome.stderr);
    }
    assert!(
        outcome.stderr.contains("mpi-check: nothing was found (2 ranks)"),
        "{}",
        outcome.stderr
    );
}

/// Who waits for a process of another world may go on. Open MPI's own programs of this kind hang.
#[test]
fn processes_of_other_worlds_may_come_late() {
    if is_openmpi() {
        return;
    }
    let outcome = Run::new(&program("merged"), 2).preload(tool("mpi_check")).run();
    outcome.expect_success("merged");
    let said = outcome.stderr.lines().filter(|line| line.starts_with("mpi-check: "));
    for line in said {
        assert!(line.starts_with("mpi-check: nothing was found"), "{}", outcome.stderr);
    }
}

/// MPI may refuse a collective operation before it has met the others: those who call it again are not out of step.
#[test]
fn collective_operations_that_were_refused_are_not_counted() {
    let (report, outcome) = checked(Run::new(&program("refused"), 2));
    outcome.expect_success("refused");
    let report = report.unwrap();
    let findings = report["findings"].as_array().unwrap();
    let classes: Vec<_> = findings.iter().map(|finding| &finding["class"]).collect();
    assert_eq!(classes, ["invalid-argument"], "{report:#}");
}

/// The report says what was found, once, and the exit status is another one only if the user has asked for that.
#[test]
fn the_exit_status_changes_only_when_asked() {
    let run = |fails: &str, name: &str| {
        let run = Run::new(&program("wrong"), 2).arguments(&[name]).preload(tool("mpi_check"));
        run.variable("MPI_TOOL_MPI_CHECK_FAIL", fails).run()
    };
    let silent = run("0", "leak_dup");
    silent.expect_success("wrong");
    assert_eq!(
        silent.stderr.matches("mpi-check: leak at wrong.c:").count(),
        1,
        "{}",
        silent.stderr
    );
    assert!(silent.stderr.contains("mpi-check: 1 finding (2 ranks)"), "{}", silent.stderr);
    assert!(silent.stderr.contains(", ranks 0-1, 2 times"), "{}", silent.stderr);
    assert_ne!(run("1", "leak_dup").status, Some(0));
    let right = run("1", "no such program");
    right.expect_success("wrong");
    assert!(right.stderr.contains("mpi-check: nothing was found (2 ranks)"), "{}", right.stderr);
}

/// The line of `order.c` with a comment.
fn line_of(comment: &str) -> String {
    let text = fs::read_to_string(source("order")).unwrap();
    let at = text.lines().position(|line| line.ends_with(&format!("/* {comment} */"))).unwrap();
    format!("order.c:{} ", at + 1)
}

/// A run of `order.c` with a tool that changes calls.
fn ordered(tool_name: &str, name: &str, ranks: u32) -> Run {
    Run::new(&program("order"), ranks).arguments(&[name]).preload(tool(tool_name)).seconds(20)
}

/// What leans on buffering, or on an early end of a collective operation, stands with mpi-strict, and mpi-check behind it
/// says where. Without mpi-strict, nothing is wrong.
#[test]
fn strict_shows_what_leans_on_buffering() {
    for (name, comment) in [("buffered", "LEANS"), ("early", "EARLY")] {
        let plain = Run::new(&program("order"), 2).arguments(&[name]).run();
        plain.expect_success(name);
        let (report, outcome) = checked(ordered("mpi_strict", name, 2));
        let report = report.unwrap_or_else(|| panic!("{name}: {}", outcome.stderr));
        let is_named = report["findings"].as_array().unwrap().iter().any(|finding| {
            finding["class"] == "deadlock"
                && finding["ranks"] == serde_json::json!([0, 1])
                && finding.to_string().contains(&line_of(comment))
        });
        assert!(is_named, "{name}: {report:#}");
    }
}

/// A right program has the same results with mpi-strict and with mpi-perturb, and mpi-check finds nothing behind them.
#[test]
fn right_programs_are_the_same_with_strict_and_perturb() {
    let sorted = |outcome: &test_support::Outcome| {
        let mut lines: Vec<_> = outcome.stdout.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let plain = Run::new(&program("order"), 4).arguments(&["right"]).run();
    plain.expect_success("right");
    assert_eq!(sorted(&plain).len(), 4, "{}", plain.stdout);
    for tool_name in ["mpi_strict", "mpi_perturb"] {
        let (report, outcome) = checked(ordered(tool_name, "right", 4).seconds(60));
        outcome.expect_success(tool_name);
        assert_eq!(sorted(&outcome), sorted(&plain), "{tool_name}");
        assert_eq!(report.unwrap()["findings"], Value::Array(Vec::new()), "{tool_name}");
    }
}

/// With mpi-perturb, a receive from anybody takes one or the other of the messages that are there, as the seed says.
#[test]
fn perturb_shows_races_and_repeats_them() {
    let order = |seed: u32| {
        let run = ordered("mpi_perturb", "race", 3);
        let outcome = run.variable("MPI_TOOL_MPI_PERTURB_SEED", &seed.to_string()).run();
        outcome.expect_success("race");
        outcome.stdout
    };
    let all: Vec<String> = (1..=6).map(order).collect();
    let orders: BTreeSet<&str> = all.iter().map(|text| text.trim()).collect();
    assert_eq!(orders, BTreeSet::from(["order 1 2", "order 2 1"]));
    assert_eq!(order(1), all[0]);
    assert_eq!(order(2), all[1]);
}

/// A receive from anybody that might have got another message is told if the user asks, and is no fault.
#[test]
fn races_are_told_when_asked() {
    let run = |races: &str| {
        let run = Run::new(&program("order"), 3).arguments(&["race"]);
        let run = run.variable("MPI_TOOL_MPI_CHECK_RACES", races);
        let (report, outcome) = checked(run.variable("MPI_TOOL_MPI_CHECK_FAIL", "1"));
        outcome.expect_success("race");
        report.unwrap()["findings"].clone()
    };
    assert_eq!(run("0"), Value::Array(Vec::new()));
    let found = run("1");
    assert_eq!(found.as_array().unwrap().len(), 1, "{found:#}");
    let [class, site] = ["class", "site"].map(|field| found[0][field].as_str().unwrap());
    assert_eq!((class, &found[0]["ranks"]), ("message-race", &serde_json::json!([0])));
    assert!(site.starts_with(&line_of("RACE")), "{site}");
}

/// Findings that the user knows are counted and not told; a wrong line of the file is told.
#[test]
fn known_findings_are_suppressed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("known");
    let run = |lines: &str| {
        fs::write(&file, lines).unwrap();
        let run =
            Run::new(&program("wrong"), 2).arguments(&["leak_dup"]).preload(tool("mpi_check"));
        let run = run.variable("MPI_TOOL_MPI_CHECK_FAIL", "1");
        run.variable("MPI_TOOL_MPI_CHECK_SUPPRESS", file.to_str().unwrap()).run()
    };
    for lines in ["# known\n\nleak", "leak  MPI_Comm_dup  wrong.c:*", "* MPI_Comm_* *leak_dup"] {
        let outcome = run(lines);
        outcome.expect_success(lines);
        assert!(!outcome.stderr.contains("mpi-check: leak"), "{lines}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("\n  1 finding was suppressed\n"), "{}", outcome.stderr);
    }
    for lines in ["leak MPI_Comm_split", "deadlock", "leak * right.c:*"] {
        let outcome = run(lines);
        assert_ne!(outcome.status, Some(0), "{lines}");
        assert!(!outcome.stderr.contains("suppressed"), "{}", outcome.stderr);
    }
    let outcome = run("leek\nleak MPI_Comm_dub");
    let told = |text: &str| outcome.stderr.matches(text).count();
    assert_eq!(told("known:1: there is no class `leek`"), 1, "{}", outcome.stderr);
    assert_eq!(told("known:2: there is no function `MPI_Comm_dub`"), 1, "{}", outcome.stderr);
    assert_eq!(told("mpi-check: leak at wrong.c:"), 1, "{}", outcome.stderr);
}

/// `MPI_Finalize` may come as late as the process allows, and nothing that it does is cut off. While it calls the program,
/// others may wait for this.
#[test]
fn the_last_calls_of_a_process_are_waited_for() {
    // Launchers may kill the others when the first one has ended so.
    for (mode, ranks) in [("atexit", 1), ("destructor", 1), ("callback", 2)] {
        let run = Run::new(&program("ends"), ranks).arguments(&[mode]);
        let (report, outcome) = checked(run.variable("MPI_TOOL_MPI_CHECK_FAIL", "1").seconds(30));
        outcome.expect_success(mode);
        assert_eq!(report.unwrap()["findings"], Value::Array(Vec::new()), "{mode}");
        let run = Run::new(&program("ends"), ranks).arguments(&[mode, "left"]);
        let (report, outcome) = checked(run.variable("MPI_TOOL_MPI_CHECK_FAIL", "1").seconds(30));
        assert_ne!(outcome.status, Some(0), "{mode}");
        assert!(outcome.stdout.contains("over"), "{mode}: {}", outcome.stdout);
        let report = report.unwrap();
        assert_eq!(report["findings"].as_array().unwrap().len(), 1, "{mode}: {report:#}");
        assert_eq!(report["findings"][0]["class"], "leak", "{mode}");
    }
    let outcome = checked(Run::new(&program("ends"), 1).arguments(&["never"])).1;
    let said = "mpi-check: call-order, rank 0: the process ends without MPI_Finalize";
    assert!(outcome.stderr.contains(said), "{}", outcome.stderr);
}

/// MPI may end the job at the next call of any rank that has a finding: it is in the report by then.
#[test]
fn a_finding_is_in_the_report_before_any_rank_goes_on() {
    let text = fs::read_to_string(source("ends")).unwrap();
    let at = text.lines().position(|line| line.ends_with("/* FATAL */")).unwrap() + 1;
    for _ in 0..5 {
        let (report, outcome) = checked(Run::new(&program("ends"), 4).arguments(&["fatal"]));
        assert_ne!(outcome.status, Some(0));
        let report = report.unwrap_or_else(|| panic!("no report: {}", outcome.stderr));
        let site = report["findings"][0]["site"].as_str().unwrap();
        assert_eq!(site, format!("ends.c:{at} main"));
    }
}

/// Where the program calls MPI past the tool, what that would change is not told, and the report says so.
#[test]
fn calls_past_the_tool_are_not_guessed() {
    for flags in [&["-DOWN"][..], &[]] {
        let file = format!("check_past{}", flags.len());
        let path = compile_with(&source("past"), &file, flags);
        let (report, outcome) = checked(Run::new(&path, 2));
        outcome.expect_success("past");
        let report = report.unwrap();
        assert_eq!(report["findings"], Value::Array(Vec::new()), "{report:#}");
        let limits = report["limits"].to_string();
        assert!(limits.contains("past this tool"), "{limits}");
        assert!(limits.contains("messages were not compared"), "{limits}");
    }
}

/// Info objects may be freed until the process ends, and are looked at then.
#[test]
fn what_is_freed_after_finalize_is_no_leak() {
    let run = |when: &str| checked(Run::new(&program("late"), 2).arguments(&[when]));
    for when in ["after", "atexit", "destructor"] {
        let (report, outcome) = run(when);
        // Open MPI 5.0 itself ends with 14 if something is freed in a handler of `atexit`.
        let plain = Run::new(&program("late"), 2).arguments(&[when]).run();
        assert_eq!(outcome.status, plain.status, "{when}: {}", outcome.stderr);
        if when != "atexit" || !is_openmpi() {
            outcome.expect_success(when);
        }
        let report = report.unwrap();
        assert_eq!(report["findings"], Value::Array(Vec::new()), "{when}: {report:#}");
        assert_eq!(report["partial"], Value::Bool(false), "{when}");
    }
    let (report, outcome) = run("never");
    outcome.expect_success("never");
    let text = fs::read_to_string(source("late")).unwrap();
    let at = text.lines().position(|line| line.ends_with("/* LEFT */")).unwrap() + 1;
    let report = report.unwrap();
    let is_named = is_named(
        report["findings"].as_array().unwrap(),
        "leak",
        &format!("late.c:{at} "),
        &["site"],
    );
    // Before MPI-4 the program frees them.
    assert_eq!(is_named, !outcome.stdout.contains("over 3"), "{report:#}");
}

/// Objects of a library that calls MPI past the tool are not said to be freed, or left.
#[test]
fn handles_of_libraries_are_not_guessed() {
    let flags = ["-DLIBRARY", "-shared", "-fPIC"];
    let library = compile_with(&source("library"), "check_library.so", &flags);
    let run = Run::new(&program("library"), 2).arguments(&[library.to_str().unwrap()]);
    let (report, outcome) = checked(run);
    outcome.expect_success("library");
    let report = report.unwrap();
    assert_eq!(report["findings"], Value::Array(Vec::new()), "{report:#}");
}

/// Nothing is found where several threads call MPI at once, and where one of them does what another one waits for.
#[test]
fn nothing_is_found_where_threads_share_mpi() {
    for name in ["late", "own", "turns", "between", "any"] {
        let run = Run::new(&program("multiple"), 2).arguments(&[name]).seconds(60);
        let (report, outcome) = checked(run);
        outcome.expect_success(name);
        let report = report.unwrap();
        assert_eq!(report["findings"], Value::Array(Vec::new()), "{name}: {report:#}");
    }
}

/// Who polls may stop for a reason that no call shows: what was said meanwhile is no finding then.
#[test]
fn polling_that_ends_is_no_deadlock() {
    let judge = |how: &str| {
        let (report, outcome) =
            checked(Run::new(&program("polls"), 3).arguments(&[how]).seconds(100));
        outcome.expect_success(how);
        assert!(outcome.stderr.contains("mpi-check: possible deadlock at polls.c:"), "{how}");
        let report = report.unwrap();
        assert_eq!(report["findings"], Value::Array(Vec::new()), "{how}: {report:#}");
        assert_eq!(report["partial"], Value::Bool(false), "{how}");
    };
    std::thread::scope(|scope| {
        for how in ["file", "thread", "signal"] {
            scope.spawn(move || judge(how));
        }
    });
}

/// MPICH 5.0.2 gives a topology of fewer processes the group of its old communicator.
#[test]
fn topologies_of_fewer_processes_have_those() {
    let (report, outcome) = checked(Run::new(&program("fewer"), 4));
    outcome.expect_success("fewer");
    let report = report.unwrap();
    assert_eq!(report["findings"], Value::Array(Vec::new()), "{report:#}");
}

/// What may be right is not wrong, where nothing is known of a communicator, or where the program calls MPI past the tool.
#[test]
fn nothing_is_found_on_unknown_communicators() {
    for how in ["session", "past"] {
        let run = || Run::new(&program("unknown"), 3).arguments(&[how]);
        // Sessions do not work in each MPI that has them.
        let plain = run().run();
        if plain.status != Some(0) && how == "session" {
            continue;
        }
        let (report, outcome) = checked(run());
        outcome.expect_success(how);
        // Before MPI-4, nothing is called.
        if let Some(report) = report {
            assert_eq!(report["findings"], Value::Array(Vec::new()), "{how}: {report:#}");
        }
    }
}

/// A rank whose only thread stands, another thread that ends MPI, and threads that are in operations on one communicator at
/// once.
#[test]
fn wrong_programs_with_threads_are_named() {
    let text = fs::read_to_string(source("multiple")).unwrap();
    for (name, comment, class) in [
        ("stand", "STAND", "deadlock"),
        ("finalize", "FINALIZE", "call-order"),
        ("at once", "AT ONCE", "collective-mismatch"),
    ] {
        let at = text.lines().position(|line| line.contains(&format!("/* {comment} */"))).unwrap();
        let line = format!("multiple.c:{} ", at + 1);
        let run = Run::new(&program("multiple"), 2).arguments(&[name]).seconds(60);
        let (report, outcome) = checked(run.is_enough("findings.json", &line));
        if outcome.stdout.contains("no threads") {
            return;
        }
        let report = report.unwrap_or_else(|| panic!("{name}: {}", outcome.stderr));
        let findings = report["findings"].as_array().unwrap();
        assert!(is_named(findings, class, &line, &["site"]), "{name}: {report:#}");
    }
}

/// An operation of `loads.c` or `loads_target.c`: the line that begins it, whether it writes to the memory that is accessed, and how
/// it ends.
struct Begun {
    line: String,
    is_written: bool,
    is_of_epoch: bool,
    has_request: bool,
}

/// What begins an operation says so in a comment.
fn operations_of(file: &str, text: &str) -> Vec<Begun> {
    let of = |(index, line): (usize, &str)| {
        let comment = line.strip_suffix(" */")?.rsplit_once("/* ")?.1;
        let (uses, how) = comment.split_once(' ').unwrap_or((comment, ""));
        ["read", "written"].contains(&uses).then(|| Begun {
            line: format!("{file}:{} ", index + 1),
            is_written: uses == "written",
            is_of_epoch: how == "in an epoch",
            has_request: how == "by a request",
        })
    };
    text.lines().enumerate().filter_map(of).collect()
}

/// Flags for programs with ThreadSanitizer.
const SANITIZED: [&str; 3] = ["-w", "-O0", "-fsanitize=thread"];

/// A run of a program with ThreadSanitizer. Without these, MPI_Init ends the program, with the sanitizer and without tools.
fn sanitized(program: &Path, ranks: u32) -> Run {
    Run::new(program, ranks)
        .variable("UCX_MEM_EVENTS", "n")
        .variable("PMIX_MCA_gds", "hash")
        .seconds(120)
}

/// Nothing is found in a program with ThreadSanitizer, and that tells of nothing of MPI's: the report, and the outcome.
fn expect_nothing(run: Run) -> (Value, Outcome) {
    let (report, outcome) = checked(run);
    let report = report.unwrap_or_else(|| panic!("{}", outcome.stderr));
    assert_eq!(report["findings"], Value::Array(Vec::new()), "{report:#}");
    expect_silence(&outcome);
    (report, outcome)
}

/// `loads.c:12 ` of the line of a program that ends with a comment.
fn line_with(file: &str, text: &str, comment: &str) -> String {
    let end = format!("/* {comment} */");
    let at = text.lines().position(|line| line.ends_with(&end));
    format!("{file}:{} ", at.unwrap_or_else(|| panic!("no line {comment}")) + 1)
}

/// With ThreadSanitizer, each store and each load of a buffer that MPI uses is named with its line and with the operation's, and
/// nothing else is said: nothing at all of the same accesses behind the operation's end, neither by mpi-check nor by the
/// sanitizer, whose exit status is 66 if it has printed something.
#[test]
fn loads_and_stores_are_named_with_a_sanitizer() {
    let path = compile_with(&source("loads"), "check_loads", &SANITIZED);
    let text = fs::read_to_string(source("loads")).unwrap();
    let operations = operations_of("loads.c", &text);
    assert_eq!(operations.len(), 27);
    for epoch in ["none", "fence", "pscw", "lock", "flush", "flush_local"] {
        for order in ["store", "load", "copy", "right"] {
            let run = sanitized(&path, 2).arguments(&[epoch, order]);
            let file = run.folder.path().join("loads");
            let run = run.variable("LOADS_FILE", file.to_str().unwrap());
            let (report, outcome) = checked(run);
            let report = report.unwrap_or_else(|| panic!("{epoch}: {}", outcome.stderr));
            let access = (order != "right").then(|| line_with("loads.c", &text, order) + order);
            let is_meant = |operation: &&Begun| match epoch {
                _ if order == "right" || order == "load" && !operation.is_written => false,
                "none" => !operation.is_of_epoch && !operation.has_request,
                "lock" | "flush" => operation.is_of_epoch || operation.has_request,
                _ => operation.is_of_epoch,
            };
            let class = |operation: &Begun| match operation.is_of_epoch {
                true => "rma-conflict",
                false => "buffer-in-use",
            };
            let expected: BTreeSet<(&str, &str, &str)> = operations
                .iter()
                .filter(is_meant)
                .map(|it| (class(it), access.as_deref().unwrap(), &*it.line))
                .collect();
            let findings = report["findings"].as_array().unwrap();
            let found: BTreeSet<(&str, &str, &str)> = findings
                .iter()
                .map(|finding| {
                    let text = |field: &str| finding[field].as_str().unwrap();
                    let other = text("other_site");
                    let line = operations.iter().find(|it| other.contains(&it.line));
                    (text("class"), text("site"), line.map_or(other, |it| &it.line))
                })
                .collect();
            assert_eq!(found, expected, "{epoch}, {order}: {report:#}");
            assert_eq!(findings.len(), expected.len(), "{epoch}, {order}: {report:#}");
            if order == "right" {
                assert_eq!(outcome.stdout.matches("done").count(), 2, "{}", outcome.stderr);
                assert_eq!(report["limits"], Value::Array(Vec::new()), "{report:#}");
                expect_silence(&outcome);
                assert!(!outcome.stderr.contains("loads.c"), "{}", outcome.stderr);
            }
        }
    }
}

/// With ThreadSanitizer, each store and each load of window memory that another rank uses is named with both lines, and nothing is
/// said of the same accesses where something orders them.
#[test]
fn loads_and_stores_at_a_target_are_named_with_a_sanitizer() {
    let path = compile_with(&source("loads_target"), "check_loads_target", &SANITIZED);
    let text = fs::read_to_string(source("loads_target")).unwrap();
    let operations = operations_of("loads_target.c", &text);
    assert_eq!(operations.len(), 13);
    let of_locks = |epoch: &str| ["lock", "exclusive", "lock_all", "flush"].contains(&epoch);
    for epoch in ["fence", "fence_barrier", "pscw", "lock", "exclusive", "lock_all", "flush"] {
        // The C library's function is one of the sanitizer's in any epoch.
        let orders =
            if epoch == "fence" { &["store", "load", "copy"][..] } else { &["store", "load"] };
        for order in orders {
            let access = line_with("loads_target.c", &text, order) + order;
            let (report, outcome) = checked(sanitized(&path, 2).arguments(&[epoch, order]));
            let report = report.unwrap_or_else(|| panic!("{epoch}: {}", outcome.stderr));
            let is_meant = |operation: &&Begun| {
                (of_locks(epoch) || !operation.has_request)
                    && (*order != "load" || operation.is_written)
            };
            let expected: BTreeSet<&str> =
                operations.iter().filter(is_meant).map(|it| &*it.line).collect();
            let findings = report["findings"].as_array().unwrap();
            let found: BTreeSet<&str> = findings
                .iter()
                .map(|finding| {
                    let text = |field: &str| finding[field].as_str().unwrap();
                    assert_eq!(text("class"), "rma-conflict", "{epoch}, {order}: {report:#}");
                    assert_eq!(text("site"), access, "{epoch}, {order}: {report:#}");
                    assert_eq!(finding["ranks"], serde_json::json!([0, 1]), "{report:#}");
                    let other = text("other_site");
                    let line = operations.iter().find(|it| other.contains(&it.line));
                    line.map_or(other, |it| &it.line)
                })
                .collect();
            assert_eq!(found, expected, "{epoch}, {order}: {report:#}");
            assert_eq!(findings.len(), expected.len(), "{epoch}, {order}: {report:#}");
        }
        let (report, outcome) = expect_nothing(sanitized(&path, 2).arguments(&[epoch, "right"]));
        assert_eq!(report["limits"], Value::Array(Vec::new()), "{epoch}: {report:#}");
        assert_eq!(outcome.stdout.matches("done").count(), 2, "{epoch}: {}", outcome.stderr);
        assert!(!outcome.stderr.contains("loads_target.c"), "{}", outcome.stderr);
    }
}

/// Each rank uses its part of the windows that others use, in many right ways.
#[test]
fn windows_that_all_use_are_no_race_with_a_sanitizer() {
    let path = compile_with(&source("loads_windows"), "check_loads_windows", &SANITIZED);
    for ranks in [2, 3] {
        let (_, outcome) = expect_nothing(sanitized(&path, ranks));
        assert_eq!(outcome.stdout.matches("done").count(), ranks as usize, "{}", outcome.stdout);
    }
}

/// A program that waits for a word which another rank changes is right.
#[test]
fn words_that_are_waited_for_are_no_race_with_a_sanitizer() {
    let path = compile_with(&source("loads_poll"), "check_loads_poll", &SANITIZED);
    let (_, outcome) = expect_nothing(sanitized(&path, 2));
    assert!(outcome.stdout.contains("1275"), "{}", outcome.stdout);
}

/// Nothing is found in right programs with ThreadSanitizer, and it tells of no operation of MPI's. It may print races that are none
/// inside of MPI's library, as it does without a tool.
#[test]
fn nothing_is_found_in_right_programs_with_a_sanitizer() {
    let path = compile_with(&source("right"), "check_right_sanitized", &SANITIZED);
    let run = sanitized(&path, 2).arguments(&["all", "threads"]).seconds(600);
    let (report, outcome) = expect_nothing(run);
    assert_eq!(report["partial"], Value::Bool(false), "{}", outcome.stderr);
}

/// The sanitizer may print races that are none inside of MPI's library. But it must not tell of MPI's operations, nor of the tool's
/// memory.
fn expect_silence(outcome: &Outcome) {
    for word in ["operation of MPI", "operations of other ranks", "libmpi_check"] {
        assert!(!outcome.stderr.contains(word), "{word}: {}", outcome.stderr);
    }
}

/// Threads: an operation that another thread has ended is over for all of them, and what came before a call is told as that.
#[test]
fn loads_and_stores_of_threads_are_told_apart_with_a_sanitizer() {
    let path = compile_with(&source("loads_threads"), "check_loads_threads", &SANITIZED);
    let text = fs::read_to_string(source("loads_threads")).unwrap();
    let line = |mark: &str| line_with("loads_threads.c", &text, mark);
    let run = |what: &str| checked(sanitized(&path, 2).arguments(&[what]));
    let messages = [
        (
            "before",
            "changed",
            "a thread changes memory that MPI_Isend reads in another thread, and nothing orders the two",
        ),
        ("freed", "freed", "MPI_Isend uses memory that the program has freed"),
    ];
    for (what, mark, message) in messages {
        let (report, outcome) = run(what);
        if outcome.stdout.contains("no threads") {
            return println!("skipped: this MPI does not support MPI_THREAD_MULTIPLE");
        }
        let report = report.unwrap_or_else(|| panic!("{what}: {}", outcome.stderr));
        let [finding] = &report["findings"].as_array().unwrap()[..] else {
            panic!("{what}: {report:#}");
        };
        let text = |field: &str| finding[field].as_str().unwrap();
        assert_eq!((text("class"), text("message")), ("buffer-in-use", message), "{report:#}");
        assert!(text("site").starts_with(&line(mark)), "{report:#}");
        assert!(text("other_site").contains(&line("sent")), "{report:#}");
    }
    let (report, outcome) = run("right");
    let report = report.unwrap_or_else(|| panic!("{}", outcome.stderr));
    assert_eq!(outcome.stdout.matches("done").count(), 2, "{}", outcome.stderr);
    assert!(!outcome.stdout.contains("wrong"), "{}", outcome.stdout);
    assert_eq!(report["findings"], Value::Array(Vec::new()), "{report:#}");
    expect_silence(&outcome);
}

/// The sanitizer is told of an operation while a signal arrives: the handler runs afterwards.
#[test]
fn signals_are_not_lost_with_a_sanitizer() {
    let path = compile_with(&source("loads_signals"), "check_loads_signals", &SANITIZED);
    let (report, outcome) = checked(sanitized(&path, 1));
    let report = report.unwrap_or_else(|| panic!("{}", outcome.stderr));
    assert_eq!(report["findings"], Value::Array(Vec::new()), "{report:#}");
    assert!(outcome.stdout.contains("all came"), "{} {}", outcome.stdout, outcome.stderr);
}

/// The sanitizer does not see how OpenMP orders threads: there, it is told nothing, which the limits say.
#[test]
fn loads_and_stores_are_left_out_with_openmp() {
    let [one, two, three] = SANITIZED;
    let flags = [one, two, three, "-fopenmp", "-Wl,--no-as-needed"];
    let path = compile_with(&source("loads"), "check_loads_openmp", &flags);
    let (report, outcome) = checked(sanitized(&path, 2).arguments(&["fence", "store"]));
    let report = report.unwrap_or_else(|| panic!("{}", outcome.stderr));
    expect_silence(&outcome);
    let limits = report["limits"].as_array().unwrap();
    let says_so = |limit: &Value| limit.as_str().unwrap().contains("OpenMP");
    assert!(limits.iter().any(says_so), "{report:#}");
}

/// The exit status of a program that ends in a call of MPI is its own, whichever way it ends.
#[test]
fn an_end_in_a_call_keeps_its_status_with_a_sanitizer() {
    let path = compile_with(&source("loads_exit"), "check_loads_exit", &SANITIZED);
    for how in ["abort", "fatal", "exit", "_exit"] {
        let plain = sanitized(&path, 1).arguments(&[how]).run();
        let (_, outcome) = checked(sanitized(&path, 1).arguments(&[how]));
        assert_eq!(outcome.status, plain.status, "{how}: {}", outcome.stderr);
        assert_ne!(outcome.status, Some(0), "{how}: {}", outcome.stderr);
        assert!(!outcome.stderr.contains("ThreadSanitizer"), "{how}: {}", outcome.stderr);
    }
}

/// The message of the deadlock that is found in a program of `reasons.c`, if one is.
fn reason(name: &str) -> Option<String> {
    let run = Run::new(&program("reasons"), 3).arguments(&[name]).seconds(60);
    let (report, outcome) = checked(run.is_enough("findings.json", "\"deadlock\""));
    let report = report.unwrap_or_else(|| panic!("{name}: {}", outcome.stderr));
    let findings = report["findings"].as_array().unwrap();
    let deadlock = findings.iter().find(|finding| finding["class"] == "deadlock")?;
    Some(deadlock["message"].as_str().unwrap().to_owned())
}

/// What is said of who waits for whom is true, and says what is certain.
#[test]
fn deadlocks_are_told_with_their_reasons() {
    for name in ["sent_and_waiting", "exchanged"] {
        let said = reason(name).unwrap();
        assert!(
            said.contains("a message with tag 2 on MPI_COMM_WORLD from rank 2"),
            "{name}: {said}"
        );
        assert!(!said.contains("to receive its message"), "{name}: {said}");
    }
    let said = reason("once_more").unwrap();
    assert!(said.contains("waits for ranks 0, 2, which have not come to it"), "{said}");
    let said = reason("after_many").unwrap();
    assert!(said.contains("rank 2 in MPI_Recv"), "{said}");
    let said = reason("two_windows").unwrap();
    let text = fs::read_to_string(source("reasons")).unwrap();
    for comment in ["FIRST", "SECOND"] {
        let line = line_with("reasons.c", &text, comment);
        assert!(said.contains(&format!("(MPI_Win_allocate at {line}")), "{said}");
    }
    let said = reason("detached").unwrap();
    let line = line_with("reasons.c", &text, "BUFFERED");
    assert!(said.contains("rank 0 in MPI_Buffer_detach at "), "{said}");
    assert!(said.contains(&format!("(MPI_Bsend at {line}")), "{said}");
    assert!(said.contains("waits for rank 1 to receive its message with tag 1"), "{said}");
    let said = reason("window_polled").unwrap();
    assert!(said.contains("rank 0 polling with MPI_Win_test at "), "{said}");
    assert!(said.contains("waits for rank 1"), "{said}");
    let said = reason("all_looked_at").unwrap();
    if !said.contains("rank 0 in MPI_Recv") {
        assert!(said.contains("rank 0 polling with MPI_Request_get_status_all at "), "{said}");
        assert!(said.contains("from rank 2"), "{said}");
    }
    // Where ranks call different functions, that is told, and nobody is said to wait for itself.
    if let Some(said) = reason("mixed") {
        for rank in 0..3 {
            let of_rank = said.split("; rank ").find(|part| part.contains(&format!("{rank} in ")));
            let waits = of_rank.and_then(|part| part.split(" waits for ").nth(1)).unwrap_or("");
            assert!(!waits.starts_with(&format!("rank {rank}")), "{said}");
        }
    }
}
