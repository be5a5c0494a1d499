//! mpi-profile: calls and bytes are those of the counters, call sites are what `addr2line` says and what programs say
//! of themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde_json::Value;
use test_support::profile::{
    by_function, is_as_counted, profile, profiled, profiles, source_lines, sum,
};
use test_support::{Run, compile, compile_with, example, tool};

/// Runs a program under the profile, with all keys, and both counters, which must agree, and returns the profile.
fn agreeing(name: &str, ranks: u32) -> serde_json::Value {
    let program = compile(name);
    let plain = Run::new(&program, ranks).run();
    let run = profiled(Run::new(&program, ranks));
    let bytes = run.folder.path().join("report-bytes.json");
    let run = run
        .count()
        .preload(tool("bandwidth_counter"))
        .variable("MPI_TOOL_MPI_PROFILE_SIZE", "1")
        .variable("MPI_TOOL_BANDWIDTH_COUNTER_FORMAT", "json")
        .variable("MPI_TOOL_BANDWIDTH_COUNTER_OUTPUT", bytes.to_str().unwrap());
    let outcome = run.run();
    outcome.expect_success(name);
    assert_eq!(outcome.lines(), plain.lines(), "{name}: {}", outcome.stderr);
    let profile = profile(&run);
    assert_eq!(profile["complete"], true, "{name}");

    is_as_counted(&profile, &outcome, name);

    // Nobody is in MPI for longer than the run takes, but for several threads at once.
    if name != "threads" {
        let share = &profile["share"];
        let (least, most) = (share["least"].as_f64().unwrap(), share["most"].as_f64().unwrap());
        assert!(0.0 < least && least <= most && most <= 1.0, "{name}: {share}");
    }
    let inside = by_function(&profile, |row| sum(row, "time")).values().sum::<u64>();
    // Each rank's times are rounded to nanoseconds row by row, and all together.
    let whole = profile["inside"]["sum"].as_u64().unwrap();
    assert!(inside.abs_diff(whole) <= 2 * u64::from(ranks), "{name}: {inside} and {whole}");
    profile
}

#[test]
fn calls_and_bytes_are_those_of_the_counters() {
    for (name, ranks) in [
        ("bandwidth_p2p", 3),
        ("bandwidth_collectives", 3),
        ("bandwidth_onesided", 3),
        ("bandwidth_files", 2),
        ("threads", 2),
    ] {
        agreeing(name, ranks);
    }
}

/// A ring of 100 rounds on three ranks: four bytes a message, from two places each, by hand.
#[test]
fn a_ring_has_two_places_for_each_function() {
    let profile = agreeing("ring", 3);
    let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/ring.c"));
    let lines_of = |function: &str| {
        let lines = source.as_ref().unwrap().lines().zip(1..);
        let lines = lines.filter(|(line, _)| line.contains(&format!("{function}(")));
        lines.map(|(_, number)| format!("ring.c:{number} / ")).collect::<Vec<_>>()
    };
    for function in ["MPI_Send", "MPI_Recv"] {
        let rows = profile["rows"].as_array().unwrap().iter();
        let rows: Vec<_> = rows.filter(|row| row["function"] == function).collect();
        let mut lines: Vec<_> = rows.iter().map(|row| source_lines(&profile, row)).collect();
        lines.sort_unstable();
        assert_eq!(lines, lines_of(function));
        for row in rows {
            // Rank 0 is at one of the two places, the others at the other one.
            let ranks = row["ranks"].as_u64().unwrap();
            assert!([1, 2].contains(&ranks));
            assert_eq!(row["calls"].as_u64(), Some(100 * ranks));
            let (measure, other) =
                if function == "MPI_Send" { ("sent", "received") } else { ("received", "sent") };
            assert_eq!(row[measure]["sum"].as_u64(), Some(400 * ranks));
            assert_eq!([&row[measure]["least"], &row[measure]["most"]], [4, 4]);
            assert_eq!(row[measure]["variation"], 0.0);
            assert_eq!(row[measure]["by_rank"]["most"], 400);
            assert!(row[other].is_null());
            assert_eq!(row["time"]["count"], row["calls"]);
        }
    }
}

