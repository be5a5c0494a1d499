//! `mpi-tool hang --attach`: jobs that were started without any tool. The report on each rank is compared with the program's
//! own lines and with gdb's backtrace, and programs that are looked at again and again must not notice it. All tests name
//! the launcher: others' jobs on this machine are left alone.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{
    Outcome, compile_with, launcher, limited, mpi_tool, mpi_tool_command, setting, text, tool,
};
use crate::faults::{Fault, frames, frames_of_site};
use crate::hang::{LIMIT, end, line_of, program, signal};

/// A job without a tool, ended when the value is dropped.
pub(crate) struct Job {
    launcher: Child,
    folder: TempDir,
}

impl Job {
    pub(crate) fn start(program: &Path, ranks: u32, arguments: &[&str]) -> Self {
        Self::with(program, ranks, arguments, None)
    }

    fn with(program: &Path, ranks: u32, arguments: &[&str], preload: Option<&Path>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let [mpiexec, option, ranks] = launcher(&ranks.to_string());
        let mut command = limited(mpiexec);
        command.args([option, ranks]);
        if let Some(preload) = preload {
            command.arg("env").arg(format!("LD_PRELOAD={}", text(preload)));
        }
        command.arg(program).args(arguments).current_dir(folder.path());
        let (input, _) = std::io::pipe().unwrap();
        let output = |name| File::create(folder.path().join(name)).unwrap();
        command.stdin(input).stdout(output("stdout")).stderr(output("stderr"));
        let launcher = command.spawn().expect("the launcher starts");
        Self { launcher, folder }
    }

    fn pid(&self) -> String {
        self.launcher.id().to_string()
    }

    fn look(&self, more: &[&str]) -> Outcome {
        let pid = self.pid();
        let mut arguments = vec!["hang", "--attach", &pid];
        arguments.extend(more);
        mpi_tool(self.folder.path(), &arguments)
    }

    /// What is seen, as soon as there is something.
    fn seen(&self, between: &str) -> Option<Value> {
        let outcome = self.look(&["--json", "--between", between]);
        match outcome.status {
            Some(0) => Some(serde_json::from_str(&outcome.stdout).unwrap()),
            Some(2) => None,
            _ => panic!("{outcome:?}"),
        }
    }

    /// Looks until what is seen is as it should be. Nothing depends on how long that takes.
    pub(crate) fn until(&mut self, what: &str, is_right: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        let mut last = None;
        while begin.elapsed() < LIMIT {
            if let Some(seen) = self.seen("200ms") {
                let job = seen["jobs"][0].clone();
                assert_eq!(seen["jobs"].as_array().unwrap().len(), 1, "{seen:#}");
                if is_right(&job) {
                    return job;
                }
                last = Some(job);
            }
            if let Some(status) = self.launcher.try_wait().unwrap() {
                let said = fs::read_to_string(self.folder.path().join("stderr")).unwrap();
                panic!("{what}: the program has ended ({status}): {said}");
            }
            sleep(Duration::from_millis(100));
        }
        panic!("{what}: {:#}", last.unwrap_or_default());
    }

    /// The processes of the ranks.
    fn processes(&self) -> Vec<u64> {
        let seen = self.seen("1ms").unwrap_or_default();
        let ranks = seen["jobs"][0]["ranks"].as_array().cloned().unwrap_or_default();
        ranks.iter().filter_map(|rank| rank["pid"].as_u64()).collect()
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let processes = self.processes();
        end(&mut self.launcher, processes);
    }
}

/// With frame pointers and without optimization: a thread's registers are needed to follow its stack.
fn own_program() -> PathBuf {
    let flags = ["-g", "-O0", "-fno-omit-frame-pointer", "-pthread"];
    compile_with(setting("MPICC"), "attach", "attach", &flags)
}

/// The line of `attach.c` that has a comment.
fn own_line(comment: &str) -> u64 {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/attach.c");
    let source = fs::read_to_string(source).unwrap();
    let end = format!("/* {comment} */");
    let lines: Vec<_> = source.lines().zip(1..).filter(|(line, _)| line.ends_with(&end)).collect();
    assert_eq!(lines.len(), 1, "one line is {comment}");
    lines[0].1
}

