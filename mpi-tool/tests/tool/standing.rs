//! Right programs that stand still for a while and go on, and `mpi-tool run --hang-after`: nobody is accused of a deadlock.

use std::path::PathBuf;
use std::process::{Child, Command};

use crate::common::{Outcome, abi, compile_with, launcher, limited, mpi_tool, setting, text};

/// What `standing_threads.c` has.
const OF_THREADS: [&str; 8] = [
    "has 4",
    "thread works",
    "thread polls",
    "semaphore of all",
    "own message",
    "own request",
    "input",
    "session",
];

/// What `standing_sessions.c` has.
const OF_SESSIONS: [&str; 8] = [
    "sessions again",
    "sessions anew",
    "session's groups",
    "session's subset",
    "session's self",
    "session's two groups",
    "session's epochs",
    "session's end",
];

/// The file that has a program.
fn program(what: &str) -> PathBuf {
    let name = match what {
        _ if OF_THREADS.contains(&what) => "standing_threads",
        _ if OF_SESSIONS.contains(&what) => "standing_sessions",
        _ => "standing",
    };
    compile_with(setting("MPICC"), name, name, &["-g", "-pthread"])
}

/// Runs one of `standing.c` and `standing_threads.c`, and gives what came of it.
fn run(what: &str) -> Outcome {
    let (program, folder) = (program(what), tempfile::tempdir().unwrap());
    let file = folder.path().join("file");
    let [mpiexec, option, ranks] = launcher("4");
    let words = [&mpiexec, &option, &ranks, text(&program), what, text(&file)];
    let options = ["run", "--hang-after", "1s", "--"];
    mpi_tool(folder.path(), &[&options[..], &words].concat())
}

/// A report has been made, and the program has ended as without it. On a busy machine, a program may have gone on before the
/// report was due: it is run again then.
fn report_of(what: &str) -> String {
    for _ in 0..3 {
        let outcome = run(what);
        // Without the tool, too, MPICH's launcher may end a program whose ranks finalize MPI in `exit`: if one of them has
        // ended before the launcher has seen that the others have finalized.
        let may_be_ended = what == "at exit" && abi() != "openmpi" && outcome.status == Some(9);
        // Without the tool, too, MPICH 5.0.2 may hang where sessions are opened again: on a busy machine, in 2 of 40 runs.
        let may_hang = what == "sessions anew" && abi() != "openmpi" && outcome.status == Some(124);
        assert!(outcome.status == Some(0) || may_be_ended || may_hang, "{what}: {outcome:?}");
        match outcome.stderr.matches("no rank has made an MPI call for 1 s").count() {
            0 => {}
            1 => return outcome.stderr,
            _ => panic!("{what}: {outcome:?}"),
        }
    }
    panic!("{what}: no report in three runs");
}

fn nobody_is_accused(programs: &[&str]) {
    for what in programs {
        let report = report_of(what);
        assert!(!report.contains("deadlock") && !report.contains("Deadlock"), "{what}:\n{report}");
    }
}

fn nothing_is_certain(programs: &[(&str, &str)]) {
    for (what, said) in programs {
        let report = report_of(what);
        assert!(!report.contains("Deadlock:") && report.contains(said), "{what}:\n{report}");
    }
}

#[test]
fn operations_of_all_accuse_nobody() {
    nobody_is_accused(&[
        "between barrier",
        "between broadcast",
        "idup",
        "neighbours",
        "some make one",
        "made again",
        "leaders",
        "scan",
        "attribute",
        "operation",
        "error returned",
        "input",
    ]);
}

#[test]
fn messages_accuse_nobody() {
    nobody_is_accused(&[
        "matched probe",
        "server",
        "slow poll",
        "freed request",
        "wait any",
        "ring",
        "shift",
        "buffered",
        "own request",
    ]);
}

#[test]
fn windows_and_files_accuse_nobody() {
    nobody_is_accused(&[
        "flag in memory",
        "post and start",
        "lock",
        "lock all",
        "file",
        "ordered file",
    ]);
}

#[test]
fn starts_and_ends_accuse_nobody() {
    nobody_is_accused(&["late start", "late end", "at exit", "spawn"]);
}

#[test]
fn what_mpi_4_has_accuses_nobody() {
    if limited(program("has 4")).arg("has 4").status().expect("it starts").success() {
        nobody_is_accused(&["persistent collective", "session"]);
        // Under Open MPI 5.0.11, a message of which a part comes later hangs without the tool, too.
        if abi() != "openmpi" {
            nobody_is_accused(&["partitioned"]);
        }
    }
}

#[test]
fn sessions_accuse_nobody() {
    if !limited(program("has 4")).arg("has 4").status().expect("it starts").success() {
        return;
    }
    for what in OF_SESSIONS {
        // Open MPI does not start again when its last session is over.
        if what != "sessions anew" || abi() != "openmpi" {
            nobody_is_accused(&[what]);
        }
    }
}

/// A thread that works outside of MPI may do what its rank waits for.
#[test]
fn a_thread_that_works_accuses_nobody() {
    let report = report_of("thread works");
    assert!(!report.contains("deadlock") && !report.contains("Deadlock"), "{report}");
    assert!(report.contains(": another thread of it works outside of MPI"), "{report}");
}

/// Where it cannot be seen whether a rank goes on, that is said.
#[test]
fn what_cannot_be_seen_is_not_certain() {
    let threads = "outside of MPI and may go on";
    nothing_is_certain(&[
        ("thread polls", "rank 2 has a thread that sleeps outside of MPI and may go on"),
        ("thread polls", "of rank 2 sleeps outside of MPI, and has not called MPI yet"),
        ("semaphore of all", "rank 2 has a thread that sleeps outside of MPI and may go on"),
        ("own message", threads),
        ("error handler", "may be in an error handler"),
    ]);
}

/// Processes that are busy, ended with this value.
struct Busy(Vec<Child>);

impl Busy {
    fn start(number: u32) -> Self {
        let busy = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        Self((0..number).map(|_| busy()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for busy in &mut self.0 {
            let _ = busy.kill();
            let _ = busy.wait();
        }
    }
}

/// With twenty busy processes beside it, a program may not get far in a second.
#[test]
fn nobody_is_accused_on_a_busy_machine() {
    let _busy = Busy::start(20);
    for what in ["ring", "server", "scan", "wait any"] {
        let outcome = run(what);
        assert_eq!(outcome.status, Some(0), "{what}: {outcome:?}");
        assert!(!outcome.stderr.to_lowercase().contains("deadlock"), "{what}: {outcome:?}");
    }
}
