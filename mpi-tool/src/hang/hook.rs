//! The user's command for a run that hangs (`--on-hang`).

use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use crate::limited::wait_or_end;
use crate::out::errln;

/// So long may it take.
const LONGEST: Duration = Duration::from_secs(60);

/// Runs a command of the shell, and waits for it. What becomes of it is said if it fails.
pub(super) fn run(command: &str, report: &str, folder: &Path) {
    match start(command, report, folder).and_then(|mut child| wait_or_end(&mut child, LONGEST)) {
        Ok(Some(status)) if status.success() => {}
        Ok(Some(status)) => errln!("mpi-tool: the command of --on-hang has failed: {status}"),
        Ok(None) => errln!(
            "mpi-tool: the command of --on-hang has not ended in {} s, and was ended",
            LONGEST.as_secs()
        ),
        Err(error) => errln!("mpi-tool: the command of --on-hang cannot be run: {error}"),
    }
}

fn start(command: &str, report: &str, folder: &Path) -> io::Result<Child> {
    // It may read the report or not: nobody waits for that.
    let mut input: File = tempfile::tempfile()?;
    input.write_all(report.as_bytes())?;
    input.rewind()?;
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).stdin(input).env("MPI_TOOL_RUN", folder);
    // What it prints is not the program's output.
    shell.stdout(rustix::io::dup(io::stderr())?);
    // It can be ended with all that it has started.
    shell.process_group(0).spawn()
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::Instant;

    use rustix::process::Pid;

    use super::*;

    #[test]
    fn it_has_the_report_and_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let command = "cat > \"$MPI_TOOL_RUN/said\"; exit 3";
        let mut child = start(command, "ranks hang\n", folder.path()).unwrap();
        assert_eq!(wait_or_end(&mut child, LONGEST).unwrap().unwrap().code(), Some(3));
        assert_eq!(std::fs::read_to_string(folder.path().join("said")).unwrap(), "ranks hang\n");
    }

    /// With all that it has started: nobody has the pipe any more.
    #[test]
    fn what_does_not_end_is_ended() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let command = format!("sleep 100 > '{0}'.a & sleep 100", pipe.display());
        let mut child = start(&command, "", folder.path()).unwrap();
        let group = Pid::from_child(&child);
        assert!(wait_or_end(&mut child, Duration::from_millis(300)).unwrap().is_none());
        let begin = Instant::now();
        while rustix::process::test_kill_process_group(group).is_ok() {
            assert!(begin.elapsed() < LONGEST, "a process is left");
            sleep(Duration::from_millis(20));
        }
    }
}
