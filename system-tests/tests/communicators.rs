//! mpi-profile tells communicators and sizes apart: by a program that says itself what it does on each communicator, and
//! by comparing the sums with those of a profile without these keys.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use test_support::profile::{by_function, profile, profiled, sum};
use test_support::{Run, compile, example};

/// What is known of a row's communicator.
fn communicator<'a>(profile: &'a Value, row: &Value) -> Option<&'a Value> {
    let number = row["communicator"].as_u64()?;
    Some(&profile["communicators"][number as usize - 1])
}

/// The rows of a function.
fn rows_of<'a>(profile: &'a Value, function: &str) -> Vec<&'a Value> {
    let rows = profile["rows"].as_array().unwrap().iter();
    rows.filter(|row| row["function"] == function).collect()
}

/// The sizes of both groups; which one comes first is not said.
fn sizes(known: &Value) -> BTreeSet<u64> {
    [known["size"].as_u64().unwrap(), known["remote_size"].as_u64().unwrap_or(0)].into()
}

#[test]
fn each_communicator_is_what_the_program_says() {
    let run = profiled(Run::new(&compile("communicators"), 4));
    let outcome = run.run();
    outcome.expect_success("communicators");
    let profile = profile(&run);

    let mut expected: BTreeMap<String, (BTreeSet<u64>, u64)> = BTreeMap::new();
    for line in outcome.stdout.lines().filter_map(|line| line.strip_prefix("on ")) {
        let words: Vec<_> = line.split(' ').collect();
        let [name, size, other, calls] = words[..] else { panic!("{line}") };
        let [size, other, calls] = [size, other, calls].map(|number| number.parse().unwrap());
        let said = expected.entry(name.into()).or_insert((BTreeSet::from([size, other]), 0));
        said.1 += calls;
    }
    assert_eq!(expected.len(), 21, "{}", outcome.stdout);

    let mut found: BTreeMap<String, (BTreeSet<u64>, u64)> = BTreeMap::new();
    let mut identities: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in rows_of(&profile, "MPI_Allreduce") {
        let known = communicator(&profile, row).unwrap_or_else(|| panic!("{row}"));
        let name = known["name"].as_str().unwrap().to_owned();
        let identity = known["identity"].as_str().unwrap().to_owned();
        identities.entry(name.clone()).or_default().insert(identity);
        let sum = found.entry(name).or_insert((sizes(known), 0));
        sum.1 += row["calls"].as_u64().unwrap();
    }
    assert_eq!(found, expected);
    for (name, identities) in &identities {
        // Each process has a copy of its own of `MPI_COMM_SELF`.
        assert_eq!(identities.len(), if name == "own" { 4 } else { 1 }, "{name}");
    }
    let all: BTreeSet<_> = identities.values().flatten().collect();
    assert_eq!(all.len(), expected.len() + 3);

    // Five copies of the world, one after the other, each with one more barrier on all four ranks than the one before.
    let mut barriers = BTreeMap::new();
    for row in rows_of(&profile, "MPI_Barrier") {
        let known = communicator(&profile, row).unwrap();
        assert_eq!((&known["name"], &known["size"]), (&"".into(), &4.into()));
        let identity = known["identity"].as_str().unwrap();
        *barriers.entry(identity).or_insert(0) += row["calls"].as_u64().unwrap();
    }
    let mut calls: Vec<_> = barriers.into_values().collect();
    calls.sort_unstable();
    assert_eq!(calls, [4, 8, 12, 16, 20]);
    // A call that ends a communicator is on it; a question to nobody in particular is on none.
    assert!(rows_of(&profile, "MPI_Comm_free").iter().all(|row| row["communicator"].is_u64()));
    assert!(rows_of(&profile, "MPI_Init").iter().all(|row| row["communicator"].is_null()));
}

