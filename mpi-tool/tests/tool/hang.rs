//! `mpi-watch` and `mpi-tool hang`: programs that hang, of which rank and line must be named, and programs that are
//! right, which must not be accused. Nothing here depends on how long something takes: tests ask until the state is there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{Outcome, compile_with, launcher, limited, mpi_tool, setting, text, tool};

/// For how long a state may take to be reached.
pub(crate) const LIMIT: Duration = Duration::from_secs(100);

pub(crate) fn program() -> PathBuf {
    compile_with(setting("MPICC"), "hang", "hang", &["-g"])
}

/// A run of `hang.c`, ended when the value is dropped.
pub(crate) struct Job {
    command: Command,
    launcher: Child,
    folder: TempDir,
    is_named: bool,
}

impl Job {
    /// Starts it, with a run folder of its own.
    pub(crate) fn start(ranks: u32, arguments: &[&str]) -> Self {
        Self::start_in(ranks, arguments, true)
    }

    fn start_in(ranks: u32, arguments: &[&str], is_named: bool) -> Self {
        Self::of(&program(), ranks, arguments, is_named)
    }

    pub(crate) fn of(program: &Path, ranks: u32, arguments: &[&str], is_named: bool) -> Self {
        Self::with(program, ranks, arguments, is_named, &[])
    }

    /// The same, with settings.
    pub(crate) fn with(
        program: &Path,
        ranks: u32,
        arguments: &[&str],
        is_named: bool,
        settings: &[(&str, &str)],
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [mpiexec, option, ranks] = launcher(&ranks.to_string());
        let mut command = limited(mpiexec);
        command.args([option, ranks]).arg(program).args(arguments).current_dir(folder.path());
        command.env("LD_PRELOAD", tool("mpi_watch")).envs(settings.iter().copied());
        if is_named {
            command.env("MPI_TOOL_RUN", folder.path().join("run"));
        }
        let (input, _) = std::io::pipe().unwrap();
        command.stdin(input).stdout(Stdio::null());
        command.stderr(fs::File::create(folder.path().join("stderr")).unwrap());
        let launcher = command.spawn().expect("the launcher starts");
        Self { command, launcher, folder, is_named }
    }

