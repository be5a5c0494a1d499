//! What says by itself that a run hangs: `mpi-tool run --hang-after`, and `MPI_TOOL_MPI_WATCH_AFTER`.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{Outcome, abi, launcher, limited, mpi_tool, mpi_tool_command, text, tool};
use crate::hang::{LIMIT, line_of, program, signal};

const REPORT: &str = "mpi-tool: no rank has made an MPI call for 2 s";

/// Runs `hang.c` on two ranks by `mpi-tool run` with options.
fn arguments<'a>(options: &[&'a str], words: &'a [String], what: &[&'a str]) -> Vec<&'a str> {
    let mut arguments = vec!["run"];
    arguments.extend(options);
    arguments.push("--");
    arguments.extend(words.iter().map(String::as_str));
    arguments.extend(what);
    arguments
}

/// The launcher's words for two ranks of `hang.c`.
fn words() -> Vec<String> {
    let [mpiexec, option, ranks] = launcher("2");
    vec![mpiexec, option, ranks, text(&program()).to_owned()]
}

fn expect_report(stderr: &str) {
    assert_eq!(stderr.matches(REPORT).count(), 1, "{stderr}");
    let place = format!("hang.c:{}", line_of("cycle"));
    assert!(stderr.contains("Deadlock") && stderr.contains(&place), "{stderr}");
}

/// `--hang-after` reports once. `--kill` ends the launcher, and chooses the exit status.
#[test]
fn a_hang_is_reported_and_ended() {
    let (folder, words) = (tempfile::tempdir().unwrap(), words());
    for (kill, status) in [("--kill", 124), ("--kill=7", 7)] {
        let options = ["--hang-after", "2s", kill];
        let outcome = mpi_tool(folder.path(), &arguments(&options, &words, &["receive cycle"]));
        assert_eq!(outcome.status, Some(status), "{outcome:?}");
        expect_report(&outcome.stderr);
    }
}

/// The user's command has the report, is run once, and before the launcher is ended.
#[test]
fn a_command_of_the_users_is_run() {
    let (folder, words) = (tempfile::tempdir().unwrap(), words());
    // The ranks are there as long as the command runs.
    let command =
        "cat >> report; mpi-tool-under-test hang \"$MPI_TOOL_RUN\" > ranks; echo told; exit 3";
    let command = command.replace("mpi-tool-under-test", env!("CARGO_BIN_EXE_mpi-tool"));
    let options = ["--hang-after", "2s", "--kill", "--on-hang", &*command];
    let outcome = mpi_tool(folder.path(), &arguments(&options, &words, &["receive cycle"]));
    assert_eq!(
        (outcome.status, outcome.stdout.contains("told")),
        (Some(124), false),
        "{outcome:?}"
    );
    expect_report(&outcome.stderr);
    let behind = outcome.stderr.split_once("\ntold\n").unwrap_or_else(|| panic!("{outcome:?}")).1;
    let said = "mpi-tool: the command of --on-hang has failed: exit status: 3\nmpi-tool: ending the launcher (--kill)\n";
    assert!(behind.starts_with(said), "{outcome:?}");
    let read = |name| fs::read_to_string(folder.path().join(name)).unwrap();
    expect_report(&read("report"));
    assert!(read("ranks").contains("Deadlock"), "{}", read("ranks"));
    // Where nothing hangs, it is not run.
    fs::remove_file(folder.path().join("report")).unwrap();
    let outcome = mpi_tool(folder.path(), &arguments(&options, &words, &[]));
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
    assert!(!folder.path().join("report").exists());
    let outcome = mpi_tool(folder.path(), &arguments(&["--on-hang", "true"], &words, &[]));
    assert_eq!(outcome.status, Some(2), "{outcome:?}");
}