/// Runs a program that says its sites, in lines as "site FUNCTION LINES COUNT", and compares them with the profile. Of
/// each site's lines those count that `is_told`. Returns how many sites it has said, and the profile.
fn compare_sites(run: Run, ranks: u64, is_told: impl Fn(&str) -> bool) -> (usize, Value) {
    let run = profiled(run);
    let outcome = run.run();
    outcome.expect_success("sites");
    let profile = profile(&run);
    let mut calls: BTreeMap<(String, String), u64> = BTreeMap::new();
    for row in profile["rows"].as_array().unwrap() {
        let function = row["function"].as_str().unwrap().to_owned();
        let lines = source_lines(&profile, row);
        let lines: Vec<_> = lines.split(' ').filter(|line| is_told(line)).collect();
        *calls.entry((function, lines.join(" "))).or_default() += row["calls"].as_u64().unwrap();
    }
    let mut said = 0;
    for line in outcome.stdout.lines().filter_map(|line| line.strip_prefix("site ")) {
        let (function, rest) = line.split_once(' ').unwrap();
        let (lines, count) = rest.rsplit_once(' ').unwrap();
        let is_it = |(of, at): &&(String, String)| of == function && at.trim_end() == lines;
        let found: Vec<_> = calls.keys().filter(is_it).collect();
        assert_eq!(found.len(), 1, "{line}: {found:?} of {calls:#?}");
        assert_eq!(calls[found[0]], ranks * count.parse::<u64>().unwrap(), "{line}");
        said += 1;
    }
    (said, profile)
}

/// The sites that the program says, compiled in several ways; each with the calls of all ranks.
#[test]
fn sites_are_where_the_program_says() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/sites.c");
    let ways: [(&str, &[&str]); 4] = [
        ("sites-O0", &["-O0", "-pthread"]),
        ("sites-O2", &["-O2", "-fomit-frame-pointer", "-pthread"]),
        ("sites-no-pie", &["-O1", "-no-pie", "-fno-pie", "-pthread"]),
        ("sites-frames", &["-O2", "-fno-omit-frame-pointer", "-pthread"]),
    ];
    for (name, flags) in ways {
        let run = Run::new(&compile_with(&source, name, flags), 2);
        let run = run.variable("MPI_TOOL_MPI_PROFILE_DEPTH", "3");
        let (said, profile) = compare_sites(run, 2, |_| true);
        assert_eq!(said, 11, "{name}");
        let functions = by_function(&profile, |row| row["calls"].as_u64().unwrap());
        assert_eq!(functions["MPI_Initialized"], 2 * 3, "{name}: the handler's calls count");
    }
}

/// Methods of templates, virtual ones and destructors, lambdas, and functions that throw.
#[test]
fn sites_of_cxx() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/sites.cc");
    let ways: [(&str, &[&str]); 3] = [
        ("sites-cxx-O0", &["-O0"]),
        ("sites-cxx-O2", &["-O2"]),
        ("sites-cxx-no-pie", &["-O2", "-no-pie", "-fno-pie"]),
    ];
    for (name, flags) in ways {
        let flags: Vec<_> = flags.iter().chain(&["-std=c++17", "-lstdc++"]).copied().collect();
        let run = Run::new(&compile_with(&source, name, &flags), 2);
        let run = run.variable("MPI_TOOL_MPI_PROFILE_DEPTH", "3");
        assert_eq!(compare_sites(run, 2, |_| true).0, 6, "{name}");
    }
}

/// Generic functions, closures, methods of trait objects and destructors, by way of rmpi.
#[test]
fn sites_of_rust() {
    let program = example("call_sites").with_file_name("call_sites");
    let run = Run::new(&program, 2).variable("MPI_TOOL_MPI_PROFILE_DEPTH", "8");
    assert_eq!(compare_sites(run, 2, |line| line.starts_with("call_sites.rs:")).0, 5);
}

