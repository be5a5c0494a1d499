//! mpi-check: it names what is wrong in the programs of `tests/check/wrong.c` and `wrong_more.c`, at its line, and finds
//! nothing in those of `tests/check/right.c`.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;
use test_support::{Run, build_folder, compile_with, example, once, setting, tool};

fn source(name: &str) -> PathBuf {
    let folder = env::current_dir().expect("a test has its crate's folder");
    folder.join("tests/check").join(format!("{name}.c"))
}

fn program(name: &str) -> PathBuf {
    let file = format!("check_{name}");
    once(build_folder().join(&file), || {
        // Wrong programs get warnings.
        compile_with(&source(name), &file, &["-w", "-O0"]);
    })
}

/// Runs a program with mpi-check: the report, and how the launcher ended.
fn checked(run: Run) -> (Option<Value>, test_support::Outcome) {
    let file = run.folder.path().join("findings.json");
    let run = run
        .preload(tool("mpi_check"))
        .variable("MPI_TOOL_MPI_CHECK_FORMAT", "json")
        .variable("MPI_TOOL_MPI_CHECK_OUTPUT", file.to_str().unwrap());
    let outcome = run.run();
    let report = fs::read_to_string(&file).ok();
    (report.map(|text| test_support::schema::report(&text)), outcome)
}

/// A wrong program: its name, the class of its fault, and the line.
struct Case {
    name: String,
    class: String,
    /// As sites have it: `wrong.c:7 `.
    line: String,
}

impl Case {
    /// The program, and how it is run.
    fn run(&self) -> Run {
        let ranks = if self.name.starts_with("three_") { 3 } else { 2 };
        Run::new(&program("wrong"), ranks).arguments(&[&self.name]).seconds(90)
    }
}

/// The lines of `wrong.c` and of what it includes that are programs.
fn cases() -> Vec<Case> {
    let of_file = |file: &str| {
        let text = fs::read_to_string(source(file)).unwrap();
        let of = |(index, line): (usize, &str)| {
            let (name, rest) = line.strip_prefix("W(")?.split_once(", \"")?;
            let class = rest.split('"').next()?.into();
            Some(Case { name: name.into(), class, line: format!("{file}.c:{} ", index + 1) })
        };
        text.lines().enumerate().filter_map(of).collect::<Vec<_>>()
    };
    ["wrong", "wrong_more"].into_iter().flat_map(of_file).collect()
}

/// What is wrong with what was said of a wrong program.
fn judge(case: &Case) -> Result<(), String> {
    let (report, outcome) = checked(case.run().is_enough("findings.json", &case.line));
    let Some(report) = report else {
        return judge_without_report(case, &outcome.stderr);
    };
    let findings = report["findings"].as_array().unwrap();
    // Both ranks say that nobody can see it under this MPI, perhaps in one line.
    let is_invisible = outcome.stdout.matches("brought later").count() == 2;
    match is_named(findings, &case.class, &case.line, &["site", "other_site"]) {
        true => Ok(()),
        false if is_invisible && findings.is_empty() => Ok(()),
        false => Err(format!("not {} in line {}, but {findings:?}", case.class, case.line)),
    }
}

/// Is there a finding of a class that has a line in one of these fields?
fn is_named(findings: &[Value], class: &str, line: &str, fields: &[&str]) -> bool {
    findings.iter().any(|finding| {
        let is_at = |field: &&str| finding[field].as_str().is_some_and(|at| at.contains(line));
        finding["class"] == class && fields.iter().any(is_at)
    })
}

/// The same where there is no report, since the MPI or its launcher ended the processes: after an error that is fatal, or
/// by an assertion of the MPI's own. They do so without a tool, too. mpi-check says a wrong argument on standard error
/// before MPI sees it. Only Debian's MPICH fails in `MPI_Finalize` over a window that is left, before objects are looked
/// through.
fn judge_without_report(case: &Case, stderr: &str) -> Result<(), String> {
    let plain = case.run().run();
    let is_said = stderr.contains(&format!("mpi-check: {} at {}", case.class, case.line));
    let dies_of_window = case.name.starts_with("leak_win") && plain.stderr.contains("Assertion");
    match plain.status != Some(0) && (is_said || dies_of_window) {
        true => Ok(()),
        false => Err(format!("no report: {stderr}")),
    }
}

