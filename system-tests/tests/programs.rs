//! Real C programs with and without tools: what they print and return stays the same, and the
//! call counter counts what the compiler sees them call.

use std::collections::BTreeMap;

use test_support::{Outcome, Run, compile, tool};

/// Runs a program without a tool, with the empty one, with the counter, with both, and with the
/// high-level ones.
fn transparent_and_exact(name: &str, ranks: u32) {
    let program = compile(name);
    let plain = Run::new(&program, ranks).run();
    assert!(
        !plain.expected.is_empty(),
        "{name} counted nothing\n{}\n{}",
        plain.stdout,
        plain.stderr
    );

    let same = |outcome: &Outcome, with: &str| {
        assert_eq!(outcome.status, plain.status, "{name} with {with}\n{}", outcome.stderr);
        assert_eq!(outcome.lines(), plain.lines(), "{name} with {with}\n{}", outcome.stderr);
    };
    let empty = Run::new(&program, ranks).preload(tool("empty_raw")).run();
    same(&empty, "empty-raw");
    let counted = Run::new(&program, ranks).count().run();
    same(&counted, "call-counter");
    expect_equal(name, &counted);
    let both = Run::new(&program, ranks).preload(tool("empty_raw")).count().run();
    same(&both, "empty-raw and call-counter");
    expect_equal(name, &both);
    // What the bandwidth counter asks MPI itself is no call for who is behind it.
    let high = Run::new(&program, ranks)
        .preload(tool("empty_high"))
        .preload(tool("bandwidth_counter"))
        .variable("MPI_TOOL_BANDWIDTH_COUNTER_OUTPUT", "none")
        .count()
        .run();
    same(&high, "empty-high, bandwidth-counter and call-counter");
    expect_equal(name, &high);
}

/// What an old ROMIO calls so that tools see it, in `MPI_Finalize`, and where there are files.
const BY_ROMIO: [&str; 12] = [
    "MPI_Comm_get_info",
    "MPI_File_set_errhandler",
    "MPI_Get_count",
    "MPI_Iallgather",
    "MPI_Iallreduce",
    "MPI_Ialltoall",
    "MPI_Ibcast",
    "MPI_Irecv",
    "MPI_Isend",
    "MPI_Type_create_hindexed",
    "MPI_Type_create_struct",
    "MPI_Type_free_keyval",
];

fn expect_equal(name: &str, outcome: &Outcome) {
    // MPICH before 5 itself calls these, by their public names, for files: ROMIO was made without PMPI.
    let by_library = |function: &str| {
        let name = function.strip_suffix("_c").unwrap_or(function);
        if test_support::is_debian() {
            // Of these only one, in 4.0.2.
            name == "MPI_Type_free_keyval"
        } else {
            test_support::is_mpich_before_5() && BY_ROMIO.contains(&name)
        }
    };
    let differences: BTreeMap<&String, (Option<&u64>, Option<&u64>)> = outcome
        .expected
        .keys()
        .chain(outcome.counted.keys())
        .map(|function| (function, (outcome.expected.get(function), outcome.counted.get(function))))
        .filter(|(function, (expected, counted))| {
            expected != counted && !(by_library(function) && expected < counted)
        })
        .collect();
    assert!(
        differences.is_empty(),
        "{name}: (called, counted): {differences:?}\n{}",
        outcome.stderr
    );
}

macro_rules! programs {
    ($($name:ident on $ranks:literal,)*) => {
        $(
            #[test]
            fn $name() {
                transparent_and_exact(stringify!($name), $ranks);
            }
        )*
    };
}

programs! {
    attributes on 3,
    both_models on 3,
    collectives on 3,
    datatypes on 3,
    errors on 2,
    exit_status on 1,
    handlers on 3,
    io on 3,
    large_count on 3,
    large_count_io on 2,
    neighborhood on 3,
    objects on 3,
    onesided on 3,
    p2p on 3,
    partitioned on 2,
    ring on 3,
    sessions on 3,
    spawn on 2,
    threads on 2,
    tools on 2,
}

/// Constructors and destructors of C++ call MPI before `MPI_Init` and after `MPI_Finalize`.
#[test]
fn cxx() {
    let program = test_support::compile_cxx("cxx");
    let plain = Run::new(&program, 2).run();
    let counted = Run::new(&program, 2).count().run();
    assert_eq!((counted.status, counted.lines()), (plain.status, plain.lines()));
    assert!(counted.expected["MPI_Initialized"] > 0);
    expect_equal("cxx", &counted);
}

/// The answers that anyone can work out: three ranks, a hundred rounds.
#[test]
fn known_answers_of_the_ring() {
    let outcome = Run::new(&compile("ring"), 3).count().run();
    let known = ["MPI_Comm_rank", "MPI_Comm_size", "MPI_Finalize", "MPI_Init"];
    let mut known: BTreeMap<String, u64> = known.map(|name| (name.to_owned(), 3)).into();
    known.extend([("MPI_Recv".to_owned(), 300), ("MPI_Send".to_owned(), 300)]);
    assert_eq!(outcome.counted, known);
    let report = &outcome.reports[0];
    assert_eq!(report["schema"], "mpi-tool-report/1");
    assert_eq!((&report["complete"], &report["ranks"]), (&true.into(), &3.into()));
    for counter in report["counters"].as_array().unwrap() {
        let each = counter["total"].as_u64().unwrap() / 3;
        assert_eq!(counter["min"], each);
        assert_eq!(counter["max"], each);
        assert_eq!(counter["mean"].as_f64(), Some(each as f64));
    }
}

/// As `MPI_Send: 321180` on standard error, sorted by name, nothing that was not called.
#[test]
fn the_text_is_sorted_lines_of_what_was_called() {
    let program = compile("ring");
    let outcome = Run::new(&program, 2).preload(tool("call_counter")).run();
    let lines: Vec<_> = outcome.stderr.lines().filter(|line| line.starts_with("MPI_")).collect();
    assert_eq!(
        lines,
        [
            "MPI_Comm_rank: 2",
            "MPI_Comm_size: 2",
            "MPI_Finalize: 2",
            "MPI_Init: 2",
            "MPI_Recv: 200",
            "MPI_Send: 200"
        ]
    );
    assert!(outcome.stderr.contains("# call-counter 0.1.0: calls, summed over 2 ranks\n"));
}

/// Ranks that differ: the least, the most and the mean over the ranks.
#[test]
fn spread_over_ranks() {
    let outcome = Run::new(&compile("uneven"), 4).count().run();
    outcome.expect_success("uneven");
    let report = &outcome.reports[0];
    let counters = report["counters"].as_array().unwrap();
    let of = |name: &str| counters.iter().find(|counter| counter["name"] == name).unwrap();
    // Rank r calls MPI_Comm_size 10 * r times, and only rank 2 calls MPI_Wtime.
    let size = of("MPI_Comm_size");
    assert_eq!((&size["total"], &size["min"], &size["max"]), (&60.into(), &0.into(), &30.into()));
    assert_eq!(size["mean"].as_f64(), Some(15.0));
    let wtime = of("MPI_Wtime");
    assert_eq!((&wtime["total"], &wtime["min"], &wtime["max"]), (&1.into(), &0.into(), &1.into()));
    assert_eq!(wtime["mean"].as_f64(), Some(0.25));
    assert_eq!(wtime["class"], "environment");
}
