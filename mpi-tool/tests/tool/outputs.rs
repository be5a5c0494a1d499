//! Outputs that cannot be written, of all commands: a full device is an error in a line, a closed pipe is none, and nothing
//! panics.

use std::env;
use std::fs::{self, File};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::common::{
    Outcome, compile, compile_with, launcher, limited, mpi_tool, mpi_tool_command, setting, text,
    tool,
};
use crate::hang::{Job, verdict};

/// `/dev/full`, which takes nothing.
fn full() -> Stdio {
    File::options().write(true).open("/dev/full").unwrap().into()
}

/// A pipe that nobody reads any more.
fn closed() -> Stdio {
    let (_, writer) = std::io::pipe().unwrap();
    writer.into()
}

/// What a command comes to with this standard output; what it says goes to a file.
fn with(folder: &TempDir, arguments: &[&str], output: Stdio) -> (Option<i32>, String) {
    let file = folder.path().join("stderr");
    let mut command = mpi_tool_command(folder.path(), arguments);
    command.stdin(Stdio::null()).stdout(output).stderr(File::create(&file).unwrap());
    // The launcher of this MPI, which `doctor` and `demo` look for.
    let own = Path::new(&setting("MPIEXEC")).parent().unwrap().to_owned();
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths([own].into_iter().chain(env::split_paths(&path)));
    command.env("PATH", path.unwrap());
    (command.status().unwrap().code(), fs::read_to_string(file).unwrap())
}

/// A folder with a profile, a trace and the program of one run, and of a run that hung.
fn runs() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let program = compile_with(setting("MPICC"), "trace", "trace", &["-g", "-pthread"]);
    fs::copy(&program, folder.path().join("app")).unwrap();
    let [mpiexec, option, ranks] = launcher("2");
    let mut command = limited(mpiexec);
    command.args([option, ranks]).args(["./app", "random", "1", "1"]).current_dir(folder.path());
    let tools = [tool("mpi_trace"), tool("mpi_profile")];
    command.env("LD_PRELOAD", tools.each_ref().map(|tool| text(tool)).join(":"));
    command.env("MPI_TOOL_RUN", "run").env("MPI_TOOL_FORMAT", "json");
    command
        .env("MPI_TOOL_MPI_PROFILE_OUTPUT", "profile.json")
        .env("MPI_TOOL_MPI_PROFILE_PEER", "1");
    let outcome = Outcome::of(&mut command);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let mut job = Job::start(2, &["receive cycle"]);
    job.until("deadlock", |answer| verdict(answer) == "deadlock");
    job.kill();
    let copied =
        Command::new("cp").arg("-r").arg(job.run_folder()).arg(folder.path().join("hung")).status();
    assert!(copied.unwrap().success());
    folder
}

