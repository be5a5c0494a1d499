//! What the bandwidth counter reports, compared with what C programs say that they move: worked out
//! from the standard, call by call, by those who wrote them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestRunner};
use test_support::{Outcome, Run, compile, tool};

/// Elements and bytes, by `unit|flow|class|datatype`.
type Moved = BTreeMap<String, u64>;

/// Has the bandwidth counter preloaded and report into the folder.
fn measured(run: Run) -> Run {
    let report = run.folder.path().join("report.json");
    run.preload(tool("bandwidth_counter"))
        .variable("MPI_TOOL_BANDWIDTH_COUNTER_FORMAT", "json")
        .variable("MPI_TOOL_BANDWIDTH_COUNTER_OUTPUT", report.to_str().unwrap())
}

/// What the one report of a run says.
fn reported(outcome: &Outcome) -> Moved {
    let [report] = &outcome.reports[..] else {
        panic!("{} reports\n{}", outcome.reports.len(), outcome.stderr)
    };
    assert_eq!(report["complete"], true, "{}", outcome.stderr);
    let mut moved = Moved::new();
    for counter in report["counters"].as_array().unwrap() {
        let text = |field: &str| counter[field].as_str().unwrap();
        let (flow, datatype) = text("name").split_once(' ').unwrap();
        let name = [text("unit"), flow, text("class"), datatype].join("|");
        let before = moved.insert(name.clone(), counter["total"].as_u64().unwrap());
        assert_eq!(before, None, "{name} is reported twice");
    }
    moved
}

/// What the program says.
fn said(outcome: &Outcome) -> Moved {
    let moved = outcome.expected.iter().filter(|(name, _)| name.contains('|'));
    moved.map(|(name, count)| (name.clone(), *count)).collect()
}

fn expect_exact(what: &str, outcome: &Outcome) {
    outcome.expect_success(what);
    let (said, reported) = (said(outcome), reported(outcome));
    assert!(!said.is_empty(), "{what} moved nothing\n{}", outcome.stderr);
    let names: BTreeSet<&String> = said.keys().chain(reported.keys()).collect();
    let differences: Vec<_> = names
        .into_iter()
        .map(|name| (name, said.get(name), reported.get(name)))
        .filter(|(_, said, reported)| said != reported)
        .collect();
    assert!(differences.is_empty(), "{what}: (moved, reported): {differences:#?}");
}

macro_rules! programs {
    ($($test:ident: $name:ident on $ranks:literal,)*) => {
        $(
            #[test]
            fn $test() {
                let run = measured(Run::new(&compile(stringify!($name)), $ranks)).run();
                expect_exact(stringify!($name), &run);
            }
        )*
    };
}

programs! {
    bandwidth_of_point_to_point: bandwidth_p2p on 3,
    bandwidth_of_collectives: bandwidth_collectives on 3,
    bandwidth_of_neighborhoods: bandwidth_neighborhood on 4,
    bandwidth_of_one_sided: bandwidth_onesided on 3,
    bandwidth_of_files: bandwidth_files on 2,
    bandwidth_of_datatypes: bandwidth_datatypes on 2,
    bandwidth_of_calls_that_fail: bandwidth_errors on 1,
}

/// No data of a datatype that is none: what MPI accepts stays accepted, no error handler hears of the tool, and
/// nothing is counted. As a preloaded tool and as a level of a stack.
#[test]
fn null_datatypes_are_not_asked_about() {
    let program = compile("null_datatypes");
    let plain = Run::new(&program, 1).run();
    plain.expect_success("null_datatypes");
    let preloaded = measured(Run::new(&program, 1)).run();
    assert_eq!(preloaded.lines(), plain.lines(), "{}", preloaded.stderr);
    expect_exact("null_datatypes", &preloaded);
    let level = Run::new(&program, 1).preload(tool("qmpi"));
    let report = level.folder.path().join("report.json");
    let level = level
        .variable("TOOLS", tool("bandwidth_counter").to_str().unwrap())
        .variable("MPI_TOOL_BANDWIDTH_COUNTER_FORMAT", "json")
        .variable("MPI_TOOL_BANDWIDTH_COUNTER_OUTPUT", report.to_str().unwrap());
    let level = level.run();
    assert_eq!(level.lines(), plain.lines(), "{}", level.stderr);
    expect_exact("null_datatypes in a stack", &level);
}

/// A message of a random program, as `bandwidth_random.c` reads it.
#[derive(Debug, Clone)]
struct Message {
    from: usize,
    to: usize,
    send: usize,
    receive: usize,
    datatype: usize,
    count: u64,
    /// How much more the receive has room for.
    extra: u64,
    repeat: u64,
}

