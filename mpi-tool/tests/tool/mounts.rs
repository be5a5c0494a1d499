//! `mpi-watch` where its folder is full, or cannot be written to: one process says so in one line, and the application runs.
//! In mount namespaces, as of containers. And ranks that are in a container each, with process numbers or a `/dev/shm` of its own.

use std::path::Path;

use std::fs;

use crate::common::{
    FINE, Outcome, abi, compile, launcher, limited, mpi_tool, mpi_tool_command, text, tool,
};
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

/// Runs that are killed, aborted and run out of time leave of their tools, all together, what a few runs take.
#[test]
fn many_aborted_runs_leave_no_more_than_a_few() {
    let [mpiexec, option, ranks] = launcher("2");
    let preload = ["mpi_check", "mpi_watch", "mpi_trace"].map(|name| text(&tool(name)).to_owned());
    let start = format!("{mpiexec} {option} {ranks} env LD_PRELOAD={}", preload.join(":"));
    // Every fourth run is killed while its ranks stand, the others abort. What MPI itself leaves is removed and not counted.
    let script = format!(
        "mount -t tmpfs tmpfs /dev/shm; cd /dev/shm
         for run in $(seq 1 25); do
             for again in 1 2 3; do {start} {aborts} > /dev/null 2>&1; rm -rf mpi-trace-*; done
             timeout -s KILL 0.5 {start} {stands} 60 > /dev/null 2>&1; pkill -KILL -P 1; rm -rf mpi-trace-*
             find . -maxdepth 1 -type f -delete
         done
         du -sk --apparent-size . | cut -f 1; ls mpi-tool-* | wc -l",
        aborts = text(&compile("aborts")),
        stands = text(&compile("busy")),
    );
    let mut command = limited("unshare");
    command.args(
        "--user --map-root-user --mount --pid --fork --kill-child --mount-proc sh -c".split(' '),
    );
    let outcome = Outcome::of(command.arg(script).env("TMPDIR", "/dev/shm"));
    let numbers: Vec<u64> = outcome.stdout.lines().map(|line| line.parse().unwrap()).collect();
    let &[kilobytes, folders] = &*numbers else { panic!("{outcome:?}") };
    assert!(kilobytes < 8 << 10 && folders <= 8, "{outcome:?}");
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

/// Runs a program by `mpi-tool run` on ranks of which each is in namespaces of its own, in which a shell has done something
/// first.
fn in_containers(
    folder: &Path,
    options: &str,
    spaces: &str,
    before: &str,
    program: &str,
) -> Outcome {
    let [mpiexec, option, ranks] = launcher("2");
    let script = format!("set -e; {before}; exec {program}");
    let mut words = vec!["run", "--abi", abi()];
    words.extend(options.split(' '));
    words.extend(["--", mpiexec.as_str(), option.as_str(), ranks.as_str(), "unshare"]);
    words.extend("--user --map-root-user --mount --fork".split(' ').chain(spaces.split(' ')));
    words.extend(["sh", "-c", script.as_str()]);
    let mut command = mpi_tool_command(folder, &words);
    Outcome::of(command.env(OVER_LOOPBACK.0, OVER_LOOPBACK.1))
}

/// Open MPI's shared memory takes two processes with one number for one, and ends by a signal, without any tool.
const OVER_LOOPBACK: (&str, &str) = ("OMPI_MCA_btl", "self,tcp");

/// Each rank is process 1 of its container: nobody's file is another one's, and all are one world.
#[test]
fn ranks_in_a_container_each_are_one_world_of_a_trace() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("hosts");
    let outcome =
        in_containers(folder.path(), "--tool mpi-trace", "--pid --mount-proc", ":", text(&program));
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let runs = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let runs: Vec<_> = runs.collect();
    assert_eq!(runs.len(), 1, "{runs:?}");
    let trace = mpi_tool(folder.path(), &["trace", text(&runs[0]), "--to", "json"]);
    fs::write(folder.path().join("trace.json"), &trace.stdout).unwrap();
    crate::common::expect_one_world(folder.path(), 2, 1);
}

