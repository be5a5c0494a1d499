//! mpi-profile tells who has sent how much to whom: by a program that says itself what it sends, and by comparing the sums
//! over peers with what the profile's rows say.

use std::collections::BTreeMap;

use serde_json::Value;
use test_support::profile::{by_function, profile, profiled, profiles, sum};
use test_support::{Run, compile};

/// Function, rank and peer, with messages and bytes. A peer is a rank, or a word.
type Pairs = BTreeMap<(String, u64, String), (u64, u64)>;

/// The pairs of a flow, each rank's by itself.
fn pairs(profile: &Value, flow: &str) -> Pairs {
    let mut pairs = Pairs::new();
    for entry in profile["matrix"].as_array().expect("there is a matrix") {
        if entry["flow"] != flow {
            continue;
        }
        for block in entry["ranks"].as_array().expect("the ranks are known") {
            let numbers: Vec<u64> =
                block.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect();
            let [first, length, stride, count] = numbers[..] else { panic!("{block}") };
            let runs = (0..count).map(|run| first + run * stride);
            for rank in runs.flat_map(|first| first..first + length) {
                let peer = match &entry["peer"] {
                    Value::Null => "nobody".to_owned(),
                    Value::String(word) => word.clone(),
                    distance => {
                        (rank.cast_signed() + distance.as_i64().expect("a distance")).to_string()
                    }
                };
                let key = (entry["function"].as_str().unwrap().to_owned(), rank, peer);
                let pair = pairs.entry(key).or_default();
                pair.0 += entry["messages"].as_u64().unwrap();
                pair.1 += entry["bytes"].as_u64().unwrap();
            }
        }
    }
    pairs
}

/// All that is in a matrix, function by function, is what the rows say: exactly.
fn sums_are_those_of_rows(profile: &Value) {
    for flow in ["sent", "received"] {
        let mut of_functions = by_function(profile, |row| sum(row, flow));
        of_functions.retain(|_, bytes| *bytes > 0);
        let mut of_peers: BTreeMap<String, u64> = BTreeMap::new();
        for ((function, ..), (_, bytes)) in pairs(profile, flow) {
            *of_peers.entry(function).or_default() += bytes;
        }
        of_peers.retain(|_, bytes| *bytes > 0);
        assert_eq!(of_peers, of_functions, "{flow}");
    }
}

fn with_peers(run: Run) -> Run {
    profiled(run).variable("MPI_TOOL_MPI_PROFILE_PEER", "1")
}

#[test]
fn each_pair_has_what_the_program_says() {
    let run = with_peers(Run::new(&compile("matrix"), 4));
    let outcome = run.run();
    outcome.expect_success("matrix");
    let profile = profile(&run);
    let [mut sent, mut received] = [Pairs::new(), Pairs::new()];
    for line in outcome.stdout.lines() {
        let words: Vec<_> = line.split(' ').collect();
        let [before, rank, between, peer, function, messages, bytes] = words[..] else {
            continue;
        };
        let pairs = match (before, between) {
            ("from", "to") => &mut sent,
            ("at", "from") => &mut received,
            _ => panic!("{line}"),
        };
        let peer = if peer == "-1" { "nobody" } else { peer };
        let key = (function.to_owned(), rank.parse().unwrap(), peer.to_owned());
        let pair = pairs.entry(key).or_default();
        pair.0 += messages.parse::<u64>().unwrap();
        pair.1 += bytes.parse::<u64>().unwrap();
    }
    assert!(sent.len() > 50 && received.len() > 50, "{}", outcome.stdout);
    assert_eq!(pairs(&profile, "sent"), sent);
    assert_eq!(pairs(&profile, "received"), received);
    sums_are_those_of_rows(&profile);
    // The sum of a rank's row is what the rank has sent.
    let of_rank_0: u64 =
        sent.iter().filter(|((_, rank, _), _)| *rank == 0).map(|(_, pair)| pair.1).sum();
    let run = with_peers(Run::new(&compile("matrix"), 4)).variable("MPI_TOOL_MERGE", "0");
    run.run().expect_success("matrix");
    let reports = profiles(&run);
    assert_eq!(reports.len(), 4);
    for report in &reports {
        sums_are_those_of_rows(report);
        if report["rank"] == 0 {
            let sent: u64 = by_function(report, |row| sum(row, "sent")).values().sum();
            assert_eq!(sent, of_rank_0);
        }
    }
}

/// Programs that move data in all ways, in all forms of the functions: nothing is lost, and nothing is there twice.
#[test]
fn sums_over_peers_are_the_totals() {
    for (name, ranks) in [
        ("bandwidth_p2p", 3),
        ("bandwidth_collectives", 3),
        ("bandwidth_neighborhood", 4),
        ("bandwidth_onesided", 3),
        ("bandwidth_files", 2),
        ("threads", 2),
    ] {
        let run = with_peers(Run::new(&compile(name), ranks));
        run.run().expect_success(name);
        let profile = profile(&run);
        sums_are_those_of_rows(&profile);
        // Without communicators in rows, peers are known all the same.
        let run = with_peers(Run::new(&compile(name), ranks))
            .variable("MPI_TOOL_MPI_PROFILE_COMMUNICATOR", "0");
        run.run().expect_success(name);
        let other = test_support::profile::profile(&run);
        for flow in ["sent", "received"] {
            assert_eq!(pairs(&other, flow), pairs(&profile, flow), "{name}");
        }
    }
}

