//! Callbacks of a program that leave the call of MPI that has called them, by an exception of C++, by `longjmp` or with their
//! thread: every tool lets them, as MPI does, and the call has been a call.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use test_support::{Outcome, Run, compile_cxx, setting, tool, universal};

fn program() -> PathBuf {
    compile_cxx("leaves")
}

/// All tools that are built for this MPI.
fn tools() -> Vec<PathBuf> {
    let files = fs::read_dir(setting("MPI_TOOLS")).unwrap().map(|entry| entry.unwrap().path());
    let mut tools: Vec<_> = files.filter(|file| !file.ends_with("libqmpi.so")).collect();
    tools.sort();
    assert!(tools.contains(&tool("mpi_check")) && tools.len() > 6, "{tools:?}");
    tools
}

/// The program's own lines: libraries below MPI may say something, too.
fn said(outcome: &Outcome) -> Vec<&str> {
    outcome.lines().into_iter().filter(|line| line.starts_with("rank ")).collect()
}

fn expect_same(plain: &Outcome, outcome: &Outcome, what: &Path) {
    let what = what.display();
    assert_eq!(outcome.status, plain.status, "{what}\n{}\n{}", outcome.stdout, outcome.stderr);
    assert_eq!(said(outcome), said(plain), "{what}\n{}", outcome.stderr);
}

/// The table of docs/report.md: callbacks, and the ways in which they are left.
fn documented() -> BTreeSet<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/report.md");
    let page = fs::read_to_string(page).unwrap();
    let table = page.lines().skip_while(|line| !line.starts_with("| callback |"));
    let rows: Vec<Vec<&str>> = table
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    let ways = &rows[0][1..];
    let of_row = |row: &Vec<&str>| {
        let callback = row[0].to_owned();
        let is_left = ways.iter().zip(row[1..].to_vec()).filter(|(_, cell)| *cell == "tested");
        is_left
            .map(|(way, _)| format!("{callback} by {}", way.trim_matches('`')))
            .collect::<Vec<_>>()
    };
    rows[2..].iter().flat_map(of_row).collect()
}

/// What the program says without tools: every callback has left its call.
fn plain() -> Outcome {
    let plain = Run::new(&program(), 2).run();
    plain.expect_success("leaves");
    let said = said(&plain);
    for rank in [0, 1] {
        let begin = format!("rank {rank} has left: ");
        let own = said.iter().filter_map(|line| line.strip_prefix(&begin)?.strip_suffix(" times"));
        let own: BTreeSet<_> = own
            .map(|line| {
                let (what, times) = line.rsplit_once(", ").unwrap();
                // Attributes are at the end, and once.
                assert_eq!(times, if what.contains("attribute") { "1" } else { "3" }, "{line}");
                what.to_owned()
            })
            .collect();
        assert_eq!(own, documented());
    }
    plain
}

/// Each kind of call three times by each way.
fn counts_every_call_that_is_left(counter: &Path) {
    let plain = plain();
    let outcome = Run::new(&program(), 2).count_with(counter).run();
    expect_same(&plain, &outcome, counter);
    for (function, calls) in [
        ("MPI_Send", 6),
        ("MPI_File_open", 6),
        ("MPI_Put", 6),
        ("MPI_Cancel", 6),
        ("MPI_Request_get_status", 6),
        ("MPI_Reduce_local", 12),
    ] {
        assert_eq!(outcome.counted.get(function), Some(&(2 * calls)), "{function}");
        assert_eq!(outcome.expected.get(function), Some(&(2 * calls)), "{function}");
    }
}

#[test]
fn every_call_that_is_left_is_counted() {
    counts_every_call_that_is_left(&tool("call_counter"));
}

#[test]
fn the_universal_build_counts_every_call_that_is_left() {
    counts_every_call_that_is_left(&universal("call_counter"));
}

#[test]
fn every_tool_lets_calls_be_left() {
    let plain = plain();
    for tool in tools() {
        let run = Run::new(&program(), 2).preload(&tool);
        expect_same(&plain, &run.variable("MPI_TOOL_OUTPUT", "said").run(), &tool);
    }
}

#[test]
fn every_level_lets_calls_be_left() {
    let plain = plain();
    let all: Vec<_> = tools().iter().map(|tool| tool.display().to_string()).collect();
    // Each by itself, and all of them together.
    let together = all.join(":");
    for levels in all.iter().chain([&together]) {
        let run = Run::new(&program(), 2).preload(tool("qmpi")).variable("TOOLS", levels);
        expect_same(&plain, &run.variable("MPI_TOOL_OUTPUT", "said").run(), levels.as_ref());
    }
}
