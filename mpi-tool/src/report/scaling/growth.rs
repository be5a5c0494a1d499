//! Which call sites, and which code between two calls, take a larger part of the run the more ranks there are.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, bail};
use serde::Serialize;

use super::super::frames;
use super::super::matching::{self, Call, Known, Loose, Site, Sites};
use super::super::read::Run;
use super::super::segments::{self, Whose};
use super::super::symbols::Symbols;
use super::input::{Clock, Input};
use super::{Certainty, Group};

/// What grows by less than this part of the run is not worth a line.
const WORTH_SAYING: f64 = 0.01;

/// A call site or a segment, and what part of the run it took.
#[derive(Debug, Serialize)]
pub(super) struct Growth {
    pub(super) name: String,
    /// Of each number of ranks, in the run of median time: a part of 1.
    pub(super) shares: Vec<f64>,
    /// The same in seconds: of a call site the mean of the ranks, of a segment those of the rank with most useful time.
    pub(super) seconds: Vec<f64>,
    /// The share at the greatest number of ranks less that at the smallest.
    pub(super) growth: f64,
    pub(super) noise: Certainty,
}

impl Growth {
    /// Has it grown by so much that a reader should know?
    pub(super) fn is_worth_saying(&self) -> bool {
        self.growth >= WORTH_SAYING && self.noise != Certainty::Within
    }

    pub(super) fn smallest(&self) -> f64 {
        self.shares.first().copied().unwrap_or(0.0)
    }

    pub(super) fn largest(&self) -> f64 {
        self.shares.last().copied().unwrap_or(0.0)
    }
}

/// What has grown, each list with the most growth first; `None` where not all reports tell.
#[derive(Debug, Default)]
pub(super) struct Grown {
    pub(super) sites: Option<Vec<Growth>>,
    pub(super) segments: Option<Vec<Growth>>,
}

/// A call of MPI's start, which is before the active time.
fn is_start(site: &Site) -> bool {
    let starts = ["MPI_Init", "MPI_Init_thread"];
    site.calls.iter().any(|call| starts.contains(&call.function.as_str())) && site.calls.len() == 1
}

/// Finds what has grown.
///
/// # Errors
/// Reports are of different programs.
pub(super) fn of(
    groups: &[Group],
    symbols: &mut Symbols,
    notes: &mut Vec<String>,
) -> Result<Grown> {
    let counts: Vec<_> = groups.iter().map(|group| group.inputs.len()).collect();
    let mut sites = Sites::new(counts.clone());
    let mut between = Some(Sites::new(counts));
    let mut program = Program::default();
    for (side, group) in groups.iter().enumerate() {
        for (number, input) in group.inputs.iter().enumerate() {
            let Some(run) = &input.run else {
                notes.push(
                    "TALP's files have no call sites and no segments, so what grows is unknown"
                        .to_owned(),
                );
                return Ok(Grown::default());
            };
            let frames = frames(&run.table, symbols);
            let mut of_run = Site::of_run(run, &frames)?;
            program.add(input, run, &of_run, notes)?;
            if input.clock == Clock::Active {
                of_run.retain(|site| !is_start(site));
            }
            sites.add(side, number, of_run);
            let of_segments = segments::of_run(&run.table, &frames, Whose::Busiest);
            let is_broken = || format!("{} is not as a report should be", input.name);
            match (of_segments.with_context(is_broken)?, &mut between) {
                (Some(of_run), Some(between)) => between.add(side, number, of_run),
                (None, Some(_)) => {
                    notes.push(format!(
                        "{} has no segments, so it is unknown which code between calls grows (an earlier version of the tool wrote \
                         it, or MPI_TOOL_MPI_PROFILE_SEGMENTS=0 was set)",
                        input.name
                    ));
                    between = None;
                }
                (_, None) => {}
            }
        }
    }
    if let Some(name) = &program.without_sites {
        notes
            .push(format!("{name} has no call sites: its calls are known by their functions only"));
    }
    Ok(Grown {
        sites: Some(grown(groups, sites, |all| all.iter().map(|of| of.site.name()).collect())?),
        segments: between.map(|of| grown(groups, of, matching::between)).transpose()?,
    })
}

