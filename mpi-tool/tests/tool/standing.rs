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
        assert!(outcome.status == Some(0) || may_be_ended, "{what}: {outcome:?}");
        // Of a rank that starts MPI late nobody knows what it does: nothing is said of all then.
        let is_of_part = what == "late start"
            && outcome.stderr.contains("has made an MPI call for 1 s, but others may work");
        match outcome.stderr.matches("no rank has made an MPI call for 1 s").count() {
            _ if is_of_part => return outcome.stderr,
            0 => {}
            1 => return outcome.stderr,
            _ => panic!("{what}: {outcome:?}"),
        }
    }
    panic!("{what}: no report in three runs");
}

fn nobody_is_accused(what: &str) {
    let report = report_of(what);
    assert!(!report.contains("deadlock") && !report.contains("Deadlock"), "{what}:\n{report}");
}

/// The same, where this MPI has what MPI-4 has brought.
fn nobody_is_accused_by_mpi_4(what: &str) {
    let has_it = limited(program("has 4")).arg("has 4").status().expect("it starts").success();
    // Under Open MPI 5.0.11, a message of which a part comes later hangs without the tool, too, and it does not start again
    // when its last session is over.
    let fails_alone = abi() == "openmpi" && ["partitioned", "sessions anew"].contains(&what);
    if has_it && !fails_alone {
        nobody_is_accused(what);
    }
}

fn nothing_is_certain(what: &str, said: &str) {
    let report = report_of(what);
    assert!(!report.contains("Deadlock:") && report.contains(said), "{what}:\n{report}");
}

/// Each program is a test.
macro_rules! each {
    ($($group:ident: $judge:ident { $($name:ident $what:literal $($said:literal)?,)* })*) => {
        $(mod $group {
            $(#[test]
            fn $name() {
                super::$judge($what $(, $said)?);
            })*
        })*
    };
}

each! {
    operations_of_all_accuse_nobody: nobody_is_accused {
        between_barrier "between barrier",
        between_broadcast "between broadcast",
        idup "idup",
        neighbours "neighbours",
        some_make_one "some make one",
        made_again "made again",
        leaders "leaders",
        scan "scan",
        attribute "attribute",
        operation "operation",
        error_returned "error returned",
        input "input",
    }
    messages_accuse_nobody: nobody_is_accused {
        matched_probe "matched probe",
        server "server",
        slow_poll "slow poll",
        freed_request "freed request",
        wait_any "wait any",
        ring "ring",
        shift "shift",
        buffered "buffered",
        own_request "own request",
    }
    windows_and_files_accuse_nobody: nobody_is_accused {
        flag_in_memory "flag in memory",
        post_and_start "post and start",
        lock "lock",
        lock_all "lock all",
        file "file",
        ordered_file "ordered file",
    }
    starts_and_ends_accuse_nobody: nobody_is_accused {
        late_start "late start",
        late_end "late end",
        at_exit "at exit",
        spawn "spawn",
    }
    what_mpi_4_has_accuses_nobody: nobody_is_accused_by_mpi_4 {
        persistent_collective "persistent collective",
        session "session",
        partitioned "partitioned",
    }
    sessions_accuse_nobody: nobody_is_accused_by_mpi_4 {
        sessions_again "sessions again",
        sessions_anew "sessions anew",
        sessions_groups "session's groups",
        sessions_subset "session's subset",
        sessions_self "session's self",
        sessions_two_groups "session's two groups",
        sessions_epochs "session's epochs",
        sessions_end "session's end",
    }
    // Where it cannot be seen whether a rank goes on, that is said.
    what_cannot_be_seen_is_not_certain: nothing_is_certain {
        thread_polls "thread polls" "rank 2 has a thread that sleeps outside of MPI and may go on",
        thread_polls_before_its_first_call "thread polls" "of rank 2 sleeps outside of MPI, and has not called MPI yet",
        semaphore_of_all "semaphore of all" "rank 2 has a thread that sleeps outside of MPI and may go on",
        own_message "own message" "outside of MPI and may go on",
        error_handler "error handler" "may be in an error handler",
    }
}

/// A thread that works outside of MPI may do what its rank waits for.
#[test]
fn a_thread_that_works_accuses_nobody() {
    let report = report_of("thread works");
    assert!(!report.contains("deadlock") && !report.contains("Deadlock"), "{report}");
    assert!(report.contains(": another thread of it works outside of MPI"), "{report}");
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
