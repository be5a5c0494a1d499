//! The profile that `mpi-tool run` prints when the program has ended, with source lines.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{
    FINE, Outcome, abi, compile_with, launcher, mpi_tool_command, setting, text, write_program,
};
use crate::hang::signal;

/// `mpi-tool run OPTIONS -- mpiexec -n 2 PROGRAM`, with a place for temporary files of its own: what came of it, and whether
/// that place is empty again.
fn run(options: &[&str], program: &[&str], variables: &[(&str, &str)]) -> Outcome {
    let folder = tempfile::tempdir().unwrap();
    let temporary = folder.path().join("100% mine");
    fs::create_dir(&temporary).unwrap();
    let words = launcher("2");
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    let arguments = [&["run"], options, &["--"], &words[..], program].concat();
    let mut command = mpi_tool_command(folder.path(), &arguments);
    command.env("TMPDIR", &temporary).envs(variables.iter().copied());
    let outcome = Outcome::of(&mut command);
    let left: Vec<_> = fs::read_dir(&temporary)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("mpi-tool-"))
        .collect();
    assert_eq!(left, [""; 0], "{outcome:?}");
    outcome
}

/// `MPI_Barrier` where a program calls it for the first time, as a profile shows it.
fn barrier(program: &str) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/c/{program}.c"));
    let source = fs::read_to_string(source).unwrap();
    let before = source.lines().take_while(|line| !line.contains("MPI_Barrier")).count();
    format!("MPI_Barrier, {program}.c:{} main", before + 1)
}

/// A program with debug information.
fn with_lines(name: &str) -> String {
    let program = compile_with(setting("MPICC"), name, &format!("{name}-lines"), &["-g"]);
    text(&program).to_owned()
}

/// Who names no tool wants to know where the time goes, in lines of the program.
#[test]
fn without_a_tool_it_is_the_profile() {
    let program = with_lines("calls");
    for options in [&[][..], &["--tool", "mpi-profile"], &["--tool", "mpi-profile", "--qmpi"]] {
        let outcome = run(options, &[&program, "3"], &[]);
        assert_eq!((outcome.status, outcome.lines()), (Some(3), FINE.to_vec()), "{outcome:?}");
        let said = &outcome.stderr;
        assert_eq!(said.matches("# mpi-profile").count(), 1, "{options:?}: {outcome:?}");
        assert!(said.contains(": calls of 2 ranks\n"), "{outcome:?}");
        // A level of a stack is not told where a call comes from.
        let is_stack = options.contains(&"--qmpi");
        let wanted = if is_stack { "MPI_Barrier".into() } else { barrier("calls") };
        let row = said.lines().find(|row| row.ends_with(&wanted));
        let row = row.unwrap_or_else(|| panic!("{options:?}: {outcome:?}"));
        assert!(row.split_ascii_whitespace().any(|word| word == "14"), "{row}");
        assert!(!said.contains("report in"), "{outcome:?}");
    }
}

/// Other tools print what they print.
#[test]
fn other_tools_have_their_reports_as_before() {
    let program = with_lines("calls");
    let outcome = run(&["-tcall-counter", "-tmpi-profile"], &[&program], &[]);
    assert_eq!((outcome.status, outcome.lines()), (Some(0), FINE.to_vec()), "{outcome:?}");
    assert!(outcome.stderr.contains("# call-counter"), "{outcome:?}");
    assert!(outcome.stderr.contains("calls.c:"), "{outcome:?}");
}

/// Whoever says what becomes of the report gets that.
#[test]
fn what_is_asked_for_is_done() {
    let program = with_lines("calls");
    for (options, variables) in [
        (&["--output", "stderr"][..], &[][..]),
        (&["--format", "text"], &[]),
        (&[], &[("MPI_TOOL_MPI_PROFILE_FORMAT", "text")]),
    ] {
        let outcome = run(options, &[&program], variables);
        let said = &outcome.stderr;
        assert!(said.contains("MPI_Barrier, at ") && !said.contains("calls.c:"), "{outcome:?}");
    }
    let nothing = run(&[], &[&program], &[("MPI_TOOL_OUTPUT", "none")]);
    assert!(!nothing.stderr.contains("mpi-profile"), "{nothing:?}");
}

/// A rank that cannot reach the folder, as on another host, prints the report itself.
#[test]
fn what_cannot_be_left_is_printed_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let job = folder.path().join("job");
    let program = with_lines("calls");
    let script = format!("#!/bin/sh\nrm -rf \"$TMPDIR\"/mpi-tool-*\nexec '{program}'\n");
    write_program(&job, script);
    let outcome = run(&["--abi", abi()], &[text(&job)], &[]);
    assert_eq!((outcome.status, outcome.lines()), (Some(0), FINE.to_vec()), "{outcome:?}");
    let said = &outcome.stderr;
    assert!(said.contains("mpi-profile: cannot write "), "{outcome:?}");
    assert!(said.contains("no such directory; it follows here"), "{outcome:?}");
    assert_eq!(said.matches("# mpi-profile").count(), 1, "{outcome:?}");
    assert!(said.contains("MPI_Barrier, at "), "{outcome:?}");
}