/// What the first thread of a rank does: word, function, and line.
fn does(job: &Value, rank: u64) -> (String, String, u64) {
    let ranks = job["ranks"].as_array().unwrap();
    let Some(rank) = ranks.iter().find(|one| one["rank"] == rank) else {
        return Default::default();
    };
    let thread = &rank["threads"][0];
    let word = |name: &str| thread[name].as_str().unwrap_or("").to_owned();
    (word("what"), word("function"), thread["site"][0]["line"].as_u64().unwrap_or(0))
}

/// Is a rank in a call of MPI at both looks?
fn is_in(job: &Value, rank: u64, function: &str, line: u64) -> bool {
    let (what, own, at) = does(job, rank);
    ["stands", "stays"].contains(&&*what) && (&*own, at) == (function, line)
}

fn sentences(job: &Value) -> Vec<&str> {
    let groups = job["groups"].as_array().unwrap().iter();
    groups.map(|group| group["sentence"].as_str().unwrap()).collect()
}

fn said(job: &Value) -> String {
    job["text"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| format!("{}\n", line.as_str().unwrap()))
        .collect()
}

#[test]
fn a_deadlock_is_one_line() {
    let mut job = Job::start(&program(), 3, &["receive cycle"]);
    let line = line_of("cycle");
    let seen = job.until("cycle", |seen| (0..3).all(|rank| is_in(seen, rank, "MPI_Recv", line)));
    assert_eq!(seen["size"], 3);
    let [sentence] = sentences(&seen)[..] else { panic!("{seen:#}") };
    assert!(sentence.starts_with("3 ranks (0-2) "), "{sentence}");
    let place = format!("called at hang.c:{line} receive_cycle < hang.c:");
    assert!(sentence.contains(&place), "{sentence}");
    assert!(said(&seen).contains("whom the ranks wait for is not known"), "{seen:#}");
    let text = job.look(&[]);
    assert_eq!(text.status, Some(0), "{text:?}");
    assert!(text.stdout.starts_with("# 3 ranks of hang ("), "{text:?}");
    assert!(text.stdout.contains(&place), "{text:?}");
    assert!(text.said().is_empty(), "{text:?}");
}

/// Most ranks are in one collective operation, and one is elsewhere in MPI: nothing is called proven.
#[test]
fn who_is_elsewhere_in_mpi_is_likely() {
    let mut job = Job::start(&program(), 3, &["other function"]);
    let (waits, barrier) = (line_of("waits for the barrier"), line_of("blocking"));
    let seen = job.until("other function", |seen| {
        is_in(seen, 0, "MPI_Wait", waits)
            && is_in(seen, 1, "MPI_Barrier", barrier)
            && is_in(seen, 2, "MPI_Barrier", barrier)
    });
    let [most, rest] = sentences(&seen)[..] else { panic!("{seen:#}") };
    assert!(most.starts_with("2 ranks (1-2) ") && rest.starts_with("1 rank (0) "), "{seen:#}");
    let likely = "that ranks 1-2 wait for rank 0, elsewhere in MPI, is likely, not proven";
    assert!(said(&seen).contains(likely), "{seen:#}");
}

/// Those who have come to a collective operation are told from the one who has not. In `MPI_Finalize`, that one may sleep in a call
/// in which it is left alone: if its callers are not known then, nothing is called likely.
#[test]
fn who_has_not_come_to_a_collective_is_told() {
    let mut job = Job::start(&program(), 3, &["missing collective"]);
    let (barrier, finalize) = (line_of("barrier"), line_of("finalize"));
    let is_cut = |seen: &Value| seen["ranks"][1]["threads"][0]["whole"] == false;
    let seen = job.until("missing collective", |seen| {
        is_in(seen, 0, "MPI_Barrier", barrier)
            && is_in(seen, 2, "MPI_Barrier", barrier)
            && (does(seen, 1).2 == finalize || is_cut(seen))
    });
    let [most, rest] = sentences(&seen)[..] else { panic!("{seen:#}") };
    assert!(most.starts_with("2 ranks (0, 2) ") && rest.starts_with("1 rank (1) "), "{seen:#}");
    let expected = if is_cut(&seen) {
        "whether ranks 0, 2 wait for rank 1 is not known"
    } else {
        "that ranks 0, 2 wait for rank 1, elsewhere in MPI, is likely, not proven"
    };
    assert!(said(&seen).contains(expected), "{seen:#}");
}

