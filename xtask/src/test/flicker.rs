//! Finds tests that flicker.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use clap::Args;

use super::results::Results;
use super::round::{Build, Round, build_of};
use crate::environment;
use crate::step::step;

/// Run tests again and again until one of them fails: beside busy processes, and on one processor and on all
#[derive(Args)]
pub(crate) struct Flicker {
    /// The test program, such as lifecycle
    suite: String,
    /// Only tests whose names have this in them
    name: Option<String>,
    /// Under which MPI
    #[arg(long, default_value = "mpich", value_parser = environment::names())]
    mpi: String,
    /// For how long
    #[arg(long, default_value_t = 10)]
    minutes: u64,
}

/// How a turn disturbs the tests: busy processes beside them, and on which processors all run.
const TURNS: [(&str, usize, Option<&str>); 4] = [
    ("as always", 0, None),
    ("beside two busy processes", 2, None),
    ("on one processor", 0, Some("0")),
    ("on the last processor, beside a busy process", 1, Some("last")),
];

impl Flicker {
    pub(crate) fn run(self) -> Result<()> {
        let mpi = environment::named(&self.mpi)?;
        let build = build_of(&self.suite).unwrap_or(Build::Neutral);
        let name = self.name.as_deref().map_or("all()".to_owned(), |name| format!("test({name})"));
        let filter = format!("binary(={}) & {name}", self.suite);
        let start = Instant::now();
        let mut turns = 0;
        for (how, busy, processor) in TURNS.iter().cycle() {
            if start.elapsed() > Duration::from_secs(60 * self.minutes) {
                break;
            }
            let mut round = Round::of(build, &mpi, &filter)?;
            round.title = format!("{}, {how}", self.suite);
            let last = std::thread::available_parallelism()?.get() - 1;
            if let Some(processor) = processor {
                let processor = if *processor == "last" { last.to_string() } else { "0".into() };
                round.on_processor(&processor);
            }
            let _busy: Vec<_> = (0..*busy).map(|_| Busy::start()).collect::<Result<_>>()?;
            let mut results = Results::default();
            round.run(&[], &mut results);
            turns += 1;
            if results.tests.is_empty() {
                bail!("no test of {} has this name", self.suite);
            }
            if results.has_failed() {
                step(&format!("Turn {turns}, {how}"), || results.end(start.elapsed()))?;
            }
        }
        println!("{}: the same in {turns} turns", self.suite);
        Ok(())
    }
}

/// A process that takes a processor, until it is dropped.
struct Busy(Child);

impl Busy {
    fn start() -> Result<Self> {
        let mut busy = Command::new("sh");
        Ok(Self(busy.args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn()?))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
