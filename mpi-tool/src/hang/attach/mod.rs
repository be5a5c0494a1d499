//! `mpi-tool hang --attach`: where the ranks of a job are that was started without any tool.
//!
//! * `find.rs`: which processes, and which job. `refused.rs`: why one cannot be looked at.
//! * `look.rs`: each thread at a moment. `trace.rs`: stops one that runs. `memory.rs`, `maps.rs`: what a process has.
//! * `x86_64.rs`: registers and system calls. `other.rs`: what stands in its place on other processors.
//! * `unwind.rs`: the functions that a thread is in, by tables of files (`image.rs`). `names.rs`: which are MPI's.
//! * `python.rs`: the Python functions among them.
//! * `seen.rs`: what two looks say. `text.rs`, `json.rs`: what is printed.

mod find;
mod image;
mod json;
mod look;
mod maps;
mod memory;
mod names;
#[cfg_attr(target_arch = "x86_64", path = "x86_64.rs")]
#[cfg_attr(not(target_arch = "x86_64"), path = "other.rs")]
mod processor;
mod python;
mod refused;
mod seen;
mod text;
mod trace;
mod unwind;

use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};

use crate::cli::Hang;
use crate::out::print;
use crate::report::symbols::Symbols;
use find::Job;
use image::Images;
use seen::{Report, SCHEMA};

/// Looks at processes.
pub(super) fn run(hang: &Hang, pids: &[u32]) -> Result<()> {
    if let Some(reason) = refusal(std::env::consts::ARCH) {
        bail!(reason);
    }
    let jobs = find::jobs(pids)?;
    let mut symbols = Symbols::default();
    let report = report(&jobs, hang, &mut symbols);
    if let Some(path) = &hang.dump {
        let dump = serde_json::to_string(&json::of(&report)?)? + "\n";
        fs::write(path, dump)
            .with_context(|| format!("{}: what was seen cannot be written", path.display()))?;
    }
    show(hang, &report)?;
    symbols.complain();
    Ok(())
}

/// Why nothing can be looked at where this program runs, by its processor.
fn refusal(processor: &str) -> Option<String> {
    (processor != "x86_64").then(|| {
        format!(
            "--attach knows the registers and stacks of x86-64 only, and this machine is {processor}: start the program with              mpi-watch, and `mpi-tool hang` shows where its ranks are"
        )
    })
}

/// Prints what was seen on several hosts.
pub(super) fn together(hang: &Hang, files: &[String]) -> Result<()> {
    let mut all = Report { schema: SCHEMA.into(), jobs: Vec::new() };
    for file in files {
        all.add(read(Path::new(file))?);
    }
    show(hang, &all)
}

fn show(hang: &Hang, report: &Report) -> Result<()> {
    if hang.json {
        return print(serde_json::to_string_pretty(&json::of(report)?)? + "\n");
    }
    print(text::of(report, hang.top))
}

fn read(path: &Path) -> Result<Report> {
    let what = path.display();
    let text = fs::read_to_string(path).with_context(|| format!("{what}: cannot be read"))?;
    let report: Report = serde_json::from_str(&text)
        .with_context(|| format!("{what}: this is no file of `mpi-tool hang --attach --dump`"))?;
    if report.schema != SCHEMA {
        bail!(
            "{what}: this file is of the version {}, and this mpi-tool reads {SCHEMA}: take the same mpi-tool on all hosts",
            report.schema
        );
    }
    Ok(report)
}

impl Report {
    /// Adds what was seen on another host.
    fn add(&mut self, other: Self) {
        for job in other.jobs {
            match self.jobs.iter_mut().find(|known| known.name == job.name) {
                Some(known) => {
                    let is_new = |rank: &seen::Rank| {
                        !known
                            .ranks
                            .iter()
                            .any(|other| (&other.host, other.pid) == (&rank.host, rank.pid))
                    };
                    let new: Vec<_> = job.ranks.into_iter().filter(is_new).collect();
                    if new.is_empty() {
                        continue;
                    }
                    known.ranks.extend(new);
                    known.ranks.sort_by_key(|rank| (rank.rank, rank.pid));
                    let both = |one: Option<f64>, other: Option<f64>, of: fn(f64, f64) -> f64| {
                        Some(of(one?, other?))
                    };
                    known.begun = both(known.begun, job.begun, f64::min);
                    known.ended = both(known.ended, job.ended, f64::max);
                    known.seconds = known.seconds.max(job.seconds);
                    known.size = known.size.or(job.size);
                }
                None => self.jobs.push(job),
            }
        }
    }
}

/// Looks at all ranks, some times.
fn report(jobs: &[Job], hang: &Hang, symbols: &mut Symbols) -> Report {
    let mut images = Images::default();
    let mut seen: Vec<Vec<seen::Looks>> = jobs.iter().map(|_| Vec::new()).collect();
    let mut begin = Instant::now();
    let mut begun = None;
    for number in 0..hang.looks {
        if number > 0 {
            sleep(hang.between);
        }
        for (job, looks) in jobs.iter().zip(&mut seen) {
            looks.resize_with(job.ranks.len(), Vec::new);
            for (rank, looks) in job.ranks.iter().zip(looks) {
                looks.push(look::process(rank.pid, rank.started, &mut images));
            }
        }
        if number == 0 {
            // Files are read for the first look only.
            begin = Instant::now();
            begun = time();
        }
    }
    images.complain();
    let lasted = begin.elapsed();
    let jobs = jobs.iter().zip(seen).map(|(job, seen)| {
        let ranks = job.ranks.iter().zip(seen);
        seen::Job {
            name: job.name.clone(),
            program: job.ranks.first().map_or_else(String::new, |rank| rank.program.clone()),
            mpi: job.mpi(),
            size: job.ranks.iter().find_map(|rank| rank.size),
            looks: hang.looks,
            seconds: lasted.as_secs_f64(),
            begun,
            ended: begun.map(|begun| begun + lasted.as_secs_f64()),
            ranks: ranks.map(|(rank, looks)| seen::rank(rank, looks, lasted, symbols)).collect(),
        }
    });
    Report { schema: SCHEMA.into(), jobs: jobs.collect() }
}

/// Seconds since the beginning of 1970, by this host's clock.
fn time() -> Option<f64> {
    SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|time| time.as_secs_f64())
}

#[cfg(test)]
mod refusal_tests {
    #[test]
    fn another_processor_is_named() {
        assert_eq!(super::refusal("x86_64"), None);
        assert!(super::refusal("aarch64").unwrap().contains("this machine is aarch64"));
    }
}