#[test]
fn who_computes_is_told_from_who_waits() {
    let mut job = Job::start(&program(), 3, &["endless loop"]);
    let line = line_of("after the loop");
    let seen = job.until("endless loop", |seen| {
        is_in(seen, 0, "MPI_Barrier", line)
            && is_in(seen, 2, "MPI_Barrier", line)
            && does(seen, 1).0 == "computes"
    });
    let site = seen["ranks"][1]["threads"][0]["site"].as_array().unwrap();
    let functions: Vec<_> = site.iter().map(|frame| frame["function"].as_str().unwrap()).collect();
    assert_eq!(functions, ["compute", "endless_loop", "main"], "{seen:#}");
    assert!(
        said(&seen).contains("that ranks 0, 2 wait for rank 1 is likely, not proven"),
        "{seen:#}"
    );
}

#[test]
fn who_polls_does_not_wait() {
    let mut job = Job::start(&program(), 3, &["test loop"]);
    let line = line_of("waits for who polls");
    let seen = job.until("test loop", |seen| {
        is_in(seen, 0, "MPI_Barrier", line)
            && is_in(seen, 2, "MPI_Barrier", line)
            && does(seen, 1).1 == "MPI_Test"
    });
    let waiting = seen["ranks"][1]["threads"][0]["may_last"].as_bool();
    assert_eq!(waiting, Some(false), "{seen:#}");
}

#[test]
fn who_reads_sleeps() {
    // With it, a stack can be followed without all registers.
    let flags = ["-g", "-Og", "-fomit-frame-pointer", "-pthread"];
    let program = compile_with(setting("MPICC"), "attach", "attach-omit", &flags);
    let mut job = Job::start(&program, 3, &["reads"]);
    let (reads, waits) = (own_line("reads"), own_line("waits for the reader"));
    let seen = job.until("reads", |seen| {
        is_in(seen, 0, "MPI_Barrier", waits)
            && is_in(seen, 2, "MPI_Barrier", waits)
            && does(seen, 1) == ("sleeps".to_owned(), "read".to_owned(), reads)
    });
    assert!(
        said(&seen).contains("that ranks 0, 2 wait for rank 1 is likely, not proven"),
        "{seen:#}"
    );
}

/// Who reads is not stopped, and so the callers of a function that keeps a frame pointer are not known: it may have been called by MPI.
#[test]
fn who_reads_is_left_alone_where_its_callers_are_not_known() {
    let mut job = Job::start(&own_program(), 3, &["reads"]);
    let (reads, waits) = (own_line("reads"), own_line("waits for the reader"));
    let seen = job.until("reads", |seen| {
        is_in(seen, 0, "MPI_Barrier", waits)
            && is_in(seen, 2, "MPI_Barrier", waits)
            && does(seen, 1) == ("unknown".to_owned(), "read".to_owned(), reads)
    });
    let thread = &seen["ranks"][1]["threads"][0];
    assert_eq!((&thread["whole"], &thread["in_mpi"]), (&false.into(), &false.into()), "{seen:#}");
    assert!(said(&seen).contains("whether ranks 0, 2 wait for rank 1 is not known"), "{seen:#}");
}

/// The state of a process, by the kernel, and who traces it.
fn state(process: u64) -> (String, String) {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let of = |name: &str| {
        let value = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        value.trim().to_owned()
    };
    (of("State:"), of("TracerPid:"))
}

/// A rank that a signal has stopped is seen, and stays stopped.
#[test]
fn a_stopped_rank_stays_stopped() {
    let mut job = Job::start(&program(), 3, &["stopped"]);
    let line = line_of("after the stop");
    let seen = job.until("stopped", |seen| {
        is_in(seen, 0, "MPI_Barrier", line) && seen["ranks"][1]["threads"][0]["held"] == "signal"
    });
    let site = &seen["ranks"][1]["threads"][0]["site"][0];
    assert_eq!(site["function"], "stopped", "{seen:#}");
    let process = seen["ranks"][1]["pid"].as_u64().unwrap();
    for _ in 0..10 {
        job.seen("1ms").unwrap();
        assert_eq!(state(process), ("T (stopped)".to_owned(), "0".to_owned()));
    }
    // And goes on when it is told to.
    signal("CONT", process);
    let begin = Instant::now();
    while state(process).0.starts_with('T') {
        assert!(begin.elapsed() < LIMIT);
        sleep(Duration::from_millis(10));
    }
}

