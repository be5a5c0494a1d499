//! A run as scaling knows it: of a tool's report, or of a file of TALP.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::super::advice::{SHARED, preemptions};
use super::super::read::{Run, json};
use super::talp;

/// A run on some number of ranks.
#[derive(Debug)]
pub(super) struct Input {
    /// The file, as messages name it.
    pub(super) name: String,
    /// The tool that has written it, and its version, where it says so.
    pub(super) tool: String,
    pub(super) version: String,
    pub(super) ranks: u64,
    pub(super) clock: Clock,
    /// How long the run took, in seconds.
    pub(super) seconds: f64,
    /// How long it took with its start and its end, where that is more.
    pub(super) wall: Option<f64>,
    /// The useful time of all ranks together, in seconds.
    pub(super) useful: Option<f64>,
    pub(super) factors: Factors,
    pub(super) hosts: Option<u64>,
    /// The names of the hosts, sorted, where they are known.
    pub(super) host_names: Vec<String>,
    /// What a reader has to know of this run.
    pub(super) notes: Vec<Note>,
    /// The report, which has call sites and segments.
    pub(super) run: Option<Run>,
}

/// What a reader has to know of a run.
#[derive(Debug)]
pub(super) struct Note {
    pub(super) about: About,
    /// Of several runs with such a note, the one is told with the greatest weight.
    pub(super) weight: f64,
    pub(super) text: String,
}

/// What a note is about. Where several runs have a note of one kind, one of them is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum About {
    NoUsefulTime,
    IdleRank,
    Lost,
    Preempted,
    Threads,
}

impl Note {
    pub(super) fn new(about: About, text: String) -> Self {
        Self { about, weight: 0.0, text }
    }

    /// A sentence for each kind of notes of some runs.
    pub(super) fn sentences<'a>(notes: impl Iterator<Item = &'a Self>) -> Vec<String> {
        let mut by_kind: BTreeMap<About, (&Self, usize)> = BTreeMap::new();
        for note in notes {
            let (told, count) = by_kind.entry(note.about).or_insert((note, 0));
            *count += 1;
            if note.weight > told.weight {
                *told = note;
            }
        }
        let sentence = |(note, count): (&Self, usize)| match count {
            1 => note.text.clone(),
            2 => format!("{}; the same holds of 1 more report", note.text),
            count => format!("{}; the same holds of {} more reports", note.text, count - 1),
        };
        by_kind.into_values().map(sentence).collect()
    }
}

/// What the times are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Clock {
    /// From the end of MPI_Init to the call of MPI_Finalize.
    Active,
    /// All of the run, as reports of earlier versions have it.
    Wall,
    /// Of TALP's region of the whole program.
    Elapsed,
}

impl Clock {
    /// What it is, for people.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Active => {
                "times are active times: from the end of MPI_Init to the call of MPI_Finalize, of the rank for which that is longest"
            }
            Self::Wall => {
                "times are wall times with start and end, since an earlier version of the tool wrote these reports"
            }
            Self::Elapsed => "times are TALP's elapsed times of its region of the whole program",
        }
    }
}

/// POP's factors of the parallel efficiency, where they are known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Factors {
    pub(super) parallel: Option<f64>,
    pub(super) load_balance: Option<f64>,
    pub(super) communication: Option<f64>,
}

/// What a run can take, in seconds: a nanosecond to thirty years. Numbers beyond that are no times.
pub(super) const TIMES: std::ops::RangeInclusive<f64> = 1e-9..=1e9;

/// How much numbers of one report may contradict each other: by rounding.
const ROUNDING: f64 = 1e-6;

impl Input {
    /// Reads runs.
    ///
    /// # Errors
    /// One cannot be read, is not of all ranks, has no times, or is there twice.
    pub(super) fn read(paths: &[PathBuf]) -> Result<Vec<Self>> {
        let mut known = BTreeMap::new();
        let mut inputs = Vec::new();
        for path in paths {
            let (input, digest) = Self::one(path)?;
            if let Some(other) = known.insert(digest, input.name.clone()) {
                bail!("{other} and {} are the same report: give each run once", input.name);
            }
            inputs.push(input);
        }
        Ok(inputs)
    }

