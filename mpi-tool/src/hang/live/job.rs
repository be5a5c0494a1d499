//! `mpi-tool run --live`: the screen of a job while its launcher runs, and what the job prints behind it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle, sleep};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use rustix::fd::OwnedFd;
use rustix::process::{Signal, getpgrp, kill_process_group};
use rustix::stdio::dup2_stderr;
use tempfile::TempPath;

use super::Eye;
use super::screen::{self, End};
use crate::cli::Top;
use crate::hang::find::Run;
use crate::out::errln;
use crate::temporary;

/// How often it is looked whether the job has printed something.
const PAUSE: Duration = Duration::from_millis(50);

/// A job that is to be shown.
pub(crate) struct Live {
    folder: PathBuf,
    /// Remove the run folder at the end.
    remove: bool,
    output: TempPath,
    /// What is written to standard error goes into the output, too, as the screen is there.
    has_errors: bool,
}

impl Live {
    /// For a run with this folder. Whether the folder is then removed, if it is empty, is the second argument.
    ///
    /// # Errors
    /// There is no terminal, or no room for what the job prints.
    pub(crate) fn new(folder: PathBuf, remove: bool) -> Result<Self> {
        let root = temporary::root().context("the working folder is gone")?;
        let output = temporary::builder().suffix(".output").tempfile_in(&root);
        let output = output.with_context(|| {
            format!("{}: there can be no file for what the job prints (--live)", root.display())
        })?;
        let has_errors = io::stderr().is_terminal();
        Ok(Self { folder, remove, output: output.into_temp_path(), has_errors })
    }

    /// Is there a terminal to draw on?
    ///
    /// # Errors
    /// Standard output is no terminal.
    pub(crate) fn check() -> Result<()> {
        if !io::stdout().is_terminal() {
            bail!(
                "--live draws on a terminal, and standard output is no terminal; without --live, `mpi-tool top --once` or \
                 `mpi-tool top --json` say the same of a run with mpi-watch; nothing was started"
            );
        }
        Ok(())
    }

    /// Has the launcher write into the file instead of the terminal, and read an empty input instead of the terminal's.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub(crate) fn prepare(&self, command: &mut Command) -> io::Result<()> {
        command.stdout(self.open()?);
        if self.has_errors {
            command.stderr(self.open()?);
        }
        if io::stdin().is_terminal() {
            command.stdin(Stdio::null());
        }
        Ok(())
    }

    /// What is written into it comes behind what is there.
    fn open(&self) -> io::Result<File> {
        OpenOptions::new().append(true).open(&self.output)
    }

    /// Shows the job until the launcher `is_over`, in a thread of its own, and prints what it has printed.
    ///
    /// # Errors
    /// There is no thread.
    pub(crate) fn show(self, is_over: Arc<AtomicBool>) -> io::Result<JoinHandle<()>> {
        let show = move || {
            let diverted = self.divert();
            let shown = self.screen(&is_over);
            drop(diverted);
            if let Err(error) = &shown {
                errln!("mpi-tool: {error:#}; the job goes on");
            }
            if let Ok(End::Interrupt) = shown {
                // What the terminal does for this key when no screen is there: it reaches the launcher, too.
                let _ = kill_process_group(getpgrp(), Signal::INT);
            }
            if let Err(error) = self.follow(&is_over) {
                errln!("mpi-tool: {}: {error}; what the job prints is lost", self.output.display());
            }
            if self.remove {
                // Ranks that have finalized have removed their files; others' stay for `mpi-tool hang`.
                let _ = fs::remove_dir(&self.folder);
            }
        };
        thread::Builder::new().name("screen".into()).spawn(show)
    }

    /// Has what this process says come behind the screen, too.
    fn divert(&self) -> Option<Diverted> {
        if !self.has_errors {
            return None;
        }
        let before = rustix::io::dup(io::stderr()).ok()?;
        dup2_stderr(self.open().ok()?).ok()?;
        Some(Diverted(before))
    }

    fn screen(&self, is_over: &AtomicBool) -> Result<End> {
        let run = Run::in_folder(&self.folder)?;
        let options = as_usual();
        let mut eye = Eye::new(run, options.window);
        screen::run(&mut eye, &options, Some(&Job { is_over, output: &self.output }))
    }

    /// Prints what the job has printed, and what it still prints.
    fn follow(&self, is_over: &AtomicBool) -> io::Result<()> {
        let (mut output, mut out) = (File::open(&self.output)?, io::stdout());
        loop {
            let was_over = is_over.load(Relaxed);
            io::copy(&mut output, &mut out)?;
            out.flush()?;
            if was_over {
                return Ok(());
            }
            sleep(PAUSE);
        }
    }
}

/// What the screen has to know of the job.
pub(super) struct Job<'a> {
    /// Has the launcher ended?
    pub(super) is_over: &'a AtomicBool,
    /// Where what it prints is.
    pub(super) output: &'a Path,
}

/// Standard error as it was before.
struct Diverted(OwnedFd);

impl Drop for Diverted {
    fn drop(&mut self) {
        let _ = dup2_stderr(&self.0);
    }
}

/// What `mpi-tool top` does if nothing else is said.
fn as_usual() -> Top {
    #[derive(Parser)]
    struct Alone {
        #[command(flatten)]
        top: Top,
    }
    Alone::parse_from(["top"]).top
}
