//! Programs of others that must not hang us: each has a time limit, and is ended with all that it has started.

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// What came of a program.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Nothing if its time was over.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    pub(crate) fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

/// What is read of a program's output; the rest says nothing new.
const MOST: u64 = 1 << 20;

/// How long a launcher may take to end its ranks when it is told to.
const GRACE: Duration = Duration::from_secs(2);

/// Runs a program, whose input the caller has chosen.
///
/// # Errors
/// It cannot be started.
pub(crate) fn run(command: &mut Command, limit: Duration) -> io::Result<Outcome> {
    // Files, not pipes: what outlives the program may keep a pipe open for ever.
    let (stdout, stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    let mut child = command.process_group(0).spawn()?;
    let status = wait_or_end(&mut child, limit)?;
    Ok(Outcome { status, stdout: text(stdout)?, stderr: text(stderr)? })
}

/// The status of a program that was started as the first one of a process group; nothing if its time was over, and it was ended with
/// what it has started.
///
/// # Errors
/// The system's: it is no child of this process.
pub(crate) fn wait_or_end(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let status = wait(child, limit)?;
    if status.is_none() {
        end(child)?;
    }
    Ok(status)
}

fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let end = Instant::now() + limit;
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= end {
            return Ok(None);
        }
        thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// Ends a program and what it has started, which is in a process group with it: a launcher passes the first
/// signal on to ranks that are not.
fn end(child: &mut Child) -> io::Result<()> {
    let group = Pid::from_child(child);
    // One that is gone already is what is wanted.
    let _ = kill_process_group(group, Signal::TERM);
    let _ = wait(child, GRACE)?;
    let _ = kill_process_group(group, Signal::KILL);
    child.wait()?;
    Ok(())
}

fn text(mut file: File) -> io::Result<String> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(MOST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    fn shell(script: &str, limit: Duration) -> Outcome {
        run(Command::new("sh").args(["-c", script]).stdin(Stdio::null()), limit).unwrap()
    }

    #[test]
    fn output_is_kept_apart() {
        let outcome = shell("echo out; echo err >&2; exit 3", Duration::from_secs(60));
        assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("out\n", "err\n"));
        assert_eq!(outcome.status.and_then(|status| status.code()), Some(3));
    }

    /// Also one that ignores the first signal, and whose child holds its output open.
    #[test]
    fn what_does_not_end_is_ended() {
        let begin = Instant::now();
        let outcome = shell(
            "trap '' TERM; echo begun; sleep 600 & wait; sleep 600",
            Duration::from_millis(500),
        );
        assert!(outcome.status.is_none(), "{outcome:?}");
        assert!(begin.elapsed() < Duration::from_secs(300));
    }

    /// A process that goes on after its parent does not keep us waiting.
    #[test]
    fn a_process_left_behind_is_not_waited_for() {
        let begin = Instant::now();
        let outcome = shell("sleep 20 & echo done", Duration::from_secs(600));
        assert_eq!(outcome.stdout, "done\n");
        assert!(begin.elapsed() < Duration::from_secs(19));
    }
}