    /// Reads a run, and makes a digest of what tells it from others.
    fn one(path: &Path) -> Result<(Self, Vec<u8>)> {
        let (name, value) = json(path)?;
        if talp::is(&value) {
            let digest = Sha256::digest(value.to_string());
            return Ok((talp::read(name, &value)?, digest.to_vec()));
        }
        // A page of a report has source lines, too, but is of the same run. Times in nanoseconds are never equal by chance.
        let times = ["ranks", "wall", "inside", "useful"].map(|field| value[field].to_string());
        let digest = Sha256::digest(times.join(" "));
        Ok((Self::of_run(Run::of(name, value)?)?, digest.to_vec()))
    }

    /// A tool's report.
    pub(super) fn of_run(mut run: Run) -> Result<Self> {
        // All that is needed is in the table, and there may be many large reports.
        run.value = Value::Null;
        let (name, table) = (run.name.clone(), &run.table);
        if !table.complete {
            let reason = table.reason.as_deref().unwrap_or("it does not say why");
            bail!(
                "{name} is not of all ranks ({reason}): scaling needs the report that a program writes when all of its ranks call \
                 MPI_Finalize"
            );
        }
        let Some(ranks) = table.ranks.filter(|ranks| *ranks > 0) else {
            bail!("{name} does not say how many ranks it is of");
        };
        let clock = if table.active.is_some() { Clock::Active } else { Clock::Wall };
        let seconds = time(&name, table.active().most / 1e9)?;
        let mut notes = Vec::new();
        let mut useful = None;
        let mut factors = Factors::default();
        match table.useful.as_ref().filter(|useful| useful.most >= 1.0 && useful.sum >= 1.0) {
            None => notes.push(Note::new(About::NoUsefulTime, format!(
                "{name} has no useful time of its ranks, so its efficiencies are unknown (an earlier version of the tool wrote it, or \
                 several threads of a rank were in MPI at the same time)"
            ))),
            Some(of) => {
                let (most, mean) = (of.most / 1e9, of.sum / 1e9 / ranks as f64);
                let beyond = 1.0 + ROUNDING;
                if mean > most * beyond || most > seconds * beyond {
                    bail!("{name} contradicts itself: its useful time is {mean} s in the mean of its ranks, {most} s at most, and \
                           its time {seconds} s");
                }
                if of.least <= 0.0 {
                    notes.push(Note::new(About::IdleRank, format!(
                        "the efficiencies of {name} are not known: several threads of rank {} were in MPI at the same time",
                        of.least_rank
                    )));
                } else {
                let (load_balance, communication) = (mean / most, most / seconds);
                useful = Some(of.sum / 1e9);
                factors = Factors {
                    parallel: Some(load_balance * communication),
                    load_balance: Some(load_balance),
                    communication: Some(communication),
                };
                }
            }
        }
        if table.lost > 0 {
            notes.push(Note::new(
                About::Lost,
                format!(
                    "{} {} of {name} could not be counted: no memory",
                    table.lost, table.events
                ),
            ));
        }
        if let Some((rank, rate)) = preemptions(table).filter(|(_, rate)| *rate >= SHARED) {
            let text = format!(
                "in {name}, processors are shared: rank {rank} lost its own, or gave it up while it waited, {rate:.0} times a second \
                 (more processes than cores?); what that costs is in these numbers"
            );
            notes.push(Note { about: About::Preempted, weight: rate, text });
        }
        let mut host_names: Vec<_> = table.hosts.iter().map(|host| host.name.clone()).collect();
        host_names.sort();
        Ok(Self {
            tool: table.tool.clone(),
            version: table.version.clone(),
            ranks,
            clock,
            seconds,
            wall: Some(table.wall.most / 1e9).filter(|wall| TIMES.contains(wall)),
            useful,
            factors,
            hosts: (!host_names.is_empty()).then_some(host_names.len() as u64),
            host_names,
            notes,
            name,
            run: Some(run),
        })
    }

    /// How many seconds went to start and end.
    pub(super) fn outside(&self) -> Option<f64> {
        self.wall.filter(|_| self.clock == Clock::Active).map(|wall| (wall - self.seconds).max(0.0))
    }
}

/// A time that a run can take.
pub(super) fn time(name: &str, seconds: f64) -> Result<f64> {
    if !TIMES.contains(&seconds) {
        bail!("{name} says that its run took {seconds:e} s: speedup is not known of that");
    }
    Ok(seconds)
}
