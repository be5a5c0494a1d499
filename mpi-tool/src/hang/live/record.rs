//! `--record FILE`: the samples of the whole run, added up: a profile for `mpi-tool report`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;

use super::json::word;
use super::replace;
use super::sample::{Call, How, Sample};
use crate::report::samples::{self, SCHEMA, Samples};
use crate::report::symbols::{Frame, Symbols};

/// How often the file is brought up to date: who is killed has lost no more than that.
const OFTEN: Duration = Duration::from_secs(10);

pub(super) struct Record {
    path: PathBuf,
    begun: SystemTime,
    /// The first look and the last one.
    times: Option<(Instant, Instant)>,
    looks: u64,
    worlds: BTreeMap<String, World>,
    symbols: Symbols,
    written: Instant,
}

#[derive(Default)]
struct World {
    size: u32,
    program: String,
    unseen: Option<String>,
    ranks: BTreeMap<u32, Rank>,
    /// At how many looks each rank was found there.
    places: BTreeMap<(How, Call), BTreeMap<u32, u64>>,
}

#[derive(Default)]
struct Rank {
    host: String,
    in_mpi: u64,
    outside: u64,
    stopped: u64,
    waiting: u64,
    waits: BTreeMap<u32, u64>,
    calls: Option<[u64; 2]>,
}

impl Record {
    /// Into a file, which is made at once: one that cannot be written is told before anything is lost.
    pub(super) fn new(path: PathBuf) -> Result<Self> {
        let mut record = Self {
            path,
            begun: SystemTime::now(),
            times: None,
            looks: 0,
            worlds: BTreeMap::new(),
            symbols: Symbols::default(),
            written: Instant::now(),
        };
        record.write()?;
        Ok(record)
    }

    pub(super) fn add(&mut self, sample: &Sample) {
        let first = self.times.map_or(sample.at, |(first, _)| first);
        self.times = Some((first, sample.at));
        self.looks += 1;
        for (name, found) in &sample.worlds {
            let world = self.worlds.entry(name.clone()).or_default();
            world.size = found.size;
            world.program.clone_from(&found.program);
            world.unseen.clone_from(&found.unseen);
            for (number, found) in &found.ranks {
                let rank = world.ranks.entry(*number).or_default();
                match found.how {
                    How::InMpi => rank.in_mpi += 1,
                    How::Outside => rank.outside += 1,
                    How::Stopped => rank.stopped += 1,
                    // Its time in the run is over.
                    How::Finalized | How::Gone => continue,
                }
                rank.host.clone_from(&found.host);
                let [first, _] = rank.calls.unwrap_or([found.calls; 2]);
                rank.calls = Some([first, found.calls]);
                rank.waiting += u64::from(!found.for_whom.is_empty());
                for whom in &found.for_whom {
                    *rank.waits.entry(*whom).or_default() += 1;
                }
                if let Some(call) = &found.call {
                    let place = (found.how, call.clone());
                    *world.places.entry(place).or_default().entry(*number).or_default() += 1;
                }
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.looks == 0
    }

    /// Brings the file up to date from time to time.
    pub(super) fn keep(&mut self) -> Result<()> {
        if self.written.elapsed() < OFTEN { Ok(()) } else { self.write() }
    }

    pub(super) fn write(&mut self) -> Result<()> {
        let text = serde_json::to_string(&self.samples())? + "\n";
        // The end counts from here, so that a slow file system is not written to all the time.
        let written = replace(&self.path, &text);
        self.written = Instant::now();
        written
    }

    fn samples(&mut self) -> Samples {
        let symbols = &mut self.symbols;
        let begun = self.begun.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let worlds = self.worlds.iter().map(|(name, world)| samples::World {
            world: name.clone(),
            program: world.program.clone(),
            size: world.size,
            unseen: world.unseen.clone(),
            ranks: world.ranks.iter().map(|(number, rank)| rank.told(*number)).collect(),
            places: world.places.iter().map(|(place, ranks)| told(place, ranks, symbols)).collect(),
        });
        Samples {
            schema: SCHEMA.into(),
            begun: begun.as_secs_f64(),
            seconds: self.times.map_or(0.0, |(first, last)| (last - first).as_secs_f64()),
            looks: self.looks,
            worlds: worlds.collect(),
        }
    }
}

impl Rank {
    fn told(&self, rank: u32) -> samples::Rank {
        let Self { in_mpi, outside, stopped, waiting, .. } = *self;
        samples::Rank {
            rank,
            host: self.host.clone(),
            looks: in_mpi + outside + stopped,
            in_mpi,
            outside,
            stopped,
            waiting,
            waits: self.waits.iter().map(|(whom, looks)| (*whom, *looks)).collect(),
            calls: self.calls.unwrap_or_default(),
        }
    }
}

fn told(
    (how, (function, site)): &(How, Call),
    ranks: &BTreeMap<u32, u64>,
    symbols: &mut Symbols,
) -> samples::Place {
    let frame = |frame: Frame| {
        let text = frame.short();
        let (file, line) = frame.line.unzip();
        samples::Frame { function: frame.function, file, line, text }
    };
    samples::Place {
        state: word(*how).into(),
        function: function.to_string(),
        site: symbols.of_site(site).into_iter().map(frame).collect(),
        ranks: ranks.iter().map(|(rank, looks)| (*rank, *looks)).collect(),
    }
}