/// Where no folder can be made, the tool prints its text, as it does without `mpi-tool`.
#[test]
fn a_machine_without_room_gets_the_tools_own_text() {
    let folder = tempfile::tempdir().unwrap();
    let program = with_lines("calls");
    // Open MPI needs one itself.
    let temporary = format!("TMPDIR={}", text(folder.path()));
    let arguments = ["run", "--", "env", &temporary, &program];
    let mut command = mpi_tool_command(folder.path(), &arguments);
    let outcome = Outcome::of(command.env("TMPDIR", "/proc/self/fdinfo"));
    assert_eq!((outcome.status, outcome.lines()), (Some(0), vec!["rank 0 of 1 is fine"]));
    assert!(outcome.stderr.contains("MPI_Barrier, at "), "{outcome:?}");
}

/// Waits until a program has written a file, and reads it.
fn written(file: &Path) -> String {
    let start = Instant::now();
    loop {
        let content = fs::read_to_string(file).unwrap_or_default();
        if content.ends_with('\n') {
            return content.trim().to_owned();
        }
        assert!(start.elapsed() < Duration::from_secs(60), "{}", file.display());
        sleep(Duration::from_millis(10));
    }
}

/// A launcher that is no launcher: it notes its process, says what signal it gets, and ends by itself only after a minute.
const SLEEPER: &str = "#!/bin/sh
trap 'echo USR1 >> \"$1\"' USR1
trap 'echo TERM >> \"$1\"; exit 9' TERM
echo $$ > \"$1\".pid
for second in $(seq 600); do sleep 0.1; done
";

/// `mpi-tool run -- SLEEPER`, its process and the sleeper's. Not behind `timeout`, which would take the signals.
fn sleeper(folder: &Path, before: &str) -> (Child, u64) {
    let script = folder.join("sleeper");
    write_program(&script, SLEEPER);
    let child = Command::new("/bin/sh")
        .args(["-c", &format!("{before} exec \"$0\" \"$@\"")])
        .arg(env!("CARGO_BIN_EXE_mpi-tool"))
        .args(["run", "--abi", abi(), "--"])
        .args([&script, &folder.join("said")])
        .env("MPI_TOOL_PATH", setting("MPI_TOOLS"))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let launcher = written(&folder.join("said.pid"));
    (child, launcher.parse().unwrap())
}

fn is_there(process: u64) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    status.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

/// As if `mpi-tool` were the launcher: signals reach it, and the exit status is its own.
#[test]
fn signals_reach_the_launcher() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, _) = sleeper(folder.path(), "");
    let process = u64::from(child.id());
    signal("USR1", process);
    let said = folder.path().join("said");
    assert_eq!(written(&said), "USR1");
    signal("TERM", process);
    assert_eq!(child.wait().unwrap().code(), Some(9));
    assert_eq!(written(&said), "USR1\nTERM");
}

/// `nohup mpi-tool run …` lives on when its terminal does not.
#[test]
fn what_is_ignored_stays_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, launcher) = sleeper(folder.path(), "trap '' HUP;");
    for process in [child.id().into(), launcher] {
        signal("HUP", process);
    }
    sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none() && is_there(launcher));
    signal("TERM", child.id().into());
    assert_eq!(child.wait().unwrap().code(), Some(9));
}

/// A launcher does not live on when `mpi-tool` is killed, as `subprocess.kill` of a script does.
#[test]
fn the_launcher_is_killed_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, launcher) = sleeper(folder.path(), "");
    assert!(is_there(launcher));
    child.kill().unwrap();
    child.wait().unwrap();
    let start = Instant::now();
    while is_there(launcher) {
        assert!(start.elapsed() < Duration::from_secs(10), "the launcher lives on");
        sleep(Duration::from_millis(10));
    }
}

/// After `MPI_Abort`, what ranks have counted is shown.
#[test]
fn a_run_that_fails_has_a_profile() {
    let program = with_lines("aborts");
    let outcome = run(&[], &[&program], &[]);
    assert_ne!(outcome.status, Some(0), "{outcome:?}");
    let said = &outcome.stderr;
    assert!(said.contains("# mpi-profile") && said.contains("partial: "), "{outcome:?}");
    assert!(said.contains(&barrier("aborts")), "{outcome:?}");
}