/// What another debugger holds is seen as well, as that has stopped it.
#[test]
fn gdb_holds_a_rank_and_it_is_seen() {
    let mut job = Job::start(&program(), 3, &["traced"]);
    let line = line_of("after the debugger");
    job.until("traced", |seen| {
        is_in(seen, 0, "MPI_Barrier", line)
            && seen["ranks"][1]["threads"][0]["held"] == "debugger"
            && seen["ranks"][1]["threads"][0]["site"][0]["function"] == "traced"
    });
}

#[test]
fn threads_in_mpi_are_seen() {
    let program = compile_with(setting("MPICC"), "stuck", "stuck-attach", &["-g", "-pthread"]);
    let mut job = Job::start(&program, 4, &["threads"]);
    let callers = |thread: &Value| -> Vec<String> {
        let site = thread["site"].as_array().unwrap().iter();
        site.map(|frame| frame["function"].as_str().unwrap_or("").to_owned()).collect()
    };
    job.until("threads", |seen| {
        let Some(threads) = seen["ranks"][0]["threads"].as_array() else { return false };
        threads.len() == 2
            && threads.iter().all(|thread| thread["function"] == "MPI_Recv")
            && callers(&threads[0]) == ["receive", "waits_for", "threads", "main"]
            && callers(&threads[1]) == ["receive"]
            && does(seen, 3).1 == "MPI_Barrier"
    });
}

/// A tool that was preloaded by hand is not taken for the program.
#[test]
fn tools_between_the_program_and_mpi_are_left_out() {
    for name in ["mpi_check", "call_counter"] {
        let mut job = Job::with(&program(), 2, &["receive cycle"], Some(&tool(name)));
        let line = line_of("cycle");
        job.until(name, |seen| (0..2).all(|rank| is_in(seen, rank, "MPI_Recv", line)));
    }
}

/// A program that is looked at hundreds of times, asleep, at work and in MPI, ends as if nobody had looked: with its output and
/// status, and without an interrupted system call.
#[test]
fn a_program_that_is_looked_at_does_not_notice_it() {
    let folder = tempfile::tempdir().unwrap();
    let end = folder.path().join("end");
    let mut job = Job::start(&own_program(), 2, &["works", text(&end)]);
    job.until("works", |seen| seen["ranks"].as_array().unwrap().len() == 2);
    let mut stops = Vec::new();
    const LOOKS: usize = 4 * 100;
    for _ in 0..4 {
        let outcome = job.look(&["--json", "--between", "1ms", "--looks", "100"]);
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        let seen: Value = serde_json::from_str(&outcome.stdout).unwrap();
        for rank in seen["jobs"][0]["ranks"].as_array().unwrap() {
            assert_eq!(rank["problem"], Value::Null, "{seen:#}");
            let stopped = rank["stopped"].as_array().unwrap();
            stops.extend(stopped.iter().filter_map(Value::as_u64).filter(|stop| *stop > 0));
        }
    }
    fs::write(&end, "").unwrap();
    let begin = Instant::now();
    let status = loop {
        assert!(begin.elapsed() < LIMIT);
        match job.launcher.try_wait().unwrap() {
            Some(status) => break status,
            None => sleep(Duration::from_millis(50)),
        }
    };
    // As the program says.
    assert_eq!(status.code(), Some(3));
    let printed = fs::read_to_string(job.folder.path().join("stdout")).unwrap();
    let mut lines: Vec<_> = printed.lines().filter(|line| line.starts_with("rank ")).collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        ["rank 0 of 2: 0 interrupted, 0 wrong", "rank 1 of 2: 0 interrupted, 0 wrong"]
    );
    // Some looks must have come while it was at work.
    assert!(stops.len() > 10, "{stops:?}");
    stops.sort_unstable();
    eprintln!(
        "{LOOKS} looks at 2 ranks: {} stops of {} µs in the median, {} µs at most",
        stops.len(),
        stops[stops.len() / 2],
        stops[stops.len() - 1]
    );
}

