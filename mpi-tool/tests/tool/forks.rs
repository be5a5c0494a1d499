//! A child that `fork` makes is no rank, whatever it calls: it does not stand in the files of the process that has made it, and
//! nothing is found in what it does.

use crate::common::{Outcome, compile_with, launcher, limited, mpi_tool, setting, tool};
use crate::trace;

/// Runs `forks.c` on two ranks with a tool, with a run folder `run`.
fn run(folder: &tempfile::TempDir, name: &str, way: &str) -> Outcome {
    let program = compile_with(setting("MPICC"), "forks", "forks", &["-g"]);
    let [mpiexec, option, ranks] = launcher("2");
    let mut command = limited(mpiexec);
    command.args([option, ranks]).arg(&program).arg(way).current_dir(folder.path());
    command.env("LD_PRELOAD", tool(name)).env("MPI_TOOL_RUN", folder.path().join("run"));
    Outcome::of(&mut command)
}

/// The trace has the calls of the ranks, in whole, and no other: the child's would take many chunks of the file.
#[test]
fn a_trace_has_the_ranks_calls_only() {
    for way in ["exit", "_exit", "beside"] {
        let folder = tempfile::tempdir().unwrap();
        let outcome = run(&folder, "mpi_trace", way);
        assert_eq!(outcome.status, Some(0), "{way}: {outcome:?}");
        assert!(outcome.lines().contains(&"the end"), "{way}: {outcome:?}");
        let calls = trace::calls(folder.path());
        let count = |function: &str| {
            let of = |rank: &str| {
                calls
                    .iter()
                    .filter(|call| call["function"] == function && call["rank"] == rank)
                    .count()
            };
            [of("0"), of("1")]
        };
        for (function, wanted) in [
            ("MPI_Init", 1),
            ("MPI_Comm_rank", 101),
            ("MPI_Type_contiguous", 1),
            ("MPI_Type_free", 1),
            ("MPI_Barrier", 1),
            ("MPI_Finalize", 1),
            ("MPI_Type_size", 0),
        ] {
            assert_eq!(count(function), [wanted; 2], "{way}: {function}");
        }
    }
}

/// The child leaves a datatype and frees one of its parent's, which frees it, too.
#[test]
fn nothing_is_found_in_a_child() {
    for way in ["exit", "_exit", "beside"] {
        let folder = tempfile::tempdir().unwrap();
        let outcome = run(&folder, "mpi_check", way);
        assert_eq!(outcome.status, Some(0), "{way}: {outcome:?}");
        assert!(outcome.lines().contains(&"the end"), "{way}: {outcome:?}");
        let said: Vec<_> =
            outcome.stderr.lines().filter(|line| line.contains("mpi-check")).collect();
        assert_eq!(said, ["mpi-check: nothing was found (2 ranks)"], "{way}: {outcome:?}");
    }
}

/// What is kept after a kill is where the ranks were, and not the child.
#[test]
fn a_killed_rank_is_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let outcome = run(&folder, "mpi_watch", "killed");
    assert_ne!(outcome.status, Some(0), "{outcome:?}");
    let told = mpi_tool(folder.path(), &["hang", "run"]);
    assert!(told.stdout.contains("after MPI_Type_commit at forks.c:"), "{told:?}");
    assert!(!told.stdout.contains("MPI_Type_size"), "{told:?}");
}
