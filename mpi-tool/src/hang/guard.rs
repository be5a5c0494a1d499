//! Watches a run while it runs, and says once that no rank moves any more.

use std::env;
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use super::find::Run;
use super::reading::{self, Beginning};
use super::{process, text};
use crate::cli::Guard;
use crate::out::say;
use crate::report::symbols::Symbols;

/// How often the state files are read.
const PERIOD: Duration = Duration::from_millis(250);
/// So long before it is time to tell, the ranks are looked at for the first time: what stands still is known in time then.
const AHEAD: Duration = Duration::from_secs(1);

/// Since when no rank has made a call.
struct Standing {
    since: Instant,
    /// How many calls each rank has made.
    calls: Vec<(PathBuf, u64)>,
    /// What it looked like at a moment after that.
    begun: Option<Beginning>,
}

impl Standing {
    fn of(calls: Vec<(PathBuf, u64)>) -> Self {
        Self { since: Instant::now(), calls, begun: None }
    }
}

impl Guard {
    /// Watches until the process has ended.
    pub(crate) fn run(&self) -> Result<()> {
        // The first ranks of several worlds may each have started one.
        let folder = File::open(&self.folder).ok();
        let is_first = folder
            .as_ref()
            .is_none_or(|folder| flock(folder, FlockOperation::NonBlockingLockExclusive).is_ok());
        if is_first {
            self.watch(|| {});
        }
        Ok(())
    }

    /// Watches until the process has ended. If no rank makes a call for long, that is told, once, and `told` called.
    pub(crate) fn watch(&self, told: impl FnOnce()) {
        let mut told = Some(told);
        let mut standing: Option<Standing> = None;
        let after = Duration::from_secs(self.after);
        let process = Watched::of(self.process);
        loop {
            let left = standing.as_ref().map(|since| after.saturating_sub(since.since.elapsed()));
            let pause = left.filter(|left| told.is_some() && !left.is_zero()).unwrap_or(PERIOD);
            if !process.as_ref().is_some_and(|process| process.is_there_after(pause.min(PERIOD))) {
                break;
            }
            let Ok(run) = Run::in_folder(&self.folder) else { continue };
            let calls = reading::calls(&run);
            let Some(since) = standing.as_mut().filter(|since| since.calls == calls) else {
                standing = (!calls.is_empty()).then(|| Standing::of(calls));
                continue;
            };
            if told.is_none() {
                continue;
            }
            if since.since.elapsed() < after {
                // What has stood still from here on is known when it is time to tell.
                if since.begun.is_none() && since.since.elapsed() + AHEAD >= after {
                    since.begun = Beginning::of(&run).ok();
                }
                continue;
            }
            let begun = since.begun.take().map_or_else(|| Beginning::of(&run), Ok);
            let Ok(reading) = begun.and_then(|begun| begun.settled(&run)) else { continue };
            if reading::calls(&run) != since.calls {
                // It goes on.
                standing = None;
                continue;
            }
            let mut symbols = Symbols::default();
            let text = text::of(&reading, &mut symbols, 20);
            let after = self.after;
            say(format_args!("mpi-tool: no rank has made an MPI call for {after} s\n{text}"));
            if let Some(told) = told.take() {
                told();
            }
        }
        if self.remove {
            // Ranks that have finalized have removed their files; others' stay for `mpi-tool hang`.
            let _ = fs::remove_dir(&self.folder);
        }
    }

    /// Starts the guard as a process that is nobody's child, since this one becomes the launcher.
    pub(crate) fn start(&self) -> Result<()> {
        let program = env::current_exe().context("cannot find this program")?;
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", r#""$0" "$@" &"#]).arg(program).arg("guard").arg(&self.folder);
        shell.args([self.process.to_string(), self.after.to_string()]);
        shell.args(self.remove.then_some("--remove"));
        let status = shell.stdout(Stdio::null()).status().context("/bin/sh")?;
        if !status.success() {
            bail!("cannot start the process that watches the ranks: /bin/sh failed");
        }
        Ok(())
    }

    /// A new run folder for a run of this process.
    pub(crate) fn new_folder() -> Result<PathBuf> {
        let mut last = None;
        for root in Run::roots()? {
            let folder = root.join(format!("run-{}", std::process::id()));
            let mut builder = DirBuilder::new();
            match builder.mode(0o700).recursive(true).create(&folder) {
                Ok(()) => return Ok(folder),
                Err(error) => last = Some(format!("{}: {error}", folder.display())),
            }
        }
        bail!("there is no folder for state files: {}", last.unwrap_or_default());
    }
}

/// A process whose end is waited for. It need not be a child.
struct Watched {
    pid: u32,
    started: u64,
    /// Not there where the kernel is older than 5.3.
    descriptor: Option<OwnedFd>,
}

impl Watched {
    /// `None` if it is not there.
    fn of(pid: u32) -> Option<Self> {
        let started = process::started(pid)?;
        let number = i32::try_from(pid).ok().and_then(Pid::from_raw)?;
        Some(Self { pid, started, descriptor: pidfd_open(number, PidfdFlags::empty()).ok() })
    }

    /// Waits for a time, or until the process has ended.
    fn is_there_after(&self, time: Duration) -> bool {
        if let Some(descriptor) = &self.descriptor
            && let Ok(time) = Timespec::try_from(time)
        {
            let mut ends = [PollFd::new(descriptor, PollFlags::IN)];
            // A signal may cut the wait short, which does no harm.
            let _ = poll(&mut ends, Some(&time));
        } else {
            sleep(time);
        }
        process::started(self.pid) == Some(self.started)
    }
}
