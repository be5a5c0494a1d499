//! Tools of several versions of the framework in one process: each sees and reports its calls, and reads of the
//! others no more than their versions. `tests/c/other_version.c` stands for one. Programs in Fortran beside it are in
//! `tests/fortran.rs`.

use std::fs;

use test_support::{Run, compile, stranger, tool, universal};

const SAID: &str = "the tool behind it is from another version of this framework (999, not 1)";

#[test]
fn calls_are_counted_beside_a_tool_of_another_version() {
    let program = compile("p2p");
    let plain = Run::new(&program, 2).run();
    plain.expect_success("p2p");
    let before = Run::new(&program, 2).preload(stranger()).count().run();
    let behind = Run::new(&program, 2).count().preload(stranger()).run();
    let between = Run::new(&program, 2)
        .preload(tool("empty_raw"))
        .preload(stranger())
        .count()
        .preload(tool("empty_high"))
        .run();
    // Rank 0 alone says so, of the tool that stands right before the stranger.
    for (outcome, said) in [(before, 0), (behind, 1), (between, 1)] {
        assert_eq!(outcome.lines(), plain.lines(), "{}", outcome.stderr);
        assert_eq!(outcome.counted, outcome.expected, "{}", outcome.stderr);
        assert_eq!(outcome.stderr.matches(SAID).count(), said, "{}", outcome.stderr);
    }
}

#[test]
fn a_signal_is_reported_behind_a_tool_of_another_version() {
    let program = compile("terminated");
    let alone = Run::new(&program, 1).count().run();
    assert!(!alone.counted.is_empty(), "{}", alone.stderr);
    let behind = Run::new(&program, 1).preload(stranger()).count().run();
    assert_eq!(
        (behind.status, &behind.counted),
        (alone.status, &alone.counted),
        "{}",
        behind.stderr
    );
}

#[test]
fn universal_builds_count_beside_a_tool_of_another_version() {
    let program = compile("p2p");
    let plain = Run::new(&program, 2).run();
    let counter = universal("call_counter");
    let before = Run::new(&program, 2).preload(stranger()).count_with(&counter).run();
    let behind = Run::new(&program, 2).count_with(&counter).preload(stranger()).run();
    for with in [before, behind] {
        assert_eq!((with.status, with.lines()), (plain.status, plain.lines()), "{}", with.stderr);
        assert_eq!(with.counted, with.expected, "{}", with.stderr);
        assert!(!with.counted.is_empty());
    }
}

#[test]
fn a_universal_build_beside_a_build_of_another_version_says_so_and_runs_the_program() {
    let program = compile("p2p");
    let plain = Run::new(&program, 2).run();
    let run = Run::new(&program, 2);
    let file = run.folder.path().join("libcall_counter.so");
    let build = run.folder.path().join(test_support::abi().name()).join("libcall_counter.so");
    fs::create_dir(build.parent().unwrap()).unwrap();
    fs::copy(universal("call_counter"), &file).unwrap();
    fs::copy(stranger(), &build).unwrap();
    let with = run.count_with(&file).run();
    assert_eq!((with.status, with.lines()), (plain.status, plain.lines()), "{}", with.stderr);
    assert!(with.counted.is_empty());
    let said = format!("{} was made by another version of this framework", build.display());
    assert_eq!(with.stderr.matches(&said).count(), 1, "{}", with.stderr);
}