/// Each wrong program is named, by its class and its line.
#[test]
fn wrong_programs_are_named() {
    let cases = cases();
    let names: BTreeSet<_> = cases.iter().map(|case| &case.name).collect();
    assert_eq!(names.len(), cases.len());
    assert!(cases.len() >= 200, "{}", cases.len());
    program("wrong");
    each_is_judged(&cases, |case| judge(case).map_err(|said| format!("{}: {said}", case.name)));
}

/// Of how many programs is one run? More than one in a quick run, and where another MPI of the same run has all.
fn one_of() -> usize {
    env::var("CHECK_EVERY").map_or(1, |every| every.parse().unwrap())
}

/// Each of these programs is judged rightly, several at once, or those of a sample ([`one_of`]).
fn each_is_judged<T: Sync>(all: &[T], judge: impl Fn(&T) -> Result<(), String> + Sync) {
    let chosen: Vec<_> = all.iter().step_by(one_of()).collect();
    let next = AtomicUsize::new(0);
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(one) = chosen.get(next.fetch_add(1, Ordering::Relaxed)) {
                    wrong.lock().unwrap().extend(judge(one).err());
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {}: {wrong:#?}", wrong.len(), chosen.len());
}

/// Programs in Rust, by way of rmpi: a line of `rmpi/tests/tools/wrong.rs` that ends in a class is named, and nothing is
/// found in the right ones.
#[test]
fn wrong_programs_in_rust_are_named() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rmpi/tests/tools/wrong.rs");
    let text = fs::read_to_string(source).unwrap();
    let program = example("call_sites").with_file_name("wrong");
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
    // Ranks of Debian's MPICH never give up their core: a minute and a half for five, of which a sample has no need.
    let spins = setting("MPI_NAME").to_str() == Some("mpich-debian");
    let many = if spins && one_of() > 1 { 3 } else { 5 };
    for (ranks, arguments) in [(2, &["all"][..]), (many, &["all", "threads"])] {
        let plain = Run::new(&program("right"), ranks).arguments(arguments).run();
        plain.expect_success("right");
        let (report, outcome) = checked(Run::new(&program("right"), ranks).arguments(arguments));
        outcome.expect_success("right");
        assert_eq!(outcome.stdout, plain.stdout);
        let report = report.unwrap();
        assert_eq!(report["findings"], Value::Array(Vec::new()), "{report:#}");
        assert_eq!((&report["ranks"], &report["partial"]), (&ranks.into(), &false.into()));
    }
}

/// Nothing is found in each right program alone, where no other one has brought the checker to one of its limits.
#[test]
fn nothing_is_found_in_each_right_program() {
    let text = fs::read_to_string(source("right")).unwrap();
    let name_of = |line: &str| Some(line.strip_prefix("R(")?.split(',').next()?.to_owned());
    let names: Vec<String> = text.lines().filter_map(name_of).collect();
    assert!(names.len() >= 200, "{}", names.len());
    program("right");
    // Programs with many one-sided operations at once.
    let has_limits = |name: &str| name.starts_with("turns_of_") || name == "many_accumulates";
    each_is_judged(&names, |name| {
        let (report, outcome) = checked(Run::new(&program("right"), 2).arguments(&[name]));
        let report = report.ok_or_else(|| format!("{name}: {}", outcome.stderr))?;
        let nothing = Value::Array(Vec::new());
        let is_right = outcome.status == Some(0)
            && report["findings"] == nothing
            && (report["limits"] == nothing || has_limits(name));
        if is_right { Ok(()) } else { Err(format!("{name}: {report:#}, {}", outcome.stderr)) }
    });
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
        let path = once(build_folder().join(&file), || {
            compile_with(&source("past"), &file, flags);
        });
        let (report, outcome) = checked(Run::new(&path, 2));
        outcome.expect_success("past");
        let report = report.unwrap();
        assert_eq!(report["findings"], Value::Array(Vec::new()), "{report:#}");
        let limits = report["limits"].to_string();
        assert!(limits.contains("past this tool"), "{limits}");
        assert!(limits.contains("messages were not compared"), "{limits}");
    }
}
