//! `mpi-tool top`: what the ranks of a running job do, by many looks at the state files of `mpi-watch`.
//!
//! * `sample.rs`: all ranks at one moment. `window.rs`: the samples of the last seconds, and what comes out.
//! * `text.rs`, `json.rs`: what is printed. `screen.rs`: the same on a terminal, with keys.

mod json;
mod sample;
mod screen;
mod text;
mod window;

use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::find::Run;
use crate::cli::Top;
use crate::out::print;
use crate::report::symbols::Symbols;
use sample::Sample;
use window::{Summary, Window};

/// How often a run is looked at, at most.
const PAUSE: Duration = Duration::from_millis(20);
/// Looking takes at most one of so many parts of a processor's time.
const PART: u32 = 5;

/// Looks at a run again and again.
struct Eye {
    run: Run,
    window: Window,
    next: Instant,
}

impl Eye {
    fn new(run: Run, length: Duration) -> Self {
        Self { run, window: Window::new(length), next: Instant::now() }
    }

    /// Looks once. Is there still anything to see?
    fn look(&mut self) -> bool {
        let begin = Instant::now();
        // Ranks that have started meanwhile have files, too.
        if let Ok(run) = Run::in_folder(&self.run.folder) {
            self.run = run;
        }
        let sample = Sample::of(&self.run);
        self.next = begin + PAUSE.max(begin.elapsed() * PART);
        if sample.worlds.is_empty() || sample.is_over() {
            return false;
        }
        self.window.push(sample);
        true
    }

    /// Looks for so long, or until there is nothing more to see.
    fn look_for(&mut self, length: Duration) {
        let end = Instant::now() + length;
        while self.look() && Instant::now() < end {
            sleep(self.rest());
        }
    }

    /// Until it is to look again.
    fn rest(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    fn summary(&self) -> Summary {
        self.window.summary()
    }
}

impl Top {
    pub(crate) fn run(&self) -> Result<()> {
        if self.window < Duration::from_millis(100) || self.every < Duration::from_millis(50) {
            bail!("--window must be at least 100ms, and --every at least 50ms");
        }
        let run = Run::find(self.run.as_deref())?;
        let mut eye = Eye::new(run, self.window);
        if self.once {
            eye.look_for(self.window);
            return self.tell(&eye.summary(), &mut Symbols::default());
        }
        let is_screen = io::stdout().is_terminal() && !self.json && self.openmetrics.is_none();
        if is_screen { screen::run(&mut eye, self) } else { self.repeat(&mut eye) }
    }

    /// Tells what there is each time, until the run is over.
    fn repeat(&self, eye: &mut Eye) -> Result<()> {
        let mut symbols = Symbols::default();
        let mut tell = Instant::now() + self.every;
        while eye.look() {
            if Instant::now() >= tell {
                self.tell(&eye.summary(), &mut symbols)?;
                tell = Instant::now() + self.every;
            }
            sleep(eye.rest());
        }
        Ok(())
    }

    fn tell(&self, summary: &Summary, symbols: &mut Symbols) -> Result<()> {
        if summary.worlds.is_empty() {
            bail!("the run is over");
        }
        if let Some(path) = &self.openmetrics {
            return replace(path, &json::openmetrics(summary));
        }
        if self.json {
            return print(format!("{}\n", json::of(summary, symbols)));
        }
        print(text::of(summary, self.sort, self.top, symbols))
    }
}

/// Looks at a run for a while, and says who waits for whom: lines.
pub(super) fn causes(run: &Run, length: Duration, symbols: &mut Symbols) -> String {
    let mut eye = Eye::new(run.clone(), length);
    eye.look_for(length);
    let summary = eye.summary();
    summary.worlds.values().map(|world| text::causes(&summary, world, symbols)).collect()
}

/// Replaces a file at once: a reader gets the old contents or the new ones, never a part.
fn replace(path: &Path, text: &str) -> Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    let written = tempfile::NamedTempFile::new_in(folder).and_then(|file| {
        fs::write(file.path(), text)?;
        // Others read it: node_exporter has a user of its own.
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        fs::set_permissions(file.path(), mode)?;
        file.persist(path).map(drop).map_err(|error| error.error)
    });
    written.with_context(|| format!("{}: cannot be written", path.display()))
}