/// Without call sites a function has one row.
#[test]
fn depth_0_has_no_sites() {
    let run = profiled(Run::new(&compile("ring"), 2)).variable("MPI_TOOL_MPI_PROFILE_DEPTH", "0");
    run.run().expect_success("ring");
    let profile = profile(&run);
    assert_eq!(profile["sites"].as_array().unwrap().len(), 0);
    let rows = profile["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row["site"].is_null()));
    let functions = by_function(&profile, |_| 1);
    assert!(functions.values().all(|rows| *rows == 1), "{functions:?}");
    assert_eq!(functions.len(), rows.len());
    assert_eq!(by_function(&profile, |row| row["calls"].as_u64().unwrap())["MPI_Send"], 200);
}

/// Messages to nobody, which are counted in code of their own: none is missing, whatever they are in and wherever they come
/// from.
#[test]
fn messages_to_nobody_are_all_counted() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/nobody.c");
    let program = compile_with(&source, "nobody", &["-pthread"]);
    // Of each rank's four threads, and those inside of `MPI_Comm_free`.
    let [on_world, on_other, nested, both] = [2 * 4 * 1000, 2 * 4 * 250, 2 * 10, 2 * 4 * 1000];
    for (depth, places) in [("0", 1), ("4", 3)] {
        let run = profiled(Run::new(&program, 2)).variable("MPI_TOOL_MPI_PROFILE_DEPTH", depth);
        run.run().expect_success("nobody");
        let profile = profile(&run);
        let calls = by_function(&profile, |row| row["calls"].as_u64().unwrap());
        let timed = by_function(&profile, |row| row["time"]["count"].as_u64().unwrap_or(0));
        assert_eq!(calls["MPI_Send"], on_world + on_other + nested);
        assert_eq!(timed["MPI_Send"], on_world + on_other);
        assert_eq!((calls["MPI_Sendrecv"], timed["MPI_Sendrecv"]), (both, both));
        let sends: Vec<_> = profile["rows"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|row| row["function"] == "MPI_Send")
            .map(|row| (row["communicator"].to_string(), row["site"].to_string()))
            .collect();
        let communicators: BTreeSet<_> =
            sends.iter().map(|(communicator, _)| communicator).collect();
        assert_eq!(communicators.len(), 2, "{sends:?}");
        // Threads begin elsewhere than the main one.
        let sites: BTreeSet<_> = sends.iter().map(|(_, site)| site).collect();
        assert!(sites.len() >= places, "{sends:?}");
    }
}

/// A process that a signal ends reports for itself, and so does each rank where nothing is merged. Tools in front and
/// behind are no call sites.
#[test]
fn processes_report_for_themselves() {
    let program = compile("terminated");
    let run = profiled(Run::new(&program, 1).preload(tool("empty_raw")));
    let outcome = run.run();
    assert_eq!(outcome.status, Run::new(&program, 1).run().status);
    let report = profile(&run);
    assert_eq!((&report["complete"], &report["reason"]), (&false.into(), &"SIGTERM".into()));
    assert_eq!(by_function(&report, |row| row["calls"].as_u64().unwrap()), outcome.expected);
    let ranks = report["rows"].as_array().unwrap().iter();
    let row = ranks.clone().find(|row| row["function"] == "MPI_Comm_rank").unwrap();
    assert!(source_lines(&report, row).starts_with("terminated.c:12 "), "{report:#}");

    let run = profiled(Run::new(&compile("ring"), 3)).variable("MPI_TOOL_MERGE", "0");
    run.run().expect_success("ring");
    let reports = profiles(&run);
    let mut ranks: Vec<_> = reports.iter().map(|report| report["rank"].as_u64()).collect();
    ranks.sort_unstable();
    assert_eq!(ranks, [Some(0), Some(1), Some(2)]);
    for report in &reports {
        assert_eq!(report["reason"], "MPI_TOOL_MERGE=0");
        assert_eq!(by_function(report, |row| row["calls"].as_u64().unwrap())["MPI_Recv"], 100);
    }
}

/// Three ranks that sleep for 0.4 s, 0.8 s and 1.2 s outside of MPI, and do next to nothing else there: the mean is two
/// thirds of the most. How long MPI itself takes is not known, but what comes before the end of `MPI_Init` is in the wall time
/// only.
#[test]
fn efficiencies_of_known_sleeps() {
    let program = compile("sleeps");
    let run = profiled(Run::new(&program, 3));
    run.run().expect_success("sleeps");
    let profile = profile(&run);
    let number = |object: &str, field: &str| profile[object][field].as_f64().unwrap();
    let useful = |field: &str| number("useful", field) / 1e9;
    assert_eq!([useful("least_rank"), useful("most_rank")], [0.0, 2e-9], "{}", profile["useful"]);
    for (time, slept) in [("least", 0.4), ("mean", 0.8), ("most", 1.2)] {
        let time = useful(time);
        assert!((slept..slept + 0.15).contains(&time), "{time} s is not {slept} s");
    }
    let active = number("active", "most") / 1e9;
    assert!((1.2..number("wall", "most") / 1e9).contains(&active), "{}", profile["active"]);
    let [parallel, balance, communication] =
        ["parallel", "load_balance", "communication"].map(|name| number("efficiency", name));
    assert!((balance - 2.0 / 3.0).abs() < 0.05, "{balance}");
    for (one, other) in [
        (balance, useful("mean") / useful("most")),
        (communication, useful("most") / active),
        (parallel, useful("mean") / active),
        (parallel, balance * communication),
    ] {
        assert!((one - other).abs() < 1e-6, "{one} is not {other}");
    }

    let outcome = Run::new(&program, 3).preload(tool("mpi_profile")).run();
    let lines = outcome.stderr.lines();
    let said: Vec<_> = lines.filter(|line| line.starts_with("parallel efficiency ")).collect();
    assert_eq!(said.len(), 1, "{}", outcome.stderr);
    assert!(said[0].contains("(rank 2 is the busiest)"), "{}", said[0]);
}