    pub(crate) fn run_folder(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    /// What `mpi-tool hang` says, as soon as there is something.
    fn hang(&self) -> Option<Value> {
        let run = self.run_folder();
        let pid = self.launcher.id().to_string();
        hang(self.folder.path(), if self.is_named { text(&run) } else { &pid })
    }

    /// Asks until the answer is as it should be.
    pub(crate) fn until(&mut self, what: &str, is_right: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        let mut last = None;
        let mut may_start_again = true;
        while begin.elapsed() < LIMIT {
            if let Some(answer) = self.hang() {
                if is_right(&answer) {
                    return answer;
                }
                last = Some(answer);
            }
            if let Some(status) = self.launcher.try_wait().unwrap() {
                let said = fs::read_to_string(self.folder.path().join("stderr")).unwrap();
                if !may_start_again || !test_support::has_not_begun(said.as_bytes()) {
                    panic!("{what}: the program has ended ({status}): {said}");
                }
                may_start_again = false;
                self.launcher = self.command.spawn().expect("the launcher starts");
            }
            sleep(Duration::from_millis(100));
        }
        panic!("{what}: {:#}", last.unwrap_or_default());
    }

    /// The ranks' processes.
    fn processes(&self) -> Vec<u64> {
        let answer = self.hang().unwrap_or_default();
        let ranks = answer["ranks"].as_array().cloned().unwrap_or_default();
        ranks.iter().filter_map(|rank| rank["pid"].as_u64()).collect()
    }

    /// Ends all processes at once.
    pub(crate) fn kill(&mut self) {
        let mut all = self.processes();
        // `timeout` passes no SIGKILL on.
        let children =
            fs::read_to_string(format!("/proc/{0}/task/{0}/children", self.launcher.id()));
        let children = children.unwrap_or_default();
        all.extend(children.split_ascii_whitespace().map(|child| child.parse::<u64>().unwrap()));
        // By one command, as a rank in MPI_Finalize may end it when it sees the launcher go.
        let mut kill = Command::new("kill");
        kill.args(["-s", "KILL"]).args(all.iter().map(u64::to_string)).stderr(Stdio::null());
        let _ = kill.status();
        let _ = self.launcher.kill();
        let _ = self.launcher.wait();
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let processes = self.processes();
        end(&mut self.launcher, processes);
    }
}

/// Ends a launcher and its ranks, also those that a test has stopped.
pub(crate) fn end(launcher: &mut Child, processes: Vec<u64>) {
    processes.iter().for_each(|process| signal("CONT", *process));
    signal("TERM", launcher.id().into());
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(10) {
        if launcher.try_wait().is_ok_and(|status| status.is_some()) {
            break;
        }
        sleep(Duration::from_millis(20));
    }
    processes.into_iter().for_each(|process| signal("KILL", process));
    let _ = launcher.kill();
    let _ = launcher.wait();
}

/// Sends a signal to a process of a test's.
pub(crate) fn signal(name: &str, process: u64) {
    let mut kill = Command::new("kill");
    kill.args(["-s", name]).arg(process.to_string()).stderr(Stdio::null());
    let _ = kill.status();
}

/// `mpi-tool hang --json RUN`; `None` if there is no such run.
pub(crate) fn hang(folder: &Path, run: &str) -> Option<Value> {
    let outcome = mpi_tool(folder, &["hang", "--json", run]);
    match outcome.status {
        Some(0) => Some(
            serde_json::from_str(&outcome.stdout)
                .unwrap_or_else(|error| panic!("{error}: {outcome:?}")),
        ),
        Some(2) => None,
        _ => panic!("{outcome:?}"),
    }
}

/// The line of `hang.c` that has a comment.
pub(crate) fn line_of(comment: &str) -> u64 {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/hang.c");
    let source = fs::read_to_string(source).unwrap();
    let end = format!("/* {comment} */");
    let lines: Vec<_> = source.lines().zip(1..).filter(|(line, _)| line.ends_with(&end)).collect();
    assert_eq!(lines.len(), 1, "one line is {comment}");
    lines[0].1
}

/// The innermost line of a rank's or culprit's site, in `hang.c`.
pub(crate) fn line(of: &Value) -> Option<u64> {
    let frame = &of["site"][0];
    frame["file"].as_str()?.ends_with("hang.c").then(|| frame["line"].as_u64())?
}

/// The ranks that are named, with function, line, and why.
pub(crate) fn culprits(answer: &Value) -> BTreeSet<(u64, String, u64, String)> {
    let culprits = answer["culprits"].as_array().unwrap().iter();
    culprits
        .map(|culprit| {
            let word = |name: &str| culprit[name].as_str().unwrap_or("").to_owned();
            let line = line(culprit).unwrap_or(0);
            (culprit["rank"].as_u64().unwrap(), word("function"), line, word("why"))
        })
        .collect()
}

/// Those that should be named: rank, function, comment of the line, why.
pub(crate) fn expected(
    culprits: &[(u64, &str, &str, &str)],
) -> BTreeSet<(u64, String, u64, String)> {
    let expected = culprits.iter();
    expected
        .map(|(rank, function, comment, why)| {
            (*rank, (*function).to_owned(), line_of(comment), (*why).to_owned())
        })
        .collect()
}

pub(crate) fn verdict(answer: &Value) -> &str {
    answer["worlds"][0]["verdict"].as_str().unwrap()
}

/// Runs a fault until its verdict is there and certain, and the ranks that are named are those that should be.
pub(crate) fn named(
    ranks: u32,
    arguments: &[&str],
    kind: &str,
    culprits_are: &[(u64, &str, &str, &str)],
) -> (Job, Value) {
    let mut job = Job::start(ranks, arguments);
    let expected = expected(culprits_are);
    let answer = job.until(arguments[0], |answer| {
        verdict(answer) == kind
            && answer["worlds"][0]["certain"] == true
            && culprits(answer) == expected
            && answer["ranks"].as_array().unwrap().len() == ranks as usize
    });
    (job, answer)
}

/// The same answer once all processes are killed, from the folder and from a copy of it.
#[test]
fn a_cycle_of_receives_is_named_dead_or_alive() {
    let cycle: Vec<_> = (0..3).map(|rank| (rank, "MPI_Recv", "cycle", "cycle")).collect();
    let (mut job, alive) = named(3, &["receive cycle"], "deadlock", &cycle);
    assert_eq!(alive["schema"], "mpi-tool-hang/1");
    let peers: Vec<_> =
        alive["ranks"].as_array().unwrap().iter().map(|rank| &rank["peers"][0]).collect();
    assert_eq!(peers, [1, 2, 0]);
    for rank in alive["ranks"].as_array().unwrap() {
        assert_eq!(rank["tag"], 5);
        assert_eq!(rank["communicator"]["name"], "MPI_COMM_WORLD");
        assert_eq!((&rank["state"], &rank["moved"]), (&"in a call".into(), &0.into()));
        // MPI_Init, MPI_Comm_rank, MPI_Comm_size, and this one.
        assert_eq!(rank["calls"], 4);
    }
    let groups = alive["groups"].as_array().unwrap();
    assert_eq!((groups.len(), &groups[0]["ranks"]), (1, &serde_json::json!([0, 1, 2])));

    let text_alive = mpi_tool(job.folder.path(), &["hang", text(&job.run_folder())]);
    let place = format!("hang.c:{}", line_of("cycle"));
    let waits = format!(
        "rank 1, in MPI_Recv on MPI_COMM_WORLD at {place} receive_cycle, waits for rank 2 to send"
    );
    assert!(text_alive.stdout.contains(&waits), "{text_alive:?}");

    let picture = job.folder.path().join("waits.svg");
    mpi_tool(job.folder.path(), &["hang", "--svg", text(&picture), text(&job.run_folder())]);
    let picture = fs::read_to_string(picture).unwrap();
    assert!(picture.starts_with("<svg ") && picture.matches("<circle").count() == 3, "{picture}");
    assert_eq!(picture.matches("marker-end").count(), 3, "{picture}");

    job.kill();
    let copy = job.folder.path().join("copy");
    fs::create_dir(&copy).unwrap();
    for file in fs::read_dir(job.run_folder()).unwrap() {
        let file = file.unwrap().path();
        fs::copy(&file, copy.join(file.file_name().unwrap())).unwrap();
    }
    for folder in [&job.run_folder(), &copy] {
        let dead = hang(job.folder.path(), text(folder)).unwrap();
        assert_eq!(dead["worlds"][0]["alive"], false);
        assert_eq!(verdict(&dead), "deadlock");
        assert_eq!(culprits(&dead), culprits(&alive));
        assert_eq!(dead["worlds"][0]["path"], alive["worlds"][0]["path"]);
    }
}

/// Without call sites, the ranks, peers and tags are told all the same, but not since when a rank is in a message's call.
#[test]
fn without_call_sites_the_same_ranks_are_named() {
    let settings = [("MPI_TOOL_MPI_WATCH_DEPTH", "0")];
    let mut job = Job::with(&program(), 3, &["receive cycle"], true, &settings);
    let answer = job.until("without call sites", |answer| {
        verdict(answer) == "deadlock" && answer["worlds"][0]["certain"] == true
    });
    let ranks = answer["ranks"].as_array().unwrap();
    assert_eq!(ranks.len(), 3);
    for (rank, peer) in ranks.iter().zip([1, 2, 0]) {
        assert_eq!((&rank["function"], &rank["peers"][0]), (&"MPI_Recv".into(), &peer.into()));
        assert_eq!((&rank["tag"], &rank["calls"]), (&5.into(), &4.into()));
        assert_eq!(rank["communicator"]["name"], "MPI_COMM_WORLD");
        assert!(rank["since"].is_null(), "{rank:#}");
        assert!(rank["site"].as_array().is_none_or(Vec::is_empty), "{rank:#}");
    }
}

#[test]
fn a_rank_that_does_not_come_to_a_collective_is_named() {
    named(
        3,
        &["missing collective"],
        "deadlock",
        &[(1, "MPI_Finalize", "finalize", "finalizing"), (0, "MPI_Barrier", "barrier", "cycle")],
    );
}

#[test]
fn collectives_in_another_order_are_named() {
    named(
        3,
        &["other order"],
        "deadlock",
        &[(0, "MPI_Barrier", "one first", "cycle"), (1, "MPI_Barrier", "other first", "cycle")],
    );
    named(
        3,
        &["other function"],
        "deadlock",
        &[
            (0, "MPI_Wait", "waits for the barrier", "mismatch"),
            (1, "MPI_Barrier", "blocking", "mismatch"),
        ],
    );
}

#[test]
fn messages_that_do_not_match_are_named() {
    let (_job, answer) = named(
        2,
        &["wrong tag"],
        "deadlock",
        &[(0, "MPI_Recv", "tag 5", "cycle"), (1, "MPI_Ssend", "tag 6", "cycle")],
    );
    let said = answer["worlds"][0]["text"].to_string();
    assert!(said.contains("with tag 5") && said.contains("with tag 6"), "{said}");
    let (_job, answer) = named(
        2,
        &["wrong communicator"],
        "deadlock",
        &[(0, "MPI_Recv", "on other", "cycle"), (1, "MPI_Ssend", "on the world", "cycle")],
    );
    let names: Vec<_> = (0..2).map(|rank| &answer["ranks"][rank]["communicator"]["name"]).collect();
    assert_eq!(names, ["other", "MPI_COMM_WORLD"]);
}

#[test]
fn a_request_whose_partner_never_sends_is_named() {
    let (_job, answer) = named(
        2,
        &["request"],
        "deadlock",
        &[(0, "MPI_Wait", "waits", "cycle"), (1, "MPI_Barrier", "never comes", "cycle")],
    );
    let pending = &answer["ranks"][0]["pending"][0];
    assert_eq!((&pending["function"], &pending["tag"]), (&"MPI_Irecv".into(), &7.into()));
    assert_eq!(line(pending), Some(line_of("asks")));
    assert_eq!(answer["ranks"][0]["peers"], serde_json::json!([1]));
}

/// It computes, and nobody is stuck: by what can be seen, it may come.
#[test]
fn a_rank_in_a_loop_is_named_as_computing() {
    let culprit = [(1, "MPI_Barrier", "before the loop", "computing")];
    let (job, _) = named(3, &["endless loop"], "waiting", &culprit);
    for _ in 0..2 {
        assert_eq!(verdict(&job.hang().unwrap()), "waiting");
    }
    // It has one thread, and no other one works.
    let outcome = mpi_tool(job.folder.path(), &["hang", text(&job.run_folder())]);
    assert!(outcome.stdout.contains(": it is in its own code"), "{outcome:?}");
}

#[test]
fn a_rank_that_is_stopped_is_named() {
    named(3, &["stopped"], "waiting", &[(1, "MPI_Barrier", "before the stop", "stopped")]);
}

/// The launcher's own process is stopped first, so that it does not end the other ranks.
#[test]
fn a_rank_that_is_gone_is_named() {
    let (mut job, answer) = named(
        3,
        &["endless loop"],
        "waiting",
        &[(1, "MPI_Barrier", "before the loop", "computing")],
    );
    let process = answer["ranks"][1]["pid"].as_u64().unwrap();
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let parent = stat.rsplit_once(')').unwrap().1.split_ascii_whitespace().nth(1).unwrap();
    let parent: u64 = parent.parse().unwrap();
    signal("STOP", parent);
    signal("KILL", process);
    let gone = expected(&[
        (1, "MPI_Barrier", "before the loop", "dead"),
        (0, "MPI_Barrier", "after the loop", "waits in vain"),
    ]);
    let answer =
        job.until("dead", |answer| verdict(answer) == "deadlock" && culprits(answer) == gone);
    assert_eq!(answer["worlds"][0]["alive"], true);
    signal("CONT", parent);
}

/// The launcher ends the others then, or leaves them waiting.
#[test]
fn a_rank_that_exits_without_finalize_is_named() {
    let job = Job::start(3, &["exited"]);
    let exited = expected(&[(1, "MPI_Barrier", "before the end", "exited")]);
    let begin = Instant::now();
    let mut last = None;
    while begin.elapsed() < LIMIT {
        last = job.hang();
        if last.as_ref().is_some_and(|answer| culprits(answer).is_superset(&exited)) {
            return;
        }
        sleep(Duration::from_millis(100));
    }
    panic!("{:#}", last.unwrap_or_default());
}

#[test]
fn a_window_that_stays_locked_is_named() {
    // Where the lock is waited for is the MPI's choice.
    let mut job = Job::start(3, &["window lock"]);
    let answer = job.until("window lock", |answer| {
        let wants =
            |edge: &Value| edge["from"] == 0 && edge["to"] == 1 && edge["reason"] == "unlock";
        let waits = answer["worlds"][0]["waits"].as_array().unwrap();
        waits.iter().any(wants)
            && verdict(answer) == "deadlock"
            && answer["worlds"][0]["certain"] == true
    });
    let named = culprits(&answer);
    let keeps = (1, "MPI_Recv".to_owned(), line_of("keeps the lock"), "cycle".to_owned());
    assert!(named.contains(&keeps), "{named:?}");
    let lines = ["wants the lock", "puts", "unlocks"].map(line_of);
    assert!(named.iter().any(|(rank, _, line, _)| *rank == 0 && lines.contains(line)), "{named:?}");
}

#[test]
fn a_rank_that_waits_for_a_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let mut job = Job::start(2, &["file lock", text(&file)]);
    job.until("file lock", |answer| {
        let named = culprits(answer);
        let writes = (0, "MPI_File_write_at".to_owned(), line_of("writes"), "outside".to_owned());
        verdict(answer) == "waiting" && named == BTreeSet::from([writes])
    });
}