/// The shares of a site, of each run of each number of ranks.
fn shares(known: &Known, groups: &[Group]) -> Vec<Vec<f64>> {
    let of = |(seconds, group): (&Vec<f64>, &Group)| {
        let times = group.inputs.iter().map(|input| input.seconds);
        seconds.iter().zip(times).map(|(part, time)| part / time).collect()
    };
    known.seconds.iter().zip(groups).map(of).collect()
}

/// What has grown most first.
fn grown(
    groups: &[Group],
    sites: Sites,
    names: fn(&[Known]) -> Vec<String>,
) -> Result<Vec<Growth>> {
    let all: Vec<Known> = sites.into_known().collect();
    let names = names(&all);
    // What never takes much cannot grow much, so it is not judged.
    let is_worth = |shares: &Vec<f64>| shares.iter().any(|share| *share >= WORTH_SAYING);
    let tests = all.iter().filter(|known| shares(known, groups).iter().any(is_worth)).count();
    let growth = |(known, name): (Known, String)| {
        let of_all = shares(&known, groups);
        let chosen = |values: &[Vec<f64>]| -> Vec<f64> {
            let of = values.iter().zip(groups);
            of.map(|(values, group)| values.get(group.median).copied().unwrap_or(0.0)).collect()
        };
        let shares = chosen(&of_all);
        let ends = (shares.first().copied(), shares.last().copied());
        let noise = match &of_all[..] {
            [first, .., last] => Certainty::of(first, last, tests),
            _ => Certainty::Unknown,
        };
        Growth {
            name,
            growth: ends.1.unwrap_or(0.0) - ends.0.unwrap_or(0.0),
            seconds: chosen(&known.seconds),
            shares,
            noise,
        }
    };
    let mut all: Vec<Growth> = all.into_iter().zip(names).map(growth).collect();
    if let Some(broken) = all.iter().find(|growth| !growth.growth.is_finite()) {
        bail!(
            "{} has no time that is a number: a report is not as a report should be",
            broken.name
        );
    }
    all.sort_by(|one, other| {
        other.growth.total_cmp(&one.growth).then_with(|| one.name.cmp(&other.name))
    });
    Ok(all)
}

/// What tells programs apart.
#[derive(Debug, Default)]
struct Program {
    /// Of the first report with call sites: its name and these.
    first: Option<(String, BTreeSet<Loose>)>,
    /// The build IDs of each program or library, with the report that had it first; none once a difference was told.
    builds: Option<BTreeMap<String, (String, BTreeSet<String>)>>,
    is_told: bool,
    without_sites: Option<String>,
}

impl Program {
    /// Compares a report with those before it.
    fn add(
        &mut self,
        input: &Input,
        run: &Run,
        sites: &[Site],
        notes: &mut Vec<String>,
    ) -> Result<()> {
        let has_place = |site: &&Site| site.calls.iter().any(|call: &Call| !call.frames.is_empty());
        let known: BTreeSet<Loose> = sites.iter().filter(has_place).map(Site::loose).collect();
        if known.is_empty() {
            self.without_sites.get_or_insert_with(|| input.name.clone());
            return Ok(());
        }
        match &self.first {
            None => self.first = Some((input.name.clone(), known)),
            Some((name, first)) if first.is_disjoint(&known) => bail!(
                "{name} and {} have no call site in common, so they are not of the same program: give reports of one program",
                input.name
            ),
            Some(_) => {}
        }
        let mut here: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for place in run.table.sites.iter().flatten().filter(|place| !place.build_id.is_empty()) {
            let name = place.file.rsplit('/').next().unwrap_or(&place.file);
            here.entry(name.to_owned()).or_default().insert(place.build_id.clone());
        }
        let builds = self.builds.get_or_insert_default();
        for (file, ids) in here {
            let (other, known) =
                builds.entry(file.clone()).or_insert_with(|| (input.name.clone(), ids.clone()));
            if known.is_disjoint(&ids) && !self.is_told {
                self.is_told = true;
                notes.push(format!(
                    "{file} is another build in {} than in {other}: what was changed in between is in these numbers, too",
                    input.name
                ));
            }
        }
        Ok(())
    }
}