/// What has written or received a part, and sleeps for the rest, is left alone: it would come back short.
#[test]
fn transfers_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let end = folder.path().join("end");
    let mut job = Job::start(&own_program(), 1, &["transfers", text(&end)]);
    let (writes, receives) = (own_line("writes"), own_line("receives"));
    let line = |thread: &Value| thread["site"][0]["line"].as_u64();
    job.until("transfers", |seen| {
        let Some(threads) = seen["ranks"][0]["threads"].as_array() else { return false };
        [writes, receives].iter().all(|own| threads.iter().any(|it| line(it) == Some(*own)))
    });
    let outcome = job.look(&["--json", "--between", "1ms", "--looks", "200"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    fs::write(&end, "").unwrap();
    let begin = Instant::now();
    while job.launcher.try_wait().unwrap().is_none() {
        assert!(begin.elapsed() < LIMIT);
        sleep(Duration::from_millis(50));
    }
    let printed = fs::read_to_string(job.folder.path().join("stdout")).unwrap();
    assert!(printed.contains("rank 0 of 1: 0 wrong, 1048576 of 1048576"), "{printed}");
}

/// Ranks that end between the looks are no error.
#[test]
fn ranks_may_end_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let end = folder.path().join("end");
    let mut job = Job::start(&own_program(), 2, &["sleeps", text(&end)]);
    let line = own_line("waits");
    job.until("sleeps", |seen| (0..2).all(|rank| does(seen, rank).2 == line));
    let pid = job.pid();
    let arguments = ["hang", "--attach", &pid, "--json", "--between", "20s"];
    let mut looking = mpi_tool_command(job.folder.path(), &arguments);
    let looking = looking.stdout(Stdio::piped()).spawn().unwrap();
    // The first look takes a moment, and the second comes long after the end.
    sleep(Duration::from_secs(2));
    fs::write(&end, "").unwrap();
    let output = looking.wait_with_output().unwrap();
    assert!(output.status.success());
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    for rank in seen["jobs"][0]["ranks"].as_array().unwrap() {
        assert_eq!(rank["problem"], "its process has ended meanwhile", "{seen:#}");
    }
    // Now the job has ended.
    let outcome = job.look(&[]);
    assert_eq!(outcome.status, Some(2), "{outcome:?}");
}

/// Somebody else's job: one sentence says why not, and what to do.
#[test]
fn another_user_is_told_what_to_do() {
    let own = Command::new("id").arg("-u").output().unwrap();
    if own.stdout != b"0\n" {
        eprintln!("only root can become another user");
        return;
    }
    let mut job = Job::start(&program(), 2, &["receive cycle"]);
    let line = line_of("cycle");
    job.until("cycle", |seen| (0..2).all(|rank| is_in(seen, rank, "MPI_Recv", line)));
    // Where others can read.
    let folder = tempfile::Builder::new()
        .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .tempdir()
        .unwrap();
    let copy = folder.path().join("mpi-tool");
    fs::copy(env!("CARGO_BIN_EXE_mpi-tool"), &copy).unwrap();
    let mut other = limited("setpriv");
    other.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&copy);
    other.args(["hang", "--attach", &job.pid()]).current_dir(folder.path());
    let outcome = match other.output() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            eprintln!("there is no setpriv");
            return;
        }
        _ => Outcome::of(&mut other),
    };
    assert_eq!((outcome.status, &*outcome.stdout), (Some(2), ""), "{outcome:?}");
    let [said] = outcome.said()[..] else { panic!("{outcome:?}") };
    assert!(
        said.contains("it runs as user 0: run this command as that user, or as root"),
        "{said}"
    );
}