#[test]
fn a_spawn_that_waits_is_named() {
    // What it starts never calls MPI_Init.
    let folder = tempfile::tempdir().unwrap();
    let sleeper = folder.path().join("sleeper");
    crate::common::write_program(&sleeper, "#!/bin/sh\nexec sleep 100\n");
    let mut job = Job::start(1, &["spawn", text(&sleeper)]);
    job.until("spawn", |answer| {
        let spawns = (0, "MPI_Comm_spawn".to_owned(), line_of("spawns"), "outside".to_owned());
        culprits(answer) == BTreeSet::from([spawns])
    });
}

/// All threads that are in MPI are known, and those that wait for them outside of it do not matter.
#[test]
fn threads_are_told_apart() {
    let program =
        compile_with(setting("MPICC"), "hang_threads", "hang_threads", &["-g", "-pthread"]);
    let mut job = Job::of(&program, 2, &[], true);
    let answer = job.until("threads", |answer| {
        let ranks = answer["ranks"].as_array().unwrap();
        verdict(answer) == "deadlock"
            && answer["worlds"][0]["certain"] == true
            && ranks.len() == 2
            && ranks.iter().all(|rank| rank["threads"] == 3)
    });
    for (rank, other) in [(0, 1), (1, 0)] {
        let rank = &answer["ranks"][rank];
        assert_eq!((&rank["function"], &rank["peers"][0]), (&"MPI_Recv".into(), &other.into()));
        // MPI_Init_thread, MPI_Comm_rank, and three receives.
        assert_eq!(rank["calls"], 5);
    }
}