/// A ring in which all do the same is two entries, whatever it has: by hand.
#[test]
fn equal_ranks_are_one_entry() {
    let run = with_peers(Run::new(&compile("ring"), 3));
    run.run().expect_success("ring");
    let profile = profile(&run);
    let entry = |function: &str, flow: &str, peer: i64, ranks: Value| {
        serde_json::json!({"function": function, "flow": flow, "peer": peer, "messages": 100,
            "bytes": 400, "ranks": ranks})
    };
    let mut expected = vec![
        entry("MPI_Recv", "received", -1, serde_json::json!([[1, 2, 0, 1]])),
        entry("MPI_Recv", "received", 2, serde_json::json!([[0, 1, 0, 1]])),
        entry("MPI_Send", "sent", -2, serde_json::json!([[2, 1, 0, 1]])),
        entry("MPI_Send", "sent", 1, serde_json::json!([[0, 2, 0, 1]])),
    ];
    let mut matrix = profile["matrix"].as_array().unwrap().clone();
    matrix.retain(|entry| !entry["peer"].is_null());
    for list in [&mut expected, &mut matrix] {
        list.sort_by_key(Value::to_string);
    }
    assert_eq!(matrix, expected);

    let run = profiled(Run::new(&compile("ring"), 3));
    run.run().expect_success("ring");
    assert!(test_support::profile::profile(&run)["matrix"].is_null());
}

/// Processes that another world has spawned are not in the matrix, but what they get is.
#[test]
fn spawned_processes_are_outside() {
    let run = with_peers(Run::new(&compile("spawn"), 2));
    let outcome = run.run();
    outcome.expect_success("spawn");
    let all = profiles(&run);
    let parents = &all[0];
    let outside = |flow: &str| {
        let pairs = pairs(parents, flow).into_iter();
        pairs
            .filter(|((function, _, peer), _)| function == "MPI_Sendrecv" && peer == "outside")
            .map(|((_, rank, _), pair)| (rank, pair))
            .collect::<Vec<_>>()
    };
    // Ten rounds of an int with the children, twice.
    let expected =
        if outcome.stdout.contains("children spawned") { vec![(0, (20, 80))] } else { Vec::new() };
    assert_eq!([outside("sent"), outside("received")], [expected.clone(), expected]);
    sums_are_those_of_rows(parents);
}

/// One line of the text tells that there is a matrix, and the text is no longer for it.
#[test]
fn the_text_has_a_line() {
    let run = Run::new(&compile("outside"), 3)
        .preload(test_support::tool("mpi_profile"))
        .variable("MPI_TOOL_MPI_PROFILE_PEER", "1");
    let outcome = run.run();
    outcome.expect_success("outside");
    let lines: Vec<_> = outcome.stderr.lines().collect();
    let count = lines.iter().filter(|line| line.starts_with("sent from rank to rank: ")).count();
    assert_eq!(count, 1, "{}", outcome.stderr);
    assert!(lines.len() <= 25, "{}", outcome.stderr);
}

/// A signal comes in the middle of an endless loop: the process's report is there, whole, and its parts fit each other but
/// for the one call that was not over.
#[test]
fn an_endless_program_leaves_a_report_when_it_is_terminated() {
    let program = compile("endless");
    let run = with_peers(Run::new(&program, 1));
    let outcome = run.run();
    assert_ne!(outcome.status, Some(0));
    let profile = profile(&run);
    assert_eq!((&profile["complete"], &profile["reason"]), (&false.into(), &"SIGTERM".into()));
    let calls = by_function(&profile, |row| row["calls"].as_u64().unwrap())["MPI_Sendrecv"];
    assert!(calls > 100, "{calls}");
    let fits = |number: u64, what: &str| assert!(number.abs_diff(calls) <= 1, "{number} {what}");
    for flow in ["sent", "received"] {
        fits(by_function(&profile, |row| sum(row, flow))["MPI_Sendrecv"] / 4, flow);
        let pairs = pairs(&profile, flow);
        let (messages, bytes) = pairs[&("MPI_Sendrecv".to_owned(), 0, "0".to_owned())];
        fits(messages, "messages");
        fits(bytes / 4, "messages' bytes");
    }
    fits(
        by_function(&profile, |row| row["time"]["count"].as_u64().unwrap_or(0))["MPI_Sendrecv"],
        "times",
    );
}

/// Messages that are under way when measuring is switched off or on: both tables leave out the same ones.
#[test]
fn what_is_switched_off_is_left_out() {
    let run = with_peers(Run::new(&compile("phases"), 2));
    run.run().expect_success("phases");
    let profile = profile(&run);
    sums_are_those_of_rows(&profile);
    let sent: u64 = pairs(&profile, "sent").values().map(|(_, bytes)| bytes).sum();
    assert_eq!(sent, 16);
}