/// For how long the rank that has called last had made no call, as the report's table of ranks says.
fn youngest(report: &str) -> f64 {
    let ages = report.lines().filter_map(|line| {
        // `     1    21718           41     2.5 s  in MPI_Recv …`
        let words: Vec<&str> = line.split_ascii_whitespace().take(5).collect();
        let is_rank = words.len() == 5 && words[4] == "s" && words[0].parse::<u32>().is_ok();
        is_rank.then(|| words[3].parse::<f64>().ok())?
    });
    ages.fold(f64::INFINITY, f64::min)
}

/// The report comes within a second after the time, the best of three on a machine that may be busy: of a deadlock, of a rank
/// that works, and of one that is stopped.
#[test]
fn a_hang_is_reported_in_time() {
    let folder = tempfile::tempdir().unwrap();
    let program = text(&program()).to_owned();
    let [mpiexec, option, ranks] = launcher("3");
    for what in ["receive cycle", "endless loop", "stopped"] {
        let words = [&mpiexec, &option, &ranks, &program].map(String::clone);
        let options = ["--hang-after", "2s", "--kill"];
        let taken = || {
            let outcome = mpi_tool(folder.path(), &arguments(&options, &words, &[what]));
            assert_eq!(outcome.stderr.matches(REPORT).count(), 1, "{outcome:?}");
            youngest(&outcome.stderr)
        };
        let best = (0..3).map(|_| taken()).find(|age| *age <= 3.0);
        assert!(best.is_some_and(|age| age >= 2.0), "{what}: {best:?}");
    }
}

/// A launcher behind a wrapper that does not pass signals on is ended, too, and its ranks.
#[test]
fn nothing_is_left_of_a_launcher_behind_a_wrapper() {
    let folder = tempfile::tempdir().unwrap();
    let wrapper = ["sh", "-c", "trap '' TERM; \"$@\"; exit 3", "sh"].map(str::to_owned);
    let words = [wrapper.to_vec(), words()].concat();
    // Which MPI a script's program has is not known in advance.
    let options = ["--abi", abi(), "--hang-after", "2s", "--kill=7"];
    let unique = text(folder.path());
    let outcome = mpi_tool(folder.path(), &arguments(&options, &words, &["receive cycle", unique]));
    assert_eq!(outcome.status, Some(7), "{outcome:?}");
    let is_left = || {
        let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
        let mut lines = processes.filter_map(|one| fs::read(one.path().join("cmdline")).ok());
        lines.any(|line| String::from_utf8_lossy(&line).contains(unique))
    };
    let begin = Instant::now();
    while is_left() {
        assert!(begin.elapsed() < LIMIT, "a process is left");
        sleep(Duration::from_millis(50));
    }
}

/// A program that ends by itself ends as without the guard: its status, and nothing is said.
#[test]
fn what_does_not_hang_is_left_alone() {
    let (folder, words) = (tempfile::tempdir().unwrap(), words());
    for options in [&["--hang-after", "60s"][..], &["--hang-after", "60s", "--kill"]] {
        let outcome = mpi_tool(folder.path(), &arguments(options, &words, &[]));
        assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
        // The guard's folder is gone with it.
        let own = ["sh", "-c", "echo said; exit 5"].map(str::to_owned);
        let outcome = mpi_tool(folder.path(), &arguments(options, &own, &[]));
        assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(5), "said\n"), "{outcome:?}");
    }
    for wrong in ["--kill=0", "--kill=256", "--kill=x"] {
        let options = ["--hang-after", "2s", wrong];
        let outcome = mpi_tool(folder.path(), &arguments(&options, &words, &[]));
        assert_eq!(outcome.status, Some(2), "{outcome:?}");
    }
}