/// Waits by the program's own clock. No rank is let through before the last one is there, so the profile's are not
/// shorter, but for what the machine does between the two readings of the clock. How much longer they are depends on how
/// busy it is.
#[test]
fn waiting_is_told_from_the_rest() {
    let program = compile("waits");
    let run = profiled(Run::new(&program, 4)).variable("MPI_TOOL_MPI_PROFILE_WAIT", "sync");
    let outcome = run.run();
    outcome.expect_success("waits");
    let profile = profile(&run);
    let waited = by_function(&profile, |row| sum(row, "wait"));
    let time = by_function(&profile, |row| sum(row, "time"));
    let mut functions = 0;
    for line in outcome.stdout.lines() {
        let (function, expected) = line.split_once(' ').unwrap();
        let expected: u64 = expected.parse().unwrap();
        let waited = waited[function];
        assert!(waited >= expected / 2, "{function}: {waited} ns instead of {expected} ns");
        assert!(waited <= time[function], "{function}: {waited} ns of {} ns", time[function]);
        functions += 1;
    }
    assert_eq!(functions, 5, "{}", outcome.stdout);
    assert_eq!(waited["MPI_Barrier"], time["MPI_Barrier"]);
    assert_eq!((waited["MPI_Neighbor_allgather"], waited["MPI_Comm_split"]), (0, 0));
    // The barriers are no calls of the application's.
    assert_eq!(by_function(&profile, |row| row["calls"].as_u64().unwrap())["MPI_Barrier"], 4);

    let run = profiled(Run::new(&program, 4));
    run.run().expect_success("waits");
    let rows = self::profile(&run)["rows"].as_array().unwrap().clone();
    assert!(rows.iter().all(|row| row["wait"].is_null()));
}

/// A process that is killed by what nobody can catch leaves what it had at most a second before.
#[test]
fn a_killed_process_leaves_an_early_report() {
    let run = profiled(Run::new(&compile("interval"), 1).arguments(&["35", "kill"]));
    let run = run.variable("MPI_TOOL_MPI_PROFILE_INTERVAL", "1");
    let outcome = run.run();
    assert_ne!(outcome.status, Some(0), "{}", outcome.stderr);
    let profile = profile(&run);
    assert_eq!((&profile["complete"], &profile["rank"]), (&false.into(), &0.into()));
    assert_eq!(profile["reason"], "the program is still running");
    assert!(run.folder.path().join("profile.json.rank0").exists());
    // Of 3.5 s, the last one at most may be missing, and what the machine was busy with others.
    let wall = profile["wall"]["most"].as_f64().unwrap() / 1e9;
    assert!(wall > 2.0, "{wall} s");
    let calls = by_function(&profile, |row| row["calls"].as_u64().unwrap());
    assert!(calls["MPI_Sendrecv"] > 100, "{calls:?}");
}

/// A run that ends well has its one report, and early ones are gone.
#[test]
fn early_reports_go_when_the_run_ends() {
    let run = profiled(Run::new(&compile("interval"), 2).arguments(&["25"]));
    let run = run.variable("MPI_TOOL_MPI_PROFILE_INTERVAL", "1");
    let outcome = run.run();
    outcome.expect_success("interval");
    let profile = profile(&run);
    assert_eq!((&profile["complete"], &profile["ranks"]), (&true.into(), &2.into()));
    // Without files, there are none.
    let run = Run::new(&compile("interval"), 2).arguments(&["15"]).preload(tool("mpi_profile"));
    let outcome = run.variable("MPI_TOOL_MPI_PROFILE_INTERVAL", "1").run();
    outcome.expect_success("interval");
    assert_eq!(outcome.stderr.matches("# mpi-profile").count(), 1, "{}", outcome.stderr);
}