/// Messages, and how those that do not block are completed.
#[derive(Debug, Clone)]
struct Batch {
    completion: usize,
    messages: Vec<Message>,
}

/// Sizes of the program's datatypes in bytes, by their definitions: a byte, an int, a double, a double
/// and an int, six ints, two ints and three doubles and a char, the same twice, a short, four floats,
/// twelve ints.
const SIZES: [u64; 10] = [1, 4, 8, 12, 24, 33, 66, 2, 16, 48];

const SENDS: usize = 10;
const RECEIVES: usize = 8;
const COMPLETIONS: usize = 9;
/// `MPI_Bsend` and `MPI_Ibsend`, which have a buffer of 16 MB for all that is under way.
const BUFFERED: [usize; 2] = [2, 6];

fn message(ranks: usize) -> impl Strategy<Value = Message> {
    // Most messages are short, some too long for any MPI to send before they are received.
    let count = prop_oneof![4 => 0..20_u64, 1 => 20..3000_u64];
    (
        (0..ranks, 0..ranks, 0..SENDS, 0..RECEIVES),
        (0..SIZES.len(), count, prop_oneof![Just(0_u64), 1..50_u64], 1..4_u64),
    )
        .prop_map(|((from, to, send, receive), (datatype, count, extra, repeat))| Message {
            from,
            to,
            send,
            receive,
            datatype,
            count: if BUFFERED.contains(&send) { count % 100 } else { count },
            extra,
            repeat,
        })
}

fn batches(ranks: usize, number: usize) -> impl Strategy<Value = Vec<Batch>> {
    let batch = (0..COMPLETIONS, vec(message(ranks), 1..12))
        .prop_map(|(completion, messages)| Batch { completion, messages });
    vec(batch, number / 2..number)
}

/// Bytes sent are bytes received are what the program was told to send.
fn expect_conserved(ranks: usize, threads: &[Vec<Batch>]) -> Result<(), TestCaseError> {
    let (mut lines, mut number, mut bytes) = (String::new(), 0, 0);
    for (thread, batches) in threads.iter().enumerate() {
        for (batch, Batch { completion, messages }) in batches.iter().enumerate() {
            for message in messages {
                let Message { from, to, send, receive, datatype, count, extra, repeat } = message;
                let _ = writeln!(
                    lines,
                    "{thread} {batch} {completion} {from} {to} {send} {receive} {datatype} {count} \
                     {extra} {repeat}",
                );
                number += 1;
                bytes += SIZES[*datatype] * count * repeat;
            }
        }
    }
    let run = Run::new(&compile("bandwidth_random"), ranks.try_into().unwrap());
    let path = run.folder.path().join("messages");
    fs::write(&path, format!("{number}\n{lines}")).unwrap();
    let threads = threads.len().to_string();
    let outcome = measured(run.arguments(&[path.to_str().unwrap(), &threads])).run();
    prop_assert_eq!(outcome.status, Some(0), "{}", outcome.stderr);
    let reported = reported(&outcome);
    let sum = |flow: &str| {
        let beginning = format!("bytes|{flow}|point-to-point|");
        let rows = reported.iter().filter(|(name, _)| name.starts_with(&beginning));
        rows.map(|(_, bytes)| bytes).sum::<u64>()
    };
    prop_assert_eq!((sum("sent"), sum("received")), (bytes, bytes), "(sent, received)");
    let elsewhere = reported.keys().filter(|name| !name.contains("|point-to-point|"));
    prop_assert_eq!(elsewhere.count(), 0);
    // An element is an element: a struct is no bytes.
    let others = reported.keys().filter(|name| name.ends_with("|other"));
    prop_assert_eq!(others.count(), 0);
    Ok(())
}

/// As many random programs as `PROPTEST_CASES` says, else a few; each is a run with many messages.
fn check_cases<S: Strategy>(strategy: &S, test: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let config = ProptestConfig {
        cases: cases.unwrap_or(4),
        max_shrink_iters: 100,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    if let Err(error) = TestRunner::new(config).run(strategy, test) {
        panic!("{error}");
    }
}

#[test]
fn bandwidth_is_conserved() {
    let programs = (2..5_usize).prop_flat_map(|ranks| (Just(ranks), batches(ranks, 200)));
    check_cases(&programs, |(ranks, batches)| expect_conserved(ranks, &[batches]));
}

#[test]
fn bandwidth_is_conserved_under_threads() {
    let programs = vec(batches(2, 30), 4..=4);
    check_cases(&programs, |threads| expect_conserved(2, &threads));
}