/// With `--kill`, this program is not the launcher, but passes signals on to it.
#[test]
fn signals_reach_the_launcher() {
    let folder = tempfile::tempdir().unwrap();
    for (name, number) in [("TERM", 15), ("INT", 2), ("USR1", 10), ("HUP", 1)] {
        let script = format!(
            "trap 'echo {name}; exit 9' {name}; touch begun; for i in $(seq 1200); do sleep 0.05; done"
        );
        let own = ["sh", "-c", &script].map(str::to_owned);
        let options = ["--hang-after", "60s", "--kill"];
        // Not by `timeout`, which is a process of its own.
        let limited = mpi_tool_command(folder.path(), &arguments(&options, &own, &[]));
        let words = limited.get_args().skip(1);
        // What the tests run in may ignore these: a shell's `&`, `nohup`. No shell traps what was ignored when it began.
        let mut command = Command::new("env");
        command.arg("--default-signal=TERM,INT,USR1,HUP").args(words);
        command.current_dir(folder.path()).stdout(Stdio::piped());
        command.envs(limited.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let child = command.spawn().unwrap();
        let begin = Instant::now();
        while !folder.path().join("begun").exists() {
            assert!(begin.elapsed() < LIMIT, "{name}: the shell does not start");
            sleep(Duration::from_millis(20));
        }
        signal(name, child.id().into());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!((output.status.code(), said), (Some(9), format!("{name}\n")), "{number}");
        fs::remove_file(folder.path().join("begun")).unwrap();
    }
}

/// A launcher with mpi-watch preloaded by hand, and the setting AFTER.
fn after(folder: &Path, seconds: &str, path: Option<&Path>, what: &[&str]) -> Command {
    let words = words();
    let mut command = limited(&words[0]);
    command.args(&words[1..]).args(what).current_dir(folder);
    command.env("LD_PRELOAD", tool("mpi_watch")).env("MPI_TOOL_RUN", folder.join("run"));
    command.env("MPI_TOOL_MPI_WATCH_AFTER", seconds);
    let mut folders = OsString::from(path.unwrap_or(Path::new("/nowhere")));
    folders.push(":/usr/bin:/bin");
    command.env("PATH", folders);
    command
}

/// Without `mpi-tool run`: one process beside rank 0 reports once, and the job goes on until somebody ends it.
#[test]
fn a_hang_is_reported_when_a_setting_asks_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let command = Path::new(env!("CARGO_BIN_EXE_mpi-tool")).parent();
    let errors = folder.path().join("stderr");
    let (input, _never_ends) = std::io::pipe().unwrap();
    let mut job = after(folder.path(), "2", command, &["receive cycle"]);
    job.stdin(input).stdout(Stdio::null()).stderr(fs::File::create(&errors).unwrap());
    let mut job = job.spawn().unwrap();
    let begin = Instant::now();
    // The table of ranks ends the report.
    while !fs::read_to_string(&errors).unwrap().contains("     1  ") {
        assert!(begin.elapsed() < LIMIT, "{}", fs::read_to_string(&errors).unwrap());
        sleep(Duration::from_millis(100));
    }
    // A second report would come by now.
    sleep(Duration::from_secs(4));
    assert_eq!(job.try_wait().unwrap(), None, "the job goes on");
    signal("TERM", job.id().into());
    job.wait().unwrap();
    expect_report(&fs::read_to_string(&errors).unwrap());

    // The launcher waits for all who have its standard error, so it ends only if the guard does.
    let outcome = Outcome::of(&mut after(folder.path(), "60", command, &[]));
    assert_eq!((outcome.status, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
}

/// Without the program that would watch, that is told in one line, and the job runs.
#[test]
fn who_cannot_be_watched_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    // A copy of the tool that no `mpi-tool` belongs to.
    let copy = folder.path().join("a/b/c/d/libmpi_watch.so");
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    fs::copy(tool("mpi_watch"), &copy).unwrap();
    let outcome = Outcome::of(after(folder.path(), "60", None, &[]).env("LD_PRELOAD", &copy));
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let said = "mpi-watch: there is no program mpi-tool in PATH to watch the run; nobody tells when the ranks hang (AFTER)\n";
    assert_eq!(outcome.stderr, said);
}
