//! What the bandwidth counter reports, compared with what C programs say that they move: worked out
//! from the standard, call by call, by those who wrote them.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{Outcome, Run, compile, tool};

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
}
