//! What has changed between two runs, or between several runs of each side.

mod judge;
mod page;
mod show;

use std::collections::HashMap;

use anyhow::{Context as _, Result, bail};
use serde::Serialize;

use super::advice::preemptions;
use super::matching::{self, Known, Site, Sites};
use super::phases::title;
use super::read::Run;
use super::segments::{self, Whose};
use super::symbols::Symbols;
use super::{By, What, frames, lines};
use crate::cli::To;
pub(super) use judge::Verdict;
use judge::{Judge, Noise};

/// Two sides and what has changed from the first to the second.
#[derive(Debug, Serialize)]
pub(super) struct Comparison {
    schema: &'static str,
    tool: String,
    before: Side,
    after: Side,
    /// Is anything called a change?
    changed: bool,
    /// How noise was told from change.
    rule: String,
    /// The longest wall time of a rank, and the ranks' mean time in MPI and outside of it.
    run: Vec<Item>,
    sites: Vec<Item>,
    /// Code between two calls; `None` where not all reports tell of it.
    segments: Option<Vec<Item>>,
    /// The first report that does not, if others do.
    #[serde(skip)]
    without_segments: Option<String>,
    phases: Vec<Item>,
    ranks: Vec<Item>,
}

/// The runs of a side.
#[derive(Debug, Serialize)]
struct Side {
    files: Vec<String>,
    ranks: Option<u64>,
}

/// Something that both sides have: its time in seconds, the mean of the ranks.
#[derive(Debug, Serialize)]
pub(super) struct Item {
    name: String,
    /// Call site: the MPI function.
    #[serde(skip_serializing_if = "Option::is_none")]
    function: Option<String>,
    /// Of each run, in the order of the files.
    before: Vec<f64>,
    after: Vec<f64>,
    mean_before: f64,
    mean_after: f64,
    /// The difference of the means, as a part of the mean before; null if that is 0.
    change: Option<f64>,
    /// What the change may be, of several runs a side: least and most.
    interval: Option<(f64, f64)>,
    verdict: Verdict,
    /// Is there enough to tell noise from change?
    #[serde(skip)]
    pub(super) is_judged: bool,
}

impl Item {
    /// By how many seconds it has changed.
    fn difference(&self) -> f64 {
        self.mean_after - self.mean_before
    }
}