/// Who asks MPI again and again whether something has come is alive, and is not named.
#[test]
fn ranks_that_poll_are_not_accused() {
    for how in ["test loop", "probe loop"] {
        let mut job = Job::start(3, &[how]);
        let waits = |answer: &Value| {
            let edges = answer["worlds"][0]["waits"].as_array().unwrap();
            edges.iter().any(|edge| edge["from"] == 0 && edge["to"] == 1)
        };
        let answer = job
            .until(how, |answer| waits(answer) && answer["ranks"][1]["moved"].as_u64() > Some(0));
        assert_eq!(
            (verdict(&answer), culprits(&answer)),
            ("waiting", BTreeSet::new()),
            "{answer:#}"
        );
    }
}

/// A program without a fault is never said to be stuck, and leaves nothing behind.
#[test]
fn a_program_that_is_right_is_not_accused() {
    let mut job = Job::start(3, &["right", "file"]);
    let mut readings = 0;
    let status = loop {
        if let Some(answer) = job.hang() {
            assert_ne!(verdict(&answer), "deadlock", "{answer:#}");
            readings += 1;
        }
        if let Some(status) = job.launcher.try_wait().unwrap() {
            break status;
        }
    };
    let said = fs::read_to_string(job.folder.path().join("stderr")).unwrap();
    assert!(status.success(), "{said}");
    // Open MPI may have lines of its own.
    assert!(!said.contains("mpi-watch"), "{said}");
    assert!(readings > 0, "the program was too short to be looked at");
    assert_eq!(fs::read_dir(job.run_folder()).unwrap().count(), 0);
}