/// By hand, from the program's comments: calls, and bytes that are sent and received, of two ranks.
#[test]
fn phases_are_told_apart_and_what_is_switched_off_is_left_out() {
    let run = profiled(Run::new(&compile("phases"), 2));
    run.run().expect_success("phases");
    let profile = profile(&run);
    let of = |function: &str, phase: Option<u64>| {
        let rows = profile["rows"].as_array().unwrap().iter();
        let rows = rows.filter(|row| row["function"] == function && row["phase"].as_u64() == phase);
        rows.fold((0, 0, 0), |(calls, sent, received), row| {
            let more = row["calls"].as_u64().unwrap();
            (calls + more, sent + sum(row, "sent"), received + sum(row, "received"))
        })
    };
    let calls = |function| [None, Some(2), Some(3)].map(|phase| of(function, phase).0);
    assert_eq!(calls("MPI_Barrier"), [14, 14, 2]);
    assert_eq!(calls("MPI_Waitall"), [0, 2, 2]);
    assert_eq!(of("MPI_Isend", Some(2)), (4, 16, 0));
    assert_eq!(of("MPI_Irecv", Some(2)), (4, 0, 16));
    for function in ["MPI_Isend", "MPI_Irecv"] {
        assert_eq!(calls(function), [0, 4, 0]);
    }
    // Those that begin a phase are in it, and so is the one that switches measuring on again.
    assert_eq!(calls("MPI_Pcontrol"), [2, 6, 2]);
    // Both ranks have both phases, which are not all of the run. What they spend in MPI is what the rows have of it, but for
    // a nanosecond that is rounded off in each.
    let phases = profile["phases"].as_array().unwrap();
    let numbers: Vec<_> = phases.iter().map(|phase| (&phase["phase"], &phase["ranks"])).collect();
    assert_eq!(numbers, [(&2.into(), &2.into()), (&3.into(), &2.into())]);
    let mut all = 0;
    for phase in phases {
        let rows = profile["rows"].as_array().unwrap().iter();
        let of_phase = rows.filter(|row| row["phase"] == phase["phase"]);
        let inside: u64 = of_phase.map(|row| sum(row, "time")).sum();
        let [wall, told] = ["wall", "inside"].map(|name| phase[name]["sum"].as_u64().unwrap());
        assert!(told.abs_diff(inside) < 100 && told > 0, "{told} {inside}");
        assert!(wall + 10_000 > told, "{phase}");
        all += wall;
    }
    assert!(all < profile["wall"]["sum"].as_u64().unwrap(), "{profile:#}");
}

/// Names are told if the user says that there are any, and what is none is left alone.
#[test]
fn phases_have_the_names_that_the_program_gives() {
    let named = |is_on: &str| -> Vec<_> {
        let run = profiled(Run::new(&compile("phase_names"), 2));
        let run = run.variable("MPI_TOOL_MPI_PROFILE_PHASE_NAMES", is_on);
        run.run().expect_success("phase_names");
        let phases = profile(&run)["phases"].as_array().unwrap().clone();
        phases.iter().map(|phase| (phase["phase"].clone(), phase["name"].clone())).collect()
    };
    let phases = |names: [Value; 5]| -> Vec<_> { (2..7).map(Value::from).zip(names).collect() };
    let none = Value::Null;
    let names = ["solver".into(), "output of résumés".into(), none.clone(), none.clone(), none];
    assert_eq!(named("1"), phases(names));
    assert_eq!(named("0"), phases([const { Value::Null }; 5]));
}

/// The ranks wait for each other in the tool's barriers, also those that do not measure: else they would wait for ever.
#[test]
fn a_rank_that_is_switched_off_keeps_nobody_waiting() {
    let run = profiled(Run::new(&compile("one_is_off"), 3));
    let run = run.variable("MPI_TOOL_MPI_PROFILE_WAIT", "sync");
    run.run().expect_success("one_is_off");
    let calls = by_function(&profile(&run), |row| row["calls"].as_u64().unwrap());
    assert_eq!([calls["MPI_Bcast"], calls["MPI_Allreduce"]], [10, 10]);
}

/// On a terminal: one report, of at most so many lines, and a line for what came after it.
#[test]
fn the_text_is_short_and_calls_after_it_are_a_line() {
    let run = Run::new(&compile("outside"), 3).preload(tool("mpi_profile"));
    let outcome = run.run();
    outcome.expect_success("outside");
    let lines: Vec<_> = outcome.stderr.lines().collect();
    let count = |what: &str| lines.iter().filter(|line| line.contains(what)).count();
    assert_eq!(count("# mpi-profile "), 1, "{}", outcome.stderr);
    assert_eq!(count("calls of 3 ranks"), 1, "{}", outcome.stderr);
    assert_eq!(count("after the merged report"), 1, "{}", outcome.stderr);
    assert!(lines.len() <= 25, "{}", outcome.stderr);
}