impl Comparison {
    /// Compares runs.
    ///
    /// # Errors
    /// The reports are not of one tool, or not all of several ranks.
    pub(super) fn of(before: &[Run], after: &[Run], symbols: &mut Symbols) -> Result<Self> {
        let all: Vec<&Run> = before.iter().chain(after).collect();
        let Some(first) = all.first() else { bail!("there is no run to compare") };
        for run in &all {
            if run.table.tool != first.table.tool {
                bail!(
                    "{} is of {}, {} of {}",
                    first.name,
                    first.table.tool,
                    run.name,
                    run.table.tool
                );
            }
            if run.table.complete != first.table.complete {
                bail!("{} and {} are not both of all ranks", first.name, run.name);
            }
            if !run.table.complete && run.ranks() != first.ranks() {
                bail!(
                    "{} has the own reports of {} of its ranks, and {} of {}: what is missing cannot be told from what has changed",
                    first.name,
                    first.ranks(),
                    run.name,
                    run.ranks()
                );
            }
        }
        for side in [before, after] {
            let ranks = side.first().map(|run| run.table.ranks);
            if let Some(other) = side.iter().find(|run| Some(run.table.ranks) != ranks) {
                bail!("{} has not as many ranks as the other runs of its side", other.name);
            }
        }
        let count = [before.len(), after.len()];
        let preemptions = before.iter().chain(after).filter_map(|run| preemptions(&run.table));
        let judge = Judge::new(count, preemptions.map(|(_, rate)| rate).fold(0.0, f64::max));
        let (mut sites, mut between) = (Sites::new(count.to_vec()), Sites::new(count.to_vec()));
        let mut without_segments = None;
        for (side, runs) in [before, after].into_iter().enumerate() {
            for (run, number) in runs.iter().zip(0..) {
                let is_broken = || format!("{} is not as a report should be", run.name);
                let frames = frames(&run.table, symbols);
                sites.add(side, number, Site::of_run(run, &frames)?);
                let segments = segments::of_run(&run.table, &frames, Whose::Mean);
                match segments.with_context(is_broken)? {
                    Some(segments) => between.add(side, number, segments),
                    None => _ = without_segments.get_or_insert(&run.name),
                }
            }
        }
        let has_segments = all.iter().any(|run| run.table.segments.is_some());
        let run_items = Self::run_items(before, after);
        let wall = run_items.first().map_or(0.0, |item| item.mean_before);
        let known: Vec<Known> = sites.into_known().collect();
        let names: Vec<_> = known.iter().map(|of| of.site.name()).collect();
        let mut sites: Vec<_> = known.into_iter().zip(names).map(Item::of_site).collect();
        sites.sort_by(|one, other| one.0.name.cmp(&other.0.name));
        let segments = without_segments.is_none().then(|| {
            let known: Vec<Known> = between.into_known().collect();
            let names = matching::between(&known);
            let mut segments: Vec<_> = known.into_iter().zip(names).map(Item::of_site).collect();
            segments.sort_by(|one, other| one.0.name.cmp(&other.0.name));
            segments
        });
        // What takes little in both cannot change by much, so it is not judged.
        let is_worth = |(item, _): &&(Item, Noise)| {
            item.mean_before.max(item.mean_after) >= judge::WORTH * wall
        };
        let tests = sites.iter().chain(segments.iter().flatten()).filter(is_worth).count() + 1;
        let by_change = |one: &Item, other: &Item| {
            let kind = |item: &Item| (item.verdict.is_change(), item.is_judged);
            let (much, more) = (one.difference().abs(), other.difference().abs());
            kind(other).cmp(&kind(one)).then(more.total_cmp(&much))
        };
        let judged = |items: Vec<(Item, Noise)>| -> Vec<Item> {
            let scatter = judge.scatter(&items);
            let judged = items.into_iter().map(|(mut item, noise)| {
                item.is_judged = judge.can_judge(noise);
                (item.interval, item.verdict) = judge.judge(&item, noise, scatter, wall, tests);
                item
            });
            judged.collect()
        };
        let sorted = |items: Vec<(Item, Noise)>| {
            let mut items = judged(items);
            items.sort_by(by_change);
            items
        };
        let all_with = |noise: Noise| move |item: Item| (item, noise);
        let run = judged(run_items.into_iter().map(all_with(Noise::OfRun)).collect());
        let (sites, segments) = (sorted(sites), segments.map(sorted));
        let unknown = all_with(Noise::Unknown);
        let phases = sorted(Self::phases(before, after)?.into_iter().map(unknown).collect());
        let ranks = sorted(Self::ranks(before, after).into_iter().map(unknown).collect());
        let lists = [&run, &sites, &phases, &ranks].into_iter().chain(&segments);
        let changed = lists.flatten().any(|item| item.verdict.is_change());
        let side = |runs: &[Run]| Side {
            files: runs.iter().map(|run| run.name.clone()).collect(),
            ranks: runs.first().and_then(|run| run.table.ranks),
        };
        Ok(Self {
            schema: "mpi-tool-comparison/1",
            tool: first.table.tool.clone(),
            before: side(before),
            after: side(after),
            changed,
            rule: judge.rule(),
            run,
            sites,
            segments,
            without_segments: without_segments.filter(|_| has_segments).cloned(),
            phases,
            ranks,
        })
    }

    /// Is the run, a call site, or a segment slower by more than this part? Only what is called a change counts.
    pub(super) fn is_slower(&self, part: f64) -> bool {
        let wall = self.run.first().map_or(0.0, |item| item.mean_before);
        let is_slower = |item: &Item| {
            let enough = item.change.is_none_or(|change| change > part);
            matches!(item.verdict, Verdict::Slower | Verdict::New)
                && enough
                && item.difference() >= wall * judge::WORTH
        };
        let segments = self.segments.iter().flatten();
        self.run.iter().take(1).chain(&self.sites).chain(segments).any(is_slower)
    }

    /// Writes the comparison.
    pub(super) fn write(&self, out: &mut Vec<u8>, to: To, top: usize) -> Result<()> {
        match to {
            To::Text => show::text(out, self, top)?,
            To::Json => show::json(out, self)?,
            To::Csv => show::csv(out, self)?,
            To::Html => page::write(out, self)?,
            To::Sqlite | To::Talp | To::Folded | To::Pprof | To::Hatchet | To::Sarif => {
                bail!("a comparison is printed as text, json, csv or html")
            }
        }
        Ok(())
    }