/// The example of forty lines: what it tells of each communicator is what the rows of mpi-profile add up to, but for the
/// calls that end one: the example does not ask which one that is.
#[test]
fn an_example_tells_the_time_by_communicator() {
    let program = compile("communicators");
    let calls = |profile: &Value| {
        let mut calls: BTreeMap<(String, String), u64> = BTreeMap::new();
        // Of all: one call may take less than the clock's step, which is 10 ns on some processors.
        let mut time = 0;
        for row in profile["rows"].as_array().unwrap() {
            let Some(known) = communicator(profile, row) else { continue };
            if ["MPI_Comm_free", "MPI_Comm_disconnect"].iter().any(|end| row["function"] == *end) {
                continue;
            }
            let key = ["identity", "name"].map(|field| known[field].as_str().unwrap().to_owned());
            time += row["time"]["sum"].as_u64().unwrap();
            *calls.entry(key.into()).or_default() += row["calls"].as_u64().unwrap();
        }
        assert!(time > 0, "{profile}");
        calls
    };
    let run = profiled(Run::new(&program, 4));
    run.run().expect_success("communicators");
    let expected = calls(&profile(&run));

    let run = Run::new(&program, 4);
    let file = run.folder.path().join("profile.json");
    let run = run
        .preload(example("time_by_communicator"))
        .variable("MPI_TOOL_FORMAT", "json")
        .variable("MPI_TOOL_OUTPUT", file.to_str().unwrap());
    run.run().expect_success("communicators");
    let found = calls(&profile(&run));
    assert!(found.len() > 21, "{found:?}");
    assert_eq!(found, expected);
}

/// Does a program call the function as often as it happens to, until something is there?
fn is_repeated(function: &str) -> bool {
    let asks = ["Test", "Improbe", "Iprobe", "Parrived", "Request_get_status", "Waitsome"];
    asks.iter().any(|name| function.contains(name))
}

/// Whatever is told apart, the sums stay.
#[test]
fn keys_change_no_total() {
    for (name, ranks) in [("communicators", 4), ("bandwidth_p2p", 3), ("bandwidth_collectives", 3)]
    {
        let program = compile(name);
        let sums = |communicator: &str, size: &str| {
            let run = profiled(Run::new(&program, ranks))
                .variable("MPI_TOOL_MPI_PROFILE_COMMUNICATOR", communicator)
                .variable("MPI_TOOL_MPI_PROFILE_SIZE", size);
            run.run().expect_success(name);
            let profile = profile(&run);
            let is_told = |key: &str| {
                profile["rows"].as_array().unwrap().iter().any(|row| !row[key].is_null())
            };
            assert_eq!(is_told("communicator"), communicator == "1", "{name}");
            assert_eq!(is_told("size"), size == "1", "{name}");
            let rows = profile["rows"].as_array().unwrap().len();
            let mut calls = by_function(&profile, |row| row["calls"].as_u64().unwrap());
            calls.retain(|function, _| !is_repeated(function));
            let bytes =
                ["sent", "received"].map(|measure| by_function(&profile, |row| sum(row, measure)));
            (rows, (calls, bytes))
        };
        let (fewest, without) = sums("0", "0");
        let (most, with) = sums("1", "1");
        assert_eq!(with, without, "{name}");
        assert!(most > fewest, "{name}: {most} and {fewest} rows");
    }
}

/// A message is in the class of the next power of two.
#[test]
fn sizes_are_those_of_the_data() {
    let run =
        profiled(Run::new(&compile("bandwidth_p2p"), 3)).variable("MPI_TOOL_MPI_PROFILE_SIZE", "1");
    run.run().expect_success("bandwidth_p2p");
    let profile = profile(&run);
    let mut seen = BTreeSet::new();
    for function in ["MPI_Send", "MPI_Isend", "MPI_Recv"] {
        for row in rows_of(&profile, function) {
            let size = row["size"].as_u64().unwrap();
            let measure = if function == "MPI_Recv" { "received" } else { "sent" };
            let bytes = &row[measure];
            if size == 0 {
                assert!(bytes.is_null(), "{row}");
                continue;
            }
            assert_eq!(bytes["count"], row["calls"], "{row}");
            for extreme in ["least", "most"] {
                let bytes = bytes[extreme].as_u64().unwrap();
                assert_eq!(bytes.next_power_of_two(), size, "{row}");
            }
            seen.insert(size);
        }
    }
    assert!(seen.len() >= 2, "{seen:?}");
}
