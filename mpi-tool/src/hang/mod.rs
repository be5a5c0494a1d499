//! `mpi-tool hang`: which rank hangs, where, and whom it waits for, by the state files of `mpi-watch`.
//!
//! * `find.rs`: which run. `file.rs`: what a file says. `process.rs`: what the kernel says of its process.
//! * `reading.rs`: all ranks at two moments, and what has moved in between.
//! * `convert.rs`, `graph/needs.rs`: whom each rank waits for. `graph.rs`: the verdict.
//! * `unseen.rs`: which ranks are not seen, and why. `worlds.rs`: what is known of ranks of other worlds. `text.rs`, `json.rs`, `picture.rs`: what is printed.
//! * `live`: what the ranks do, over the last seconds (`mpi-tool top`).
//! * `attach`: the same question for a job that was started without the tool.
//! * `guard.rs`: says by itself that nothing moves, and ends the launcher if that is wanted. `hook.rs`: the user's command for that.

mod attach;
mod convert;
mod file;
mod find;
mod graph;
mod guard;
mod hook;
mod json;
mod live;
mod picture;
mod process;
mod reading;
mod text;
mod unseen;
mod worlds;

use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use crate::cli::{Clean, Hang};
use crate::out::{outln, print};
use crate::report::symbols::Symbols;
use find::Run;
pub(crate) use live::{Filter, Live};
pub(crate) use process::parent;
pub(crate) use text::list;

impl Hang {
    pub(crate) fn run(&self) -> Result<()> {
        if let Some(pids) = &self.attach {
            return attach::run(self, pids);
        }
        if self.run.iter().any(|run| Path::new(run).is_file()) {
            return attach::together(self, &self.run);
        }
        if self.watch {
            return self.repeat();
        }
        let run = self.find()?;
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
            text::of(&reading, &mut symbols, self.top) + &over_time(&run, &reading, &mut symbols)
        };
        print(&printed)?;
        symbols.complain();
        Ok(())
    }

    /// The run that is meant.
    fn find(&self) -> Result<Run> {
        if let [_, second, ..] = &self.run[..] {
            bail!(
                "{second}: one run is told about at a time; only files of `mpi-tool hang --attach --dump` can be several"
            );
        }
        Run::find(self.run.first().map(String::as_str))
    }

    /// Prints anew, once a second, until the run is over.
    fn repeat(&self) -> Result<()> {
        let run = self.find()?;
        let mut symbols = Symbols::default();
        let clear = if io::stdout().is_terminal() { "\x1b[H\x1b[2J" } else { "" };
        loop {
            let begin = Instant::now();
            let Ok(reading) = reading::brief(&run) else {
                print("the run is over\n")?;
                return Ok(());
            };
            let text = text::of(&reading, &mut symbols, self.top);
            if reading.is_past() {
                return print(format!("{clear}{text}"));
            }
            // Of ranks that move, this takes the second until the next time.
            let causes = over_time(&run, &reading, &mut symbols);
            print(format!("{clear}{text}{causes}"))?;
            sleep(Duration::from_secs(1).saturating_sub(begin.elapsed()));
        }
    }
}

/// For whom ranks wait that move, of which two moments say nothing: lines.
fn over_time(run: &Run, reading: &reading::Reading, symbols: &mut Symbols) -> String {
    let stands = |world: &reading::World| world.verdict.kind == graph::Kind::Deadlock;
    if reading.worlds.iter().any(stands) || !reading.worlds.iter().any(reading::World::moves) {
        return String::new();
    }
    live::causes(run, Duration::from_secs(1), symbols)
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
            let others = run.no_room.iter().chain(&run.left).chain(&run.guards);
            for file in run.files.iter().chain(&run.shared).chain(others) {
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
