//! `mpi-watch` makes no system call for a call, and few at the start, which `strace` counts.

use std::fs;
use std::path::Path;

use crate::common::{Outcome, compile, launcher, limited, text, tool};

/// The system calls that a rank makes that goes round a loop of calls so many times.
fn all_system_calls(
    folder: &Path,
    what: &str,
    rounds: &str,
    tool: Option<&Path>,
    depth: &str,
) -> String {
    let log = folder.join("log");
    let [mpiexec, option, ranks] = launcher("1");
    let mut command = limited(mpiexec);
    command.args([option, ranks]).arg("strace").arg("-o").arg(&log);
    // Not for strace itself.
    command.args(tool.map(|tool| format!("-ELD_PRELOAD={}", text(tool))));
    command.arg(format!("-EMPI_TOOL_RUN={}", text(&folder.join("run"))));
    command.arg(format!("-EMPI_TOOL_MPI_WATCH_DEPTH={depth}"));
    command.arg(compile("loops")).args([what, rounds]);
    let outcome = Outcome::of(&mut command);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    fs::read_to_string(log).unwrap()
}

/// How many of these it makes in the loop.
fn system_calls(
    folder: &Path,
    what: &str,
    rounds: &str,
    tool: Option<&Path>,
    depth: &str,
) -> usize {
    let log = all_system_calls(folder, what, rounds, tool, depth);
    let of_loop = log.lines().skip_while(|line| !line.starts_with("write(1, \"begin"));
    let calls = of_loop.skip(1).take_while(|line| !line.starts_with("write(1, \"end"));
    let is_signal = |line: &&str| line.starts_with("---");
    calls.filter(|line| !is_signal(line)).count()
}

/// Open MPI makes some itself, in a part of its rounds that varies. `cargo xtask test` leaves tests of this name out where
/// no debugger can look.
#[test]
fn strace_sees_no_system_calls() {
    const ROUNDS: usize = 100_000;
    let tool = tool("mpi_watch");
    for what in ["messages", "operations", "questions"] {
        let of = |tool, depth| {
            let folder = tempfile::tempdir().unwrap();
            system_calls(folder.path(), what, &ROUNDS.to_string(), tool, depth)
        };
        let without = of(None, "4");
        for depth in ["0", "4"] {
            let with = of(Some(&tool), depth);
            let more = with.saturating_sub(without);
            assert!(
                more < ROUNDS / 100,
                "{what}, {depth}: {with} system calls, {without} without the tool"
            );
        }
    }
}

/// A rank opens its own file, three libraries and a few files of the kernel's. What takes long is not among these: the list of
/// all of its memory, and names and states of processes in files of their own.
#[test]
fn strace_sees_a_short_start() {
    let tool = tool("mpi_watch");
    let opened = |tool: Option<&Path>| {
        let folder = tempfile::tempdir().unwrap();
        let log = all_system_calls(folder.path(), "messages", "1", tool, "4");
        let is_there = |line: &&str| line.starts_with("open") && !line.contains(" = -1 ");
        log.lines().filter(is_there).map(str::to_owned).collect::<Vec<_>>()
    };
    let of = |lines: &[String], what: &str| lines.iter().filter(|line| line.contains(what)).count();
    let (without, with) = (opened(None), opened(Some(&tool)));
    for what in ["/maps\"", "/comm\"", "/kernel/hostname\""] {
        assert!(of(&with, what) <= of(&without, what), "{what}: {with:#?}");
    }
    // Up to the launcher there is another process.
    assert!(of(&with, "/stat\"") <= of(&without, "/stat\"") + 3, "{with:#?}");
    assert_eq!(of(&with, ".watch\""), 1, "{with:#?}");
    assert!(with.len() <= without.len() + 12, "{with:#?}\n{without:#?}");
}