/// Without `MPI_TOOL_RUN`: the run is found by the launcher's process and a rank's, stays when all are killed, and
/// `mpi-tool clean` removes it.
#[test]
fn a_run_is_found_and_cleaned() {
    let mut job = Job::start_in(2, &["receive cycle"], false);
    let answer = job.until("receive cycle", |answer| verdict(answer) == "deadlock");
    let folder = PathBuf::from(answer["run"].as_str().unwrap());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 2, "{}", folder.display());
    let process = answer["ranks"][0]["pid"].to_string();
    assert_eq!(hang(job.folder.path(), &process).unwrap()["run"], answer["run"]);
    let clean = || mpi_tool(job.folder.path(), &["clean", "--dry-run"]).stdout;
    assert!(!clean().contains(text(&folder)), "a run that goes on is not stale");
    job.kill();
    let begin = Instant::now();
    let clean = |options: &[&str]| {
        let arguments: Vec<_> = ["clean", text(&folder)].iter().chain(options).copied().collect();
        mpi_tool(job.folder.path(), &arguments).stdout
    };
    while !clean(&["--dry-run"]).contains(text(&folder)) && begin.elapsed() < LIMIT {
        sleep(Duration::from_millis(50));
    }
    assert!(hang(job.folder.path(), &process).is_some());
    assert_eq!(clean(&[]), format!("removed {}\n", folder.display()));
    assert!(!folder.exists());
    assert!(hang(job.folder.path(), &process).is_none());
}

/// A process that never starts MPI leaves nothing, and neither does one that finalizes; and neither says anything.
/// (Of a program with MPI that does not start it, every tool says so.)
#[test]
fn nothing_is_left_and_nothing_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let program = program();
    for (arguments, is_silent) in
        [(&["true"][..], true), (&[text(&program), "nothing"], false), (&[text(&program)], true)]
    {
        let [mpiexec, option, ranks] = launcher("2");
        let mut command = limited(mpiexec);
        command.args([option, ranks]).args(arguments);
        command.env("LD_PRELOAD", tool("mpi_watch")).env("MPI_TOOL_RUN", &run);
        let outcome = Outcome::of(&mut command);
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), ""), "{outcome:?}");
        assert!(outcome.stderr.is_empty() || !is_silent, "{outcome:?}");
        if arguments == [text(&program)] {
            assert_eq!(fs::read_dir(&run).unwrap().count(), 0);
        } else {
            assert!(!run.exists(), "{arguments:?}");
        }
    }
}