#[test]
fn what_is_no_mpi_process_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let own = std::process::id().to_string();
    for (pid, expected) in [
        (&*own, "does not use MPI, and has started none that does on this host"),
        ("4194305", "there is no such process on this host"),
    ] {
        // This process may have started other tests' programs.
        let mut sleeping = limited("sleep").arg("100").spawn().unwrap();
        let pid = if pid == own { sleeping.id().to_string() } else { pid.to_owned() };
        let outcome = mpi_tool(folder.path(), &["hang", "--attach", &pid]);
        sleeping.kill().unwrap();
        sleeping.wait().unwrap();
        assert_eq!((outcome.status, &*outcome.stdout), (Some(2), ""), "{outcome:?}");
        let [said] = outcome.said()[..] else { panic!("{outcome:?}") };
        assert!(said.contains(&pid) && said.contains(expected), "{said}");
    }
}

/// What was seen on several hosts is put together: here, the second host's is the first's under another name.
#[test]
fn files_of_several_hosts_are_one_job() {
    let mut job = Job::start(&program(), 2, &["receive cycle"]);
    let line = line_of("cycle");
    job.until("cycle", |seen| (0..2).all(|rank| is_in(seen, rank, "MPI_Recv", line)));
    let outcome = job.look(&["--dump", "here.json"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let folder = job.folder.path();
    let dump = fs::read_to_string(folder.join("here.json")).unwrap();
    let mut there: Value = serde_json::from_str(&dump).unwrap();
    there["jobs"][0]["size"] = 5.into();
    for rank in there["jobs"][0]["ranks"].as_array_mut().unwrap() {
        rank["rank"] = (rank["rank"].as_u64().unwrap() + 2).into();
        rank["host"] = "elsewhere".into();
    }
    fs::write(folder.join("there.json"), there.to_string()).unwrap();
    let mut here: Value = serde_json::from_str(&dump).unwrap();
    here["jobs"][0]["size"] = 5.into();
    fs::write(folder.join("here.json"), here.to_string()).unwrap();
    let outcome = mpi_tool(folder, &["hang", "here.json", "there.json", "here.json"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert!(outcome.stdout.starts_with("# 4 ranks of 5 of hang "), "{outcome:?}");
    assert!(outcome.stdout.contains("  4 ranks (0-3) "), "{outcome:?}");
    assert!(outcome.stdout.contains("(rank 4 of 5 is not seen: "), "{outcome:?}");
    for (name, content, expected) in [
        ("other.json", "{\"schema\": 1}", "this is no file of `mpi-tool hang --attach --dump`"),
        ("newer.json", "{\"schema\": \"mpi-tool-attach/9\", \"jobs\": []}", "mpi-tool-attach/9"),
    ] {
        fs::write(folder.join(name), content).unwrap();
        let outcome = mpi_tool(folder, &["hang", name]);
        assert_eq!(outcome.status, Some(2), "{outcome:?}");
        let [said] = outcome.said()[..] else { panic!("{outcome:?}") };
        assert!(said.contains(name) && said.contains(expected), "{said}");
    }
}

/// Does a rank sleep in a call in which nothing is stopped, so that its callers are not all known?
fn is_left_alone(rank: &Value) -> bool {
    let thread = &rank["threads"][0];
    let call = fs::read_to_string(format!("/proc/{}/syscall", rank["pid"])).unwrap_or_default();
    let number = call.split(' ').next().unwrap_or_default();
    // read, recvfrom, recvmsg, fcntl, epoll_wait, epoll_pwait.
    thread["whole"] == false && ["0", "45", "47", "72", "232", "281"].contains(&number)
}

/// In which function of MPI a rank is, and by which lines of the program it has come there: as a debugger sees it. Ranks that
/// are alike to the debugger are one group. `cargo xtask test` leaves tests of this name out where no debugger can look.
fn gdb_sees_the_same_place(fault: &Fault) {
    let folder = tempfile::tempdir().unwrap();
    let arguments = fault.arguments(folder.path());
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut job = Job::start(&program(), fault.ranks, &arguments);
    let stays = |rank: &Value| {
        let thread = &rank["threads"][0];
        let what = thread["what"].as_str().unwrap_or("");
        ["stands", "stays", "computes", "sleeps"].contains(&what)
            || thread["held"] == "signal"
            || is_left_alone(rank)
    };
    // What a program does at its start may last, too: it stays where it is for several looks.
    let mut last = Value::Null;
    let seen = loop {
        let seen = job.until(fault.what, |seen| {
            let ranks = seen["ranks"].as_array().unwrap();
            ranks.len() == fault.ranks as usize && ranks.iter().all(stays)
        });
        let places: Vec<_> = (0..fault.ranks).map(|rank| does(&seen, rank.into())).collect();
        let places = format!("{places:?}");
        let ranks = seen["ranks"].as_array().unwrap();
        let has_callers = |rank: &Value| rank["threads"][0]["site"].as_array().unwrap().len() > 1;
        if last == places && ranks.iter().all(|rank| has_callers(rank) || is_left_alone(rank)) {
            break seen;
        }
        last = places.into();
    };
    let mut groups: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for rank in seen["ranks"].as_array().unwrap() {
        let thread = &rank["threads"][0];
        let (own, others): (Vec<_>, Vec<_>) = frames(rank["pid"].as_u64().unwrap())
            .into_iter()
            .partition(|frame| frame.line.is_some());
        let what = format!("{}: {rank:#}, {own:?}, {others:?}", fault.what);
        // The outermost one, without MPI's name for tools.
        let called = others.last().map(|frame| frame.function.trim_start_matches('P').to_owned());
        let of_mpi = others.iter().rev().find(|frame| frame.function.contains("MPI_"));
        let of_mpi = of_mpi.map(|frame| frame.function.trim_start_matches('P').to_owned());
        // A function without a name.
        let outermost = called.as_deref().map(|name| if name == "??" { "MPI" } else { name });
        if is_left_alone(rank) {
            // As far as it is known, it is right.
            let known = frames_of_site(thread);
            assert_eq!(known, own[..known.len()], "{what}");
        } else if thread["in_mpi"] == true {
            assert_eq!(thread["function"].as_str(), of_mpi.as_deref().or(outermost), "{what}");
            assert_eq!(frames_of_site(thread), own, "{what}");
        } else {
            assert_eq!(of_mpi, None, "{what}");
            let functions = |frames: &[crate::faults::Frame]| {
                frames.iter().map(|frame| frame.function.clone()).collect::<Vec<_>>()
            };
            assert_eq!(functions(&frames_of_site(thread)), functions(&own), "{what}");
        }
        let group =
            format!("{called:?} {:?}", own.iter().map(|it| &it.function).collect::<Vec<_>>())
                + &format!("{:?}", own.get(1..));
        let line =
            if thread["what"] == "computes" { None } else { own.first().and_then(|it| it.line) };
        groups.entry(format!("{group} {line:?}")).or_default().push(rank["rank"].as_u64().unwrap());
    }
    let mut expected: Vec<_> = groups.into_values().collect();
    expected.sort();
    let told = seen["groups"].as_array().unwrap().iter().map(|group| {
        let ranks = group["ranks"].as_array().unwrap().iter();
        ranks.map(|rank| rank.as_u64().unwrap()).collect::<Vec<_>>()
    });
    let mut told: Vec<_> = told.collect();
    told.sort();
    assert_eq!(told, expected, "{}: {seen:#}", fault.what);
}

/// Each program is a test.
macro_rules! places {
    ($($name:ident $ranks:literal $what:literal,)*) => {
        mod gdb_sees_the_same_place {
            use crate::faults::Fault;

            $(#[test]
            fn $name() {
                let fault = Fault { ranks: $ranks, what: $what, verdict: "" };
                if fault.is_possible() {
                    super::gdb_sees_the_same_place(&fault);
                }
            })*
        }
    };
}

places! {
    receive_cycle 3 "receive cycle",
    missing_collective 3 "missing collective",
    other_order 3 "other order",
    other_function 3 "other function",
    wrong_tag 2 "wrong tag",
    wrong_communicator 2 "wrong communicator",
    request 2 "request",
    small_sends 3 "small sends",
    window_lock 3 "window lock",
    create_group 3 "create group",
    no_leader 3 "no leader",
    no_member 3 "no member",
    endless_loop 3 "endless loop",
    stopped 3 "stopped",
    file_lock 2 "file lock",
    spawn 1 "spawn",
    persistent 3 "persistent",
    no_part 2 "no part",
    no_post 3 "no post",
    no_complete 3 "no complete",
    exchange_tags 2 "exchange tags",
}
