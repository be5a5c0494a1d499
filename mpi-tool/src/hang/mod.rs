//! `mpi-tool hang`: which rank hangs, where, and whom it waits for, by the state files of `mpi-watch`.
//!
//! * `find.rs`: which run. `file.rs`: what a file says. `process.rs`: what the kernel says of its process.
//! * `reading.rs`: all ranks at two moments, and what has moved in between.
//! * `convert.rs`, `graph.rs`: whom each rank waits for, and the verdict.
//! * `text.rs`, `json.rs`, `picture.rs`: what is printed.

mod convert;
mod file;
mod find;
mod graph;
mod json;
mod picture;
mod process;
mod reading;
mod text;

use std::env;
use std::fs::{self, DirBuilder};
use std::io::{self, IsTerminal as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::cli::{Clean, Guard, Hang};
use crate::out::{outln, print};
use crate::report::symbols::Symbols;
use find::Run;

impl Hang {
    pub(crate) fn run(&self) -> Result<()> {
        if self.watch {
            return self.repeat();
        }
        let run = Run::find(self.run.as_deref())?;
        let mut symbols = Symbols::default();
        let reading = reading::settled(&run)?;
        if let Some(path) = &self.svg {
            fs::write(path, picture::of(&reading, &mut symbols))
                .with_context(|| format!("{}: cannot write the picture", path.display()))?;
        }
        let printed = if self.json {
            let value = json::of(&reading, &mut symbols);
            serde_json::to_string_pretty(&value)? + "\n"
        } else {
            text::of(&reading, &mut symbols, self.top)
        };
        print(&printed)?;
        symbols.complain();
        Ok(())
    }

    /// Prints anew, once a second, until the run is over.
    fn repeat(&self) -> Result<()> {
        let run = Run::find(self.run.as_deref())?;
        let mut symbols = Symbols::default();
        let clear = if io::stdout().is_terminal() { "\x1b[H\x1b[2J" } else { "" };
        loop {
            let Ok(reading) = reading::brief(&run) else {
                print("the run is over\n")?;
                return Ok(());
            };
            print(format!("{clear}{}", text::of(&reading, &mut symbols, self.top)))?;
            if reading.is_past() {
                return Ok(());
            }
            sleep(Duration::from_secs(1));
        }
    }
}

impl Clean {
    pub(crate) fn run(&self) -> Result<()> {
        let mut runs = match &self.run {
            Some(folder) => vec![Run::in_folder(folder)?],
            None => Run::all()?,
        };
        runs.retain(|run| {
            let is_empty = run.files.is_empty() && run.shared.is_empty();
            !is_empty && reading::is_stale(run) && !run.shares_memory()
        });
        if runs.is_empty() {
            outln!("there are no folders of runs that are over");
        }
        for run in runs {
            outln!(
                "{}{}",
                if self.dry_run { "would remove " } else { "removed " },
                run.folder.display()
            );
            if self.dry_run {
                continue;
            }
            for file in run.files.iter().chain(&run.shared) {
                fs::remove_file(file).with_context(|| file.display().to_string())?;
            }
            // What is not ours stays, and the folder with it.
            if let Err(error) = fs::remove_dir(&run.folder) {
                bail!("{}: {error}", run.folder.display());
            }
        }
        Ok(())
    }
}

impl Guard {
    /// Watches until the launcher has ended, and reports once if nothing moves for long.
    pub(crate) fn run(&self) -> Result<()> {
        let mut moved = (Instant::now(), Vec::new());
        let mut is_told = false;
        let started = process::started(self.launcher);
        while started.is_some() && process::started(self.launcher) == started {
            sleep(Duration::from_millis(250));
            let Ok(run) = Run::in_folder(&self.folder) else { continue };
            let calls = reading::calls(&run);
            if calls.is_empty() || calls != moved.1 {
                moved = (Instant::now(), calls);
                continue;
            }
            if is_told || moved.0.elapsed().as_secs() < self.after {
                continue;
            }
            let mut symbols = Symbols::default();
            let Ok(reading) = reading::settled(&run) else { continue };
            is_told = true;
            let after = self.after;
            let text = text::of(&reading, &mut symbols, 20);
            eprint!("mpi-tool: no rank has made an MPI call for {after} s\n{text}");
            if self.kill {
                eprintln!("mpi-tool: ending the launcher (--kill)");
                let _ = Command::new("kill").arg(self.launcher.to_string()).status();
            }
        }
        if self.remove {
            // Ranks that have finalized have removed their files; others' stay for `mpi-tool hang`.
            let _ = fs::remove_dir(&self.folder);
        }
        Ok(())
    }

    /// Starts the guard as a process that is nobody's child, since this one becomes the launcher.
    pub(crate) fn start(&self) -> Result<()> {
        let program = env::current_exe().context("cannot find this program")?;
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", r#""$0" "$@" &"#]).arg(program).arg("guard").arg(&self.folder);
        shell.args([self.launcher.to_string(), self.after.to_string()]);
        shell.args(self.kill.then_some("--kill"));
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
