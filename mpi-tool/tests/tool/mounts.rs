//! `mpi-watch` where its folder is full, or cannot be written to: one process says so in one line, and the application runs.
//! In mount namespaces, as of containers.

use std::path::Path;

use crate::common::{FINE, Outcome, compile, launcher, limited, text, tool};
use crate::hang::{Job, verdict};

/// Runs `calls.c` on two ranks in a mount namespace of its own, in which a shell has done something first.
fn run(before: &str, folder: Option<&Path>) -> Outcome {
    let [mpiexec, option, ranks] = launcher("2");
    let mut command = limited("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
    command.arg(format!("set -e; {before}; exec \"$@\"")).arg("sh");
    command.args([&mpiexec, &option, &ranks]).arg("env");
    command.arg(format!("LD_PRELOAD={}", text(&tool("mpi_watch"))));
    command.arg(compile("calls"));
    if let Some(folder) = folder {
        command.env("MPI_TOOL_RUN", folder);
    }
    Outcome::of(&mut command)
}

/// The application has run as ever, and there is one line, about this folder.
fn expect_line(outcome: &Outcome, folder: &Path, end: &str) {
    assert_eq!((outcome.status, outcome.lines()), (Some(0), FINE.to_vec()), "{outcome:?}");
    let lines: Vec<_> = outcome.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{outcome:?}");
    let begin = format!("mpi-watch: {}: ", folder.display());
    assert!(lines[0].starts_with(&begin) && lines[0].ends_with(end), "{outcome:?}");
}

#[test]
fn a_full_folder_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let run_of = |size: &str| {
        let mount = format!("mount -t tmpfs -o size={size} tmpfs {}", text(folder.path()));
        run(&mount, Some(folder.path()))
    };
    expect_line(&run_of("16k"), folder.path(), "not all ranks of this run are recorded");
    // There is room for one rank of two.
    expect_line(&run_of("100k"), folder.path(), "not all ranks of this run are recorded");
    // And for both.
    let outcome = run_of("200k");
    assert_eq!((outcome.status, outcome.lines(), &*outcome.stderr), (Some(0), FINE.to_vec(), ""));
}

#[test]
fn a_folder_that_cannot_be_written_to_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let mount = format!("mount -t tmpfs -o ro tmpfs {}", text(folder.path()));
    let outcome = run(&mount, Some(folder.path()));
    expect_line(&outcome, folder.path(), "nothing is recorded of this run");
}

/// The default folders: the first one is somebody else's, and the second one full.
#[test]
fn default_folders_that_cannot_be_had_are_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let here = text(folder.path());
    let before = format!(
        "mount -t tmpfs tmpfs /dev/shm; touch /dev/shm/mpi-tool-0; export TMPDIR={here}/t; mkdir -p {here}/t/mpi-tool-0; \
         mount -t tmpfs -o size=16k,mode=700 tmpfs {here}/t/mpi-tool-0"
    );
    let outcome = run(&before, None);
    assert_eq!((outcome.status, outcome.lines()), (Some(0), FINE.to_vec()), "{outcome:?}");
    let lines: Vec<_> = outcome.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{outcome:?}");
    assert!(lines[0].starts_with("mpi-watch: /dev/shm/mpi-tool-0/"), "{outcome:?}");
    assert!(lines[0].contains(&format!(", {here}/t/mpi-tool-0/")), "{outcome:?}");
}

/// In another namespace, numbers of processes are those of others: nobody is said to be dead, and nothing is removed.
#[test]
fn processes_of_another_container_are_not_taken_for_dead() {
    let mut job = Job::start(2, &["receive cycle"]);
    job.until("receive cycle", |answer| verdict(answer) == "deadlock");
    let run = job.run_folder();
    let ask = |arguments: &[&str]| {
        let mut command = limited("unshare");
        command.args(["--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]);
        Outcome::of(command.arg(env!("CARGO_BIN_EXE_mpi-tool")).args(arguments))
    };
    let told = ask(&["hang", text(&run)]);
    assert!(told.stdout.contains("their processes cannot be seen from here"), "{told:?}");
    let told = ask(&["clean", "--dry-run", text(&run)]);
    assert_eq!(told.stdout, "there are no folders of runs that are over\n", "{told:?}");
    assert_eq!(verdict(&job.until("still there", |_| true)), "deadlock");
}
