//! Folders in which `mpi-watch` cannot record, and folders in which it has not.

use std::fs;

use crate::common::{Outcome, launcher, limited, mpi_tool, tool};
use crate::hang::program;

/// Where there can be no file, one process says so, and the application runs.
#[test]
fn a_folder_that_cannot_be_had_is_told_once() {
    let [mpiexec, option, ranks] = launcher("3");
    let mut command = limited(mpiexec);
    command.args([option, ranks]).arg(program());
    command.env("LD_PRELOAD", tool("mpi_watch")).env("MPI_TOOL_RUN", "/proc/no such folder");
    let outcome = Outcome::of(&mut command);
    assert_eq!(outcome.status, Some(0));
    let lines: Vec<_> = outcome.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{outcome:?}");
    assert!(lines[0].starts_with("mpi-watch: /proc/no such folder: "), "{outcome:?}");
    assert!(lines[0].ends_with("nothing is recorded of this run"), "{outcome:?}");
}

#[test]
fn what_is_no_run_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for (run, said) in [
        ("nowhere", "nowhere: cannot be read: "),
        (
            ".",
            ".: there are no state files (*.watch) in this folder; start the program with mpi-watch: ",
        ),
    ] {
        let outcome = mpi_tool(folder.path(), &["hang", run]);
        assert_eq!(outcome.status, Some(2), "{outcome:?}");
        assert!(outcome.said()[0].starts_with(said), "{outcome:?}");
    }
    fs::write(folder.path().join("x.watch"), "no state").unwrap();
    let outcome = mpi_tool(folder.path(), &["hang", "."]);
    assert!(outcome.said()[0].contains("x.watch: not a state file of mpi-watch"), "{outcome:?}");
}