#[test]
fn outputs_that_cannot_be_written() {
    let folder = runs();
    // What each command exits with if all is well.
    let commands: [(&[&str], i32); 28] = [
        (&["report", "profile.json"], 0),
        (&["report", "profile.json", "--to", "json"], 0),
        (&["report", "profile.json", "--to", "csv"], 0),
        (&["report", "profile.json", "--to", "html"], 0),
        (&["report", "profile.json", "--to", "talp"], 0),
        (&["report", "profile.json", "--to", "folded"], 0),
        (&["report", "profile.json", "--by", "function"], 0),
        (&["report", "profile.json", "--matrix"], 0),
        (&["report", "profile.json", "profile.json"], 0),
        (&["report", "profile.json", "--placement"], 0),
        (&["hang", "hung"], 0),
        (&["hang", "hung", "--json"], 0),
        (&["hang", "hung", "--watch"], 0),
        (&["trace", "run"], 0),
        (&["trace", "run", "--to", "json"], 0),
        (&["trace", "run", "--to", "csv"], 0),
        (&["trace", "run", "--to", "perfetto"], 0),
        (&["trace", "run", "--html"], 0),
        (&["list"], 0),
        (&["list", "--json"], 0),
        (&["inspect", "./app"], 0),
        (&["inspect", "--json", "./app"], 0),
        (&["run", "--dry-run", "--", "./app"], 0),
        (&["completions", "bash"], 0),
        (&["man"], 0),
        (&["--help"], 0),
        (&["help", "report"], 0),
        (&["--version"], 0),
    ];
    for (arguments, status) in commands {
        let outcome = mpi_tool(folder.path(), arguments);
        assert_eq!(outcome.status, Some(status), "{arguments:?}: {outcome:?}");
        assert!(!outcome.stdout.is_empty(), "{arguments:?}: {outcome:?}");
        let (found, said) = with(&folder, arguments, full());
        assert_eq!(found, Some(2), "{arguments:?}: {said}");
        let line = said.lines().last().unwrap_or_default();
        let expected = "mpi-tool: nothing can be written to standard output: No space left on device (os error 28)";
        assert_eq!(line, expected, "{arguments:?}");
        // What is said beside the output may be said before.
        let (found, said) = with(&folder, arguments, closed());
        assert_eq!(found, Some(status), "{arguments:?}: {said}");
        assert!(!said.contains("panicked") && !said.contains("written"), "{arguments:?}: {said}");
    }
    // What takes longer: `doctor` and `demo` try MPIs.
    for arguments in [&["doctor"][..], &["demo", "-n", "1", "--steps", "1"]] {
        let (found, said) = with(&folder, arguments, full());
        assert_eq!(found, Some(2), "{arguments:?}: {said}");
        assert!(said.contains("nothing can be written") && !said.contains("panicked"), "{said}");
        let (found, said) = with(&folder, arguments, closed());
        assert_eq!(found, Some(0), "{arguments:?}: {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
}

/// `-o /dev/full`, and other options that name a file.
#[test]
fn files_that_cannot_be_written() {
    let folder = runs();
    assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());
    let commands: [&[&str]; 10] = [
        &["report", "profile.json", "-o", "/dev/full"],
        &["report", "profile.json", "--to", "csv", "-o", "/dev/full"],
        &["report", "profile.json", "--to", "html", "-o", "/dev/full"],
        &["report", "profile.json", "--to", "sqlite", "-o", "/dev/full"],
        &["report", "profile.json", "profile.json", "-o", "/dev/full"],
        &["trace", "run", "-o", "/dev/full"],
        &["trace", "run", "--to", "json", "-o", "/dev/full"],
        &["trace", "run", "--to", "perfetto", "-o", "/dev/full"],
        &["trace", "run", "--to", "ti", "-o", "/dev/full"],
        &["hang", "hung", "--svg", "/dev/full"],
    ];
    for arguments in commands {
        let outcome = mpi_tool(folder.path(), arguments);
        let is_device = fs::metadata("/dev/full").unwrap().file_type().is_char_device();
        assert!(is_device, "{arguments:?} has replaced it");
        assert_eq!(
            (outcome.status, outcome.stdout.as_str()),
            (Some(2), ""),
            "{arguments:?}: {outcome:?}"
        );
        assert!(
            outcome.said().last().unwrap().starts_with("/dev/full: "),
            "{arguments:?}: {outcome:?}"
        );
    }
}

/// Nobody can be told, but the status.
#[test]
fn standard_error_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let program = compile("nothing");
    let commands: [(&[&str], i32); 5] = [
        (&["report", "none.json"], 2),
        (&["hang", "none"], 2),
        (&["no such command"], 2),
        (&["run", "--tool", "none", "--", text(&program)], 2),
        // A warning, and the program's own status.
        (&["run", "--tool", "call-counter", "--output", "none", "--", text(&program)], 0),
    ];
    for (arguments, status) in commands {
        for output in [full(), closed()] {
            let mut command = mpi_tool_command(folder.path(), arguments);
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(output);
            assert_eq!(command.status().unwrap().code(), Some(status), "{arguments:?}");
        }
    }
}
