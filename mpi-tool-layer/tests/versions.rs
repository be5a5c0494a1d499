//! Tools of several versions of the framework in one process: each sees and reports its calls, and reads of the
//! others no more than their versions. `tests/c/other_version.c` stands for one. Programs in Fortran beside it are in
//! `tests/fortran.rs`.

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

/// A universal build cannot tell a tool of another version where it stands.
#[test]
fn a_universal_build_beside_another_version_says_so_and_runs_the_program() {
    let program = compile("p2p");
    let plain = Run::new(&program, 2).run();
    let with =
        Run::new(&program, 2).preload(stranger()).count_with(&universal("call_counter")).run();
    assert_eq!((with.status, with.lines()), (plain.status, plain.lines()), "{}", with.stderr);
    assert!(with.counted.is_empty());
    let said = "was made by another version of this framework";
    assert_eq!(with.stderr.matches(said).count(), 1, "{}", with.stderr);
}
