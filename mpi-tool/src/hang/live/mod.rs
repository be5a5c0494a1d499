//! `mpi-tool top`: what the ranks of a running job do, by many looks at the state files of `mpi-watch`.
//!
//! * `sample.rs`: all ranks at one moment. `window.rs`: the samples of the last seconds, and what comes out.
//! * `filter.rs`: which ranks are shown. `text.rs`, `json.rs`: what is printed. `screen.rs`: the same on a terminal, with keys.
//! * `record.rs`: all samples of a run, added up: a profile.
//! * `serve.rs`, `token.rs`: the same for Prometheus, by HTTP. `job.rs`: a job that is started for it.

mod filter;
mod job;
mod json;
mod record;
mod sample;
mod screen;
mod serve;
mod text;
mod token;
mod window;

use std::fs;
use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use rustix::time::{ClockId, clock_gettime};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::find::Run;
use crate::cli::{Metrics, Top};
use crate::out::{errln, print};
use crate::report::symbols::Symbols;
use crate::supervised::not_ignored;
pub(crate) use filter::Filter;
pub(crate) use job::Live;
use record::Record;
use sample::Sample;
use serve::Server;
use token::Token;
use window::{Summary, Window};

/// How often a run is looked at, at most, on average.
const PAUSE: Duration = Duration::from_millis(20);
/// Multiples of it, without what is in front of the point, are spread evenly, and come in no order.
const GOLDEN: f64 = 0.618_033_988_749_895;
/// Looking takes at most one of so many parts of a processor's time.
const PART: u32 = 5;

/// Looks at a run again and again.
struct Eye {
    run: Run,
    window: Window,
    next: Instant,
    /// From 0 to 1: which part of the pause is taken.
    turn: f64,
    record: Option<Record>,
    /// A signal asks for the end.
    is_asked: Arc<AtomicBool>,
}

impl Eye {
    fn new(run: Run, length: Duration) -> Self {
        let (next, is_asked) = (Instant::now(), Arc::default());
        Self { run, window: Window::new(length), next, turn: 0.0, record: None, is_asked }
    }

    /// Keeps all samples in a file. A signal that asks for the end is obeyed when they are there.
    fn recording(mut self, file: &Path) -> Result<Self> {
        self.record = Some(Record::new(file.to_owned())?);
        for signal in not_ignored([SIGINT, SIGTERM, SIGHUP]) {
            signal_hook::flag::register(signal, Arc::clone(&self.is_asked))?;
        }
        Ok(self)
    }

    /// Writes the last samples.
    fn finish(&mut self) -> Result<()> {
        let Some(record) = &mut self.record else { return Ok(()) };
        record.write()?;
        if record.is_empty() {
            bail!("the run was over before it was looked at: there are no samples of it");
        }
        Ok(())
    }

    /// Looks once. Is there still anything to see?
    fn look(&mut self) -> bool {
        if self.is_asked.load(Relaxed) {
            return false;
        }
        let (begin, before) = (Instant::now(), spent());
        // Ranks that have started meanwhile have files, too.
        if let Ok(run) = Run::in_folder(&self.run.folder) {
            self.run = run;
        }
        let sample = Sample::of(&self.run);
        // Looks at equal distances would find a program whose steps are as regular at the same few places each time.
        self.turn = (self.turn + GOLDEN).fract();
        let pause = PAUSE.max(spent().saturating_sub(before) * PART).max(begin.elapsed());
        self.next = begin + pause.mul_f64(0.5 + self.turn);
        if sample.worlds.is_empty() || sample.is_over() {
            return false;
        }
        if let Some(record) = &mut self.record {
            record.add(&sample);
            // What cannot be written now is told at the end, if it cannot be written then.
            let _ = record.keep();
        }
        self.window.push(sample);
        true
    }

    /// Looks for so long, but twice at least, or until there is nothing more to see.
    fn look_for(&mut self, length: Duration) {
        let end = Instant::now() + length;
        while self.look() && (Instant::now() < end || self.window.len() < 2) {
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

/// How much of a processor's time this thread has had.
fn spent() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

impl Top {
    pub(crate) fn run(&self) -> Result<()> {
        if self.window < Duration::from_millis(100) || self.every < Duration::from_millis(50) {
            bail!("--window must be at least 100ms, and --every at least 50ms");
        }
        let is_served = matches!(self.openmetrics, Some(Metrics::Port(_)));
        if is_served && self.once {
            bail!(
                "--once prints and ends, so nobody could ask at a port; leave it out, or name a file"
            );
        }
        if self.token.is_some() && !is_served {
            bail!("--token is for --openmetrics PORT; a file is read by whoever may read it");
        }
        let run = Run::find(self.run.as_deref())?;
        let mut eye = Eye::new(run, self.window);
        if let Some(file) = &self.record {
            eye = eye.recording(file)?;
        }
        let shown = self.show(&mut eye);
        eye.finish().and(shown)
    }

    fn show(&self, eye: &mut Eye) -> Result<()> {
        let mut symbols = Symbols::default();
        if self.once {
            eye.look_for(self.window);
            return self.tell(eye.summary(), &mut symbols);
        }
        if let Some(Metrics::Port(port)) = self.openmetrics {
            let server = self.serve(port)?;
            return self.repeat(eye, |summary| {
                server.set(&json::openmetrics(&self.shown(summary, &mut symbols)));
                Ok(())
            });
        }
        if io::stdout().is_terminal() && !self.json && self.openmetrics.is_none() {
            return screen::run(eye, self, None).map(drop);
        }
        let is_silent = self.record.is_some() && !self.json && self.openmetrics.is_none();
        self.repeat(
            eye,
            |summary| if is_silent { Ok(()) } else { self.tell(summary, &mut symbols) },
        )
    }

    /// Tells what there is each time, until the run is over.
    fn repeat(&self, eye: &mut Eye, mut tell: impl FnMut(Summary) -> Result<()>) -> Result<()> {
        let mut next = Instant::now() + self.every;
        while eye.look() {
            if Instant::now() >= next {
                tell(eye.summary())?;
                next = Instant::now() + self.every;
            }
            sleep(eye.rest());
        }
        Ok(())
    }

    /// Answers at a port from now on.
    fn serve(&self, port: u16) -> Result<Server> {
        let mut file = self.token.clone();
        let server = Server::start(port, |port| {
            let path = file.take().map_or_else(|| token::file_of(port), Ok)?;
            let token = Token::of_file(&path);
            file = Some(path);
            token
        })?;
        errln!(
            "mpi-tool: serving http://127.0.0.1:{}/metrics to requests with the token in {}",
            server.port,
            file.unwrap_or_default().display()
        );
        Ok(server)
    }

    /// What is left of it by the filter.
    fn shown(&self, mut summary: Summary, symbols: &mut Symbols) -> Summary {
        self.filter.apply(&mut summary, symbols);
        summary
    }

    fn tell(&self, summary: Summary, symbols: &mut Symbols) -> Result<()> {
        if summary.worlds.is_empty() {
            bail!("the run is over");
        }
        let summary = self.shown(summary, symbols);
        if let Some(Metrics::File(path)) = &self.openmetrics {
            return replace(path, &json::openmetrics(&summary));
        }
        if self.json {
            return print(format!("{}\n", json::of(&summary, symbols)));
        }
        print(text::of(&summary, self.sort, self.top, symbols))
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