/// By hand, nothing tells ranks of MPICH in containers that they belong together: rank 0 says so, and nothing is overwritten.
#[test]
fn ranks_that_cannot_see_their_neighbours_say_so_once() {
    let folder = tempfile::tempdir().unwrap();
    let [mpiexec, option, ranks] = launcher("2");
    let run = |named: bool| {
        let mut command = limited(&mpiexec);
        command.args([&option, &ranks]).current_dir(folder.path());
        command.args(
            "unshare --user --map-root-user --mount --fork --pid --mount-proc env".split(' '),
        );
        command.arg(format!("LD_PRELOAD={}", text(&tool("mpi_trace"))));
        command.env(OVER_LOOPBACK.0, OVER_LOOPBACK.1);
        if named {
            command.env("MPI_TOOL_RUN", folder.path().join("run"));
        }
        Outcome::of(command.arg(compile("hosts")))
    };
    let outcome = run(false);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let said = "mpi-trace: the launcher's processes cannot be seen from here";
    let times = usize::from(abi() != "openmpi");
    assert_eq!(outcome.stderr.matches(said).count(), times, "{outcome:?}");
    let outcome = run(true);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert!(!outcome.stderr.contains(said), "{outcome:?}");
    let trace = mpi_tool(folder.path(), &["trace", "run", "--to", "json"]);
    fs::write(folder.path().join("trace.json"), &trace.stdout).unwrap();
    crate::common::expect_one_world(folder.path(), 2, 1);
}

/// All ranks hang in containers with process numbers of their own: who waits for whom is told apart, and the job is ended.
#[test]
fn ranks_in_a_container_each_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let program = format!("{} 'receive cycle'", text(&crate::hang::program()));
    let options = "--hang-after 2s --kill";
    let outcome = in_containers(folder.path(), options, "--pid --mount-proc", ":", &program);
    assert_eq!(outcome.status, Some(124), "{outcome:?}");
    for said in [
        "a deadlock of 2 ranks",
        "  rank 0, in MPI_Recv",
        "waits for rank 1 to send it",
        "  rank 1, in MPI_Recv",
    ] {
        assert!(outcome.stderr.contains(said), "{said}: {outcome:?}");
    }
}

/// The job is in a container with a `/dev/shm` of its own, so that nobody is seen. The program is right: it is not ended.
#[test]
fn a_job_in_a_container_with_memory_of_its_own_is_not_ended() {
    let folder = tempfile::tempdir().unwrap();
    let [mpiexec, option, ranks] = launcher("2");
    let busy = compile("busy");
    let script = format!(
        "set -e; mount -t tmpfs tmpfs /dev/shm; exec {mpiexec} {option} {ranks} {} 6",
        text(&busy)
    );
    let mut words = vec!["run", "--abi", abi(), "--hang-after", "2s", "--kill", "--"];
    words.extend(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script.as_str()]);
    let outcome = mpi_tool(folder.path(), &words);
    assert_eq!((outcome.status, &*outcome.stdout), (Some(0), "busy: right\n"), "{outcome:?}");
    let said = "mpi-watch: rank 0, on ";
    assert_eq!(outcome.stderr.matches(said).count(), 1, "{outcome:?}");
    assert!(outcome.stderr.contains("is not seen by mpi-tool run"), "{outcome:?}");
    assert!(!outcome.stderr.contains("no rank has made"), "{outcome:?}");
}

/// Aborts a program with a tool again and again, in a `/dev/shm` of its own: how many runs are left, and how many kilobytes.
fn left_of_aborted(name: &str) -> (u64, u64) {
    let [mpiexec, option, ranks] = launcher("2");
    let mut command = limited("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c"]);
    command.arg(
        "set -e; mount -t tmpfs tmpfs /dev/shm; for i in 1 2 3 4 5 6 7 8; do \"$@\" >/dev/null 2>&1 || :; done; \
         cd /dev/shm; ls -d mpi-tool-*/* 2>/dev/null | wc -l; cat mpi-tool-*/*/* 2>/dev/null | wc -c",
    );
    command.arg("sh").args([&mpiexec, &option, &ranks]).arg("env");
    command.arg(format!("LD_PRELOAD={}", text(&tool(name)))).arg(compile("aborts"));
    let outcome = Outcome::of(&mut command);
    let numbers = outcome.stdout.split_ascii_whitespace().map(|word| word.parse::<u64>().unwrap());
    let numbers: Vec<u64> = numbers.collect();
    assert_eq!(numbers.len(), 2, "{outcome:?}");
    (numbers[0], numbers[1] / 1024)
}

/// The memory of mpi-check goes with the last process. Of what mpi-watch has left, the newest few runs stay.
#[test]
fn little_is_left_of_runs_that_are_aborted() {
    assert_eq!(left_of_aborted("mpi_check"), (0, 0));
    let (runs, size) = left_of_aborted("mpi_watch");
    assert!((1..=5).contains(&runs) && size <= 5 * 2 * 72, "{runs} runs, {size} kB");
}