/// As a level of a stack the profile counts and measures, without call sites.
#[test]
fn a_level_of_a_stack_has_no_sites() {
    let run = Run::new(&compile("ring"), 2).preload(tool("qmpi"));
    let report = run.folder.path().join("profile.json");
    let run = run
        .variable("TOOLS", tool("mpi_profile").to_str().unwrap())
        .variable("MPI_TOOL_FORMAT", "json")
        .variable("MPI_TOOL_OUTPUT", report.to_str().unwrap());
    run.run().expect_success("ring");
    let profile = profile(&run);
    assert_eq!(profile["sites"].as_array().unwrap().len(), 0);
    assert_eq!(by_function(&profile, |row| row["calls"].as_u64().unwrap())["MPI_Send"], 200);
    assert_eq!(by_function(&profile, |row| sum(row, "sent"))["MPI_Send"], 800);
}

/// The tool's own time is some of what calls took that take next to none in MPI, and most of it where nobody else has the
/// processor in between.
#[test]
fn the_tool_tells_what_it_took_itself() {
    for depth in ["0", "4"] {
        let run = Run::new(&compile("quick_calls"), 1).preload(tool("mpi_profile"));
        let report = run.folder.path().join("profile.json");
        let run = run
            .variable("MPI_TOOL_MPI_PROFILE_DEPTH", depth)
            .variable("MPI_TOOL_FORMAT", "json")
            .variable("MPI_TOOL_OUTPUT", report.to_str().unwrap());
        let outcome = run.run();
        outcome.expect_success("quick_calls");
        let took: f64 = outcome.stdout.trim().parse().unwrap();
        let overhead = &profile(&run)["overhead"];
        let tool = overhead["sum"].as_f64().unwrap();
        assert!(took / 20.0 < tool && tool < 1.5 * took, "depth {depth}: {tool} of {took} ns");
        assert_eq!(overhead["most"], overhead["sum"]);
    }
}

/// Two ranks wait in turns: by the program's own clock, the stretches of the report's timeline in which a rank waits are in
/// MPI, and those in which it computes are not. All stretches together are the time in MPI.
#[test]
fn the_timeline_shows_who_waits_when() {
    let run = profiled(Run::new(&compile("turns"), 2));
    let outcome = run.run();
    outcome.expect_success("turns");
    let profile = profile(&run);
    let timeline = profile["timeline"].as_array().unwrap();
    let by_rank = &profile["hosts"][0]["by_rank"];
    assert_eq!(timeline.len(), 2);
    let mut looked_at = 0;
    for (rank, row) in timeline.iter().enumerate() {
        assert_eq!([&row["rank"], &row["ranks"]], [&Value::from(rank), &Value::from(1)]);
        let width = row["width"].as_f64().unwrap();
        let shares = row["permille"].as_array().unwrap().iter();
        let shares: Vec<_> = shares.map(|share| share.as_f64().unwrap() / 1000.0).collect();
        // All stretches but the last one are whole, and each share is rounded.
        let (last, whole) = shares.split_last().unwrap();
        let sum = whole.iter().sum::<f64>() * width;
        let inside = by_rank["inside"][rank].as_f64().unwrap();
        let rounding = width * (1.0 + 0.0005 * shares.len() as f64);
        let up_to = sum + last * width + rounding;
        assert!(sum - rounding <= inside && inside <= up_to, "rank {rank}: {sum} of {inside}");
        for line in outcome.lines() {
            let [of, what, from, to] = line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            if of != rank.to_string() {
                continue;
            }
            let [from, to] = [from, to].map(|moment| moment.parse::<f64>().unwrap() / width);
            // The stretches that are wholly in it, and not at its ends, where the program may have been interrupted.
            let (first, last) = (from.ceil() as usize + 1, (to.floor() as usize).saturating_sub(1));
            let within = &shares[first.min(last)..last];
            let mean = within.iter().sum::<f64>() / within.len().max(1) as f64;
            let is_right = if what == "waits" { mean > 0.9 } else { mean < 0.1 };
            assert!(is_right || within.is_empty(), "{line}: {within:?} of {shares:?}");
            looked_at += usize::from(!within.is_empty());
        }
    }
    assert_eq!(looked_at, 8);
}