    fn run_items(before: &[Run], after: &[Run]) -> Vec<Item> {
        let item = |name: &str, of: fn(&Run) -> f64| {
            let values = |runs: &[Run]| runs.iter().map(|run| of(run) / 1e9).collect();
            Item::new(name.to_owned(), None, [values(before), values(after)])
        };
        vec![
            item("wall time", |run| run.table.wall.most),
            item("time in MPI, mean of ranks", |run| run.table.inside.sum / run.ranks()),
            item("time outside of MPI, mean of ranks", |run| {
                run.table.useful.as_ref().map_or(0.0, |useful| useful.sum / run.ranks())
            }),
        ]
    }

    fn phases(before: &[Run], after: &[Run]) -> Result<Vec<Item>> {
        let mut named = Named::default();
        for (side, runs) in [before, after].into_iter().enumerate() {
            for (number, run) in runs.iter().enumerate() {
                let is_broken = || format!("{} is not as a report should be", run.name);
                for (key, line) in lines(&run.table, By::Phase).with_context(is_broken)? {
                    if let What::Phase(phase) = key.what {
                        let value = line.first() as f64 / 1e9 / run.ranks();
                        named.add(
                            title(&run.table, phase),
                            side,
                            number,
                            value,
                            [before.len(), after.len()],
                        );
                    }
                }
            }
        }
        Ok(named.into_items())
    }

    fn ranks(before: &[Run], after: &[Run]) -> Vec<Item> {
        let mut named = Named::default();
        for (side, runs) in [before, after].into_iter().enumerate() {
            for (number, run) in runs.iter().enumerate() {
                for of in run.table.hosts.iter().filter_map(|host| host.by_rank.as_ref()) {
                    for (rank, inside) in of.rank.iter().zip(&of.inside) {
                        let value = *inside as f64 / 1e9;
                        let counts = [before.len(), after.len()];
                        named.add(format!("rank {rank}"), side, number, value, counts);
                    }
                }
            }
        }
        named.into_items()
    }
}

impl Item {
    /// A call site or a segment of both sides, with what is known of its noise.
    fn of_site((known, name): (Known, String)) -> (Self, Noise) {
        let Known { site, seconds, noise, fewest, .. } = known;
        let noise = Noise::OfCalls { variance: noise, calls: fewest };
        let mut sides = seconds.into_iter();
        let values = [(); 2].map(|()| sides.next().unwrap_or_default());
        let function = match &site.calls[..] {
            [call] => Some(call.function.clone()),
            _ => None,
        };
        (Self::new(name, function, values), noise)
    }

    /// Something with a value of each run; not judged yet.
    fn new(name: String, function: Option<String>, values: [Vec<f64>; 2]) -> Self {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let [before, after] = values;
        let (mean_before, mean_after) = (mean(&before), mean(&after));
        let change = (mean_before > 0.0).then(|| mean_after / mean_before - 1.0);
        let (interval, verdict, is_judged) = (None, Verdict::Noise, true);
        Self {
            name,
            function,
            before,
            after,
            mean_before,
            mean_after,
            change,
            interval,
            verdict,
            is_judged,
        }
    }
}

/// Items by their names, in the order in which they came.
#[derive(Default)]
struct Named {
    order: Vec<(String, [Vec<f64>; 2])>,
    known: HashMap<String, usize>,
}

impl Named {
    fn add(&mut self, name: String, side: usize, run: usize, value: f64, counts: [usize; 2]) {
        let index = *self.known.entry(name).or_insert_with_key(|name| {
            self.order.push((name.clone(), counts.map(|count| vec![0.0; count])));
            self.order.len() - 1
        });
        if let Some(here) = self.order[index].1[side].get_mut(run) {
            *here += value;
        }
    }

    fn into_items(self) -> Vec<Item> {
        self.order.into_iter().map(|(name, values)| Item::new(name, None, values)).collect()
    }
}

/// Is the difference of some runs and others beyond noise, if that is one of `tests` things that are judged? `None` where there
/// is one run of each, so that nothing says how runs vary.
pub(super) fn of_runs(before: &[f64], after: &[f64], tests: usize) -> Option<bool> {
    let judge = Judge::new([before.len(), after.len()], 0.0);
    let item = Item::new(String::new(), None, [before.to_vec(), after.to_vec()]);
    let is_known = judge.has_repetitions();
    is_known.then(|| judge.judge(&item, Noise::Unknown, 0.0, item.mean_before, tests).1.is_change())
}
