//! `mpi-tool trace`: what the files of `mpi-trace` say, and the same for other programs.
//!
//! * `read.rs`: the files. `whole.rs`: whether they are of a whole run. `gaps.rs`: what is not in them. `messages.rs`: which receive has got which send. `clocks.rs`: one time for all hosts. `polls.rs`: loops that wait for messages. `waits.rs`: who waits for whom. `causes.rs`: why.
//!   `path.rs`: what the run's length consists of. `efficiency.rs`: how much of it is computing, and what the rest is lost by.
//! * `section.rs`: what stands in a profile's report of it.
//! * `text.rs`, `csv.rs`, `json.rs`, `sqlite.rs`, `perfetto.rs`, `html/`, `otf2/`, `ti.rs`: what is written.

mod causes;
mod clocks;
mod csv;
mod efficiency;
mod gaps;
mod html;
mod json;
mod messages;
mod otf2;
mod path;
mod perfetto;
mod polls;
mod read;
pub(crate) mod section;
mod sqlite;
mod text;
mod ti;
mod waits;
mod whole;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write};
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use crate::cli::{Trace, TraceFormat};
use crate::out::{errln, leave};
use messages::Messages;

/// Reads a run: its calls, by one clock, and its messages.
fn read(runs: &[PathBuf]) -> Result<(read::Trace, Messages)> {
    let mut trace = read::Opened::open(runs)?.read()?;
    let mut messages = Messages::of(&trace);
    clocks::correct(&mut trace, &mut messages);
    polls::find(&mut trace, &messages);
    Ok((trace, messages))
}

/// What is found out about a run: who waits for whom, why, and how much of its time is computing.
struct Found {
    waits: Vec<waits::Wait>,
    causes: causes::Causes,
    efficiency: Option<efficiency::Efficiency>,
    /// Why there is no efficiency, and no critical path.
    untold: Option<String>,
}

impl Found {
    fn of(trace: &read::Trace, messages: &Messages) -> Self {
        let (operations, waits, causes) = waits_and_causes(trace, messages);
        let efficiency = efficiency::Efficiency::of(trace, messages, &operations);
        Self { waits, causes, efficiency, untold: whole::untold(trace) }
    }
}

/// Who waits for whom, and why, and the operations of several ranks by which that is found.
fn waits_and_causes(
    trace: &read::Trace,
    messages: &Messages,
) -> (Vec<waits::Operation>, Vec<waits::Wait>, causes::Causes) {
    let operations = waits::operations(trace);
    let waits = waits::of_operations(trace, messages, &operations);
    let causes = causes::Causes::of(trace, messages, &operations, &waits);
    (operations, waits, causes)
}

impl Trace {
    pub(crate) fn run(&self) -> Result<()> {
        let format = if self.html { TraceFormat::Html } else { self.to };
        if format == TraceFormat::Csv {
            // One by one, if no clocks must be put right, for which all messages are needed.
            let opened = read::Opened::open(&self.runs)?;
            if opened.hosts() == 1 {
                whole::absent_in(&opened).iter().for_each(|what| errln!("mpi-tool: {what}"));
                let calls = read::Stream::of(&opened)?;
                return self.written(|out| csv::write(out, calls));
            }
        }
        let (trace, messages) = read(&self.runs)?;
        let says_clocks = matches!(format, TraceFormat::Text | TraceFormat::Html);
        if !says_clocks {
            let clocks = text::clocks(&trace);
            whole::warnings(&trace).into_iter().chain(clocks).for_each(|what| {
                errln!("mpi-tool: {what}");
            });
        }
        if format == TraceFormat::Sqlite {
            let Some(path) = &self.output else {
                bail!("a database is written to a file: add -o trace.sqlite")
            };
            return sqlite::write(path, &trace, &messages);
        }
        if let TraceFormat::Otf2 | TraceFormat::Ti = format {
            return self.folder(format, &trace, &messages);
        }
        self.written(|out| match format {
            TraceFormat::Html => html::write(out, &trace, &messages, &Found::of(&trace, &messages)),
            TraceFormat::Text => {
                let found = Found::of(&trace, &messages);
                let text = text::of(&trace, &messages, &found, self.top);
                out.write_all(text.as_bytes()).map_err(Into::into)
            }
            TraceFormat::Csv => csv::write(out, csv::sorted(&trace)),
            TraceFormat::Json => json::write(out, &trace, &messages, &Found::of(&trace, &messages)),
            TraceFormat::Perfetto => perfetto::write(out, &trace, &messages),
            TraceFormat::Otf2 | TraceFormat::Ti | TraceFormat::Sqlite => {
                unreachable!("they are not written as a stream")
            }
        })
    }

    /// Opens the file that was asked for, or standard output, and has it written.
    fn written(&self, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        let mut out: Box<dyn Write> = match &self.output {
            Some(path) => {
                let file = File::create(path)
                    .with_context(|| format!("{}: cannot write it", path.display()))?;
                Box::new(BufWriter::new(file))
            }
            None if self.to == TraceFormat::Perfetto && io::stdout().is_terminal() => {
                bail!("a Perfetto trace is not for terminals: name a file with -o")
            }
            None => Box::new(Piped(io::stdout().lock())),
        };
        write(&mut out).and_then(|()| out.flush().map_err(Into::into)).with_context(|| {
            let path = self.output.as_ref().map(|path| path.display().to_string());
            format!("{}: cannot write it", path.as_deref().unwrap_or("standard output"))
        })
    }
}

impl Trace {
    /// What is a folder with several files.
    fn folder(&self, format: TraceFormat, trace: &read::Trace, messages: &Messages) -> Result<()> {
        let Some(folder) = &self.output else {
            bail!("this format is a folder with several files: name it with -o")
        };
        if format == TraceFormat::Otf2 {
            return otf2::write(folder, trace, messages);
        }
        for what in ti::write(folder, trace, messages)? {
            errln!("mpi-tool: {what}");
        }
        Ok(())
    }
}

/// Standard output. A reader that has seen enough ends the program.
struct Piped(StdoutLock<'static>);

impl Write for Piped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).inspect_err(|error| leave(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().inspect_err(|error| leave(error))
    }
}
