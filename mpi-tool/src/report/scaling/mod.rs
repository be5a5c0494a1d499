//! `mpi-tool scaling`: what happens to a program when ranks are added.
//!
//! Of each number of ranks, all numbers are those of one run, the one of median time: so the products that they are part of
//! hold. The other runs of that number say how much runs vary.

mod growth;
mod input;
mod page;
mod pays;
mod show;
mod talp;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(super) use tests::try_hostile;

use std::collections::BTreeMap;
use std::process::ExitCode;

use anyhow::{Result, bail};
use serde::Serialize;

use super::compare;
use super::symbols::Symbols;
use crate::cli::{Scaling as Command, ScalingFormat};
use crate::out;
use growth::{Grown, Growth};
use input::{Clock, Factors, Input, Note};
use pays::Pays;

/// What is said of a program on several numbers of ranks.
#[derive(Debug, Serialize)]
pub(super) struct Scaling {
    schema: &'static str,
    /// The tool that has written the reports.
    tool: String,
    scaling: Kind,
    time: Clock,
    /// The number of ranks that others are relative to.
    reference: u64,
    /// By the number of ranks.
    sizes: Vec<Size>,
    /// Of which number of ranks on adding more did not pay.
    pays: Option<Pays>,
    /// Those with most growth first; null where they are not known.
    sites: Option<Vec<Growth>>,
    segments: Option<Vec<Growth>>,
    /// What limits these numbers, in sentences.
    notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Strong,
    Weak,
}

/// Is a difference beyond what runs vary?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Certainty {
    Beyond,
    Within,
    /// There is one run of each.
    Unknown,
}

impl Certainty {
    /// Of the values of some runs and of others, as one of `tests` differences that are judged.
    fn of(before: &[f64], after: &[f64], tests: usize) -> Self {
        match compare::of_runs(before, after, tests) {
            None => Self::Unknown,
            Some(true) => Self::Beyond,
            Some(false) => Self::Within,
        }
    }
}

/// The runs on a number of ranks.
struct Group {
    ranks: u64,
    inputs: Vec<Input>,
    /// Which run is that of median time; of an even number of runs the faster one of the two in the middle.
    median: usize,
}

impl Group {
    fn new(ranks: u64, inputs: Vec<Input>) -> Self {
        let mut order: Vec<usize> = (0..inputs.len()).collect();
        order.sort_by(|one, other| inputs[*one].seconds.total_cmp(&inputs[*other].seconds));
        let median = order.get(inputs.len().saturating_sub(1) / 2).copied().unwrap_or(0);
        Self { ranks, inputs, median }
    }

    fn chosen(&self) -> &Input {
        &self.inputs[self.median]
    }
}

/// What is said of a number of ranks. What is not known is null.
#[derive(Debug, Serialize)]
struct Size {
    ranks: u64,
    hosts: Option<u64>,
    /// The runs, in the order in which they were given.
    files: Vec<String>,
    seconds: Vec<f64>,
    /// The run of median time, whose numbers the others are.
    file: String,
    time: f64,
    time_least: f64,
    time_most: f64,
    speedup: f64,
    speedup_ideal: f64,
    efficiency: f64,
    global_efficiency: Option<f64>,
    parallel_efficiency: Option<f64>,
    load_balance: Option<f64>,
    communication_efficiency: Option<f64>,
    computation_scaling: Option<f64>,
    /// The useful time of all ranks together, in seconds.
    useful: Option<f64>,
    /// How long start and end took, which are not in the time.
    outside: Option<f64>,
    /// What adding ranks to the number before has brought; null of the smallest.
    step: Option<Step>,
}

/// From a number of ranks to the next one.
#[derive(Debug, Serialize)]
struct Step {
    from: u64,
    speedup: f64,
    /// The speedup as a part of the ideal one.
    efficiency: f64,
    noise: Certainty,
}

impl Command {
    /// Prints it, or writes it to a file.
    pub(crate) fn run(&self) -> Result<ExitCode> {
        let mut symbols = Symbols::default();
        let kind = if self.weak { Kind::Weak } else { Kind::Strong };
        let scaling = Scaling::of(Input::read(&self.runs)?, kind, self.reference, &mut symbols)?;
        let mut made = Vec::new();
        match self.format() {
            ScalingFormat::Text => show::text(&mut made, &scaling, self.top)?,
            ScalingFormat::Json => show::json(&mut made, &scaling)?,
            ScalingFormat::Csv => show::csv(&mut made, &scaling)?,
            ScalingFormat::Html => page::write(&mut made, &scaling, self.top)?,
        }
        symbols.complain();
        out::deliver(self.output.as_deref(), &made)?;
        Ok(ExitCode::SUCCESS)
    }

    /// What the user asks for, or what the name of the file is of.
    fn format(&self) -> ScalingFormat {
        let name = self.output.as_ref().and_then(|path| path.extension()?.to_str());
        self.to.unwrap_or(match name {
            Some("html" | "htm") => ScalingFormat::Html,
            Some("json") => ScalingFormat::Json,
            Some("csv") => ScalingFormat::Csv,
            _ => ScalingFormat::Text,
        })
    }
}

impl Scaling {
    /// Of some runs.
    ///
    /// # Errors
    /// The runs have one number of ranks only, or several tools or programs; or no run has the reference's number of ranks.
    fn of(
        inputs: Vec<Input>,
        kind: Kind,
        reference: Option<u64>,
        symbols: &mut Symbols,
    ) -> Result<Self> {
        let (tool, time) = are_alike(&inputs)?;
        let mut notes = Note::sentences(inputs.iter().flat_map(|input| &input.notes));
        let mut by_ranks: BTreeMap<u64, Vec<Input>> = BTreeMap::new();
        for input in inputs {
            by_ranks.entry(input.ranks).or_default().push(input);
        }
        let groups: Vec<Group> =
            by_ranks.into_iter().map(|(ranks, inputs)| Group::new(ranks, inputs)).collect();
        let [smallest, .., largest] = &groups[..] else {
            let ranks = in_words(groups.first().map_or(0, |group| group.ranks));
            bail!(
                "all reports are of {ranks}: give reports of two numbers of ranks at least (mpi-tool report A B compares runs of \
                 one number)"
            );
        };
        let wanted = reference.unwrap_or(smallest.ranks);
        let Some(of) = groups.iter().find(|group| group.ranks == wanted) else {
            let known: Vec<_> = groups.iter().map(|group| group.ranks.to_string()).collect();
            bail!(
                "--reference {wanted}: no report is of {wanted} ranks; there are {}",
                known.join(", ")
            );
        };
        notes.extend(other_kind(kind, smallest.chosen(), largest.chosen()));
        versions_differ(&groups, &mut notes);
        hosts_differ(&groups, &mut notes);
        start_counts(smallest.chosen(), largest.chosen(), &mut notes);
        let mut sizes: Vec<Size> = Vec::new();
        for group in &groups {
            let size = Size::of(group, of, kind, sizes.last(), groups.len() - 1);
            sizes.push(size);
        }
        if time == Clock::Elapsed {
            notes.push("TALP writes efficiencies with two digits, so products of them hold for no more than that".to_owned());
        }
        let Grown { sites, segments } = growth::of(&groups, symbols, &mut notes)?;
        let pays = pays::of(&sizes, kind == Kind::Weak);
        let schema = "mpi-tool-scaling/1";
        Ok(Self {
            schema,
            tool,
            scaling: kind,
            time,
            reference: wanted,
            sizes,
            pays,
            sites,
            segments,
            notes,
        })
    }

    /// Are there several runs of some number of ranks?
    fn has_repetitions(&self) -> bool {
        self.sizes.iter().any(|size| size.seconds.len() > 1)
    }
}

impl Size {
    /// `before` is the size before this one, and `tests` the number of steps.
    fn of(
        group: &Group,
        reference: &Group,
        kind: Kind,
        before: Option<&Self>,
        tests: usize,
    ) -> Self {
        let (run, base) = (group.chosen(), reference.chosen());
        let ideal = group.ranks as f64 / reference.ranks as f64;
        // With weak scaling, so many times the work is done.
        let work = if kind == Kind::Weak { ideal } else { 1.0 };
        let speedup = work * base.seconds / run.seconds;
        let Factors { parallel, load_balance, communication } = run.factors;
        let computation = base.useful.zip(run.useful).map(|(base, useful)| work * base / useful);
        let seconds: Vec<f64> = group.inputs.iter().map(|input| input.seconds).collect();
        let mut size = Self {
            ranks: group.ranks,
            hosts: run.hosts,
            files: group.inputs.iter().map(|input| input.name.clone()).collect(),
            time_least: seconds.iter().copied().fold(f64::MAX, f64::min),
            time_most: seconds.iter().copied().fold(0.0, f64::max),
            seconds,
            file: run.name.clone(),
            time: run.seconds,
            speedup,
            speedup_ideal: ideal,
            efficiency: speedup / ideal,
            global_efficiency: parallel
                .zip(computation)
                .map(|(parallel, scaling)| parallel * scaling),
            parallel_efficiency: parallel,
            load_balance,
            communication_efficiency: communication,
            computation_scaling: computation,
            useful: run.useful,
            outside: run.outside(),
            step: None,
        };
        size.step = before.map(|before| {
            let speedup = size.speedup / before.speedup;
            let [less, more] = [before, &size].map(|size| pays::costs(size, kind == Kind::Weak));
            Step {
                from: before.ranks,
                speedup,
                efficiency: speedup * before.ranks as f64 / size.ranks as f64,
                noise: Certainty::of(&less, &more, tests),
            }
        });
        size
    }
}

/// The tool and the clock that all runs have.
fn are_alike(inputs: &[Input]) -> Result<(String, Clock)> {
    let Some((first, others)) = inputs.split_first() else { bail!("there is no report") };
    for other in others {
        if other.tool != first.tool {
            bail!(
                "{} is of {}, {} of {}: give reports of one tool",
                first.name,
                first.tool,
                other.name,
                other.tool
            );
        }
        if other.clock != first.clock {
            let (old, new) =
                if first.clock == Clock::Wall { (first, other) } else { (other, first) };
            bail!(
                "{} has no active time, since an earlier version of the tool wrote it, and {} has one: these times are not the \
                 same thing; measure {} anew",
                old.name,
                new.name,
                old.name
            );
        }
    }
    Ok((first.tool.clone(), first.clock))
}

/// Says if different versions of the tool have written the reports.
fn versions_differ(groups: &[Group], notes: &mut Vec<String>) {
    let mut inputs = groups.iter().flat_map(|group| &group.inputs);
    if let Some(first) = inputs.next()
        && let Some(other) = inputs.find(|other| other.version != first.version)
    {
        notes.push(format!(
            "the reports were written by different versions of {}: {} by {}, {} by {}",
            first.tool, first.name, first.version, other.name, other.version
        ));
    }
}

/// Says if runs were on different hosts.
fn hosts_differ(groups: &[Group], notes: &mut Vec<String>) {
    let inputs = || groups.iter().flat_map(|group| &group.inputs);
    let counts = || inputs().filter_map(|input| input.hosts.map(|hosts| (hosts, input)));
    let (least, most) =
        (counts().min_by_key(|known| known.0), counts().max_by_key(|known| known.0));
    if let (Some((least, few)), Some((most, many))) = (least, most)
        && least != most
    {
        notes.push(format!(
            "the runs were on different numbers of hosts, from {least} ({}) to {most} ({}): what the network and the memory of more \
             hosts change is in these numbers, too",
            few.name, many.name
        ));
        return;
    }
    let mut named = inputs().filter(|input| !input.host_names.is_empty());
    if let Some(first) = named.next()
        && let Some(other) = named.find(|other| other.host_names != first.host_names)
    {
        notes.push(format!(
            "the runs were not all on the same hosts ({} and {} were not): what hosts differ in is in these numbers, too",
            first.name, other.name
        ));
    }
}

/// Less of the run than this is not worth a sentence.
const WORTH_SAYING: f64 = 0.05;

/// What two amounts of work differ by at most, if they are about the same.
const ABOUT: std::ops::RangeInclusive<f64> = 0.8..=1.25;

/// Says if the runs look like the other kind of scaling than the user says.
fn other_kind(kind: Kind, smallest: &Input, largest: &Input) -> Option<String> {
    let more = largest.ranks as f64 / smallest.ranks as f64;
    let work = largest.useful? / smallest.useful?;
    let [few, many] = [smallest, largest].map(|input| in_words(input.ranks));
    match kind {
        // Less than that could be either.
        _ if more < 2.0 => None,
        Kind::Strong if ABOUT.contains(&(work / more)) => Some(format!(
            "a rank has about the same useful time on {few} as on {many}, as it has in weak scaling: if each rank had the same work, \
             give --weak"
        )),
        Kind::Weak if ABOUT.contains(&work) => Some(format!(
            "all ranks together have about the same useful time on {few} as on {many}, as they have in strong scaling: if that was the \
             same work, leave out --weak"
        )),
        Kind::Strong | Kind::Weak => None,
    }
}

/// `1 rank`, `2 ranks`.
fn in_words(ranks: u64) -> String {
    format!("{ranks} rank{}", if ranks == 1 { "" } else { "s" })
}

/// Says how long start and end took, if that is much.
fn start_counts(smallest: &Input, largest: &Input, notes: &mut Vec<String>) {
    if let (Some(few), Some(many), Some(wall)) =
        (smallest.outside(), largest.outside(), largest.wall)
        && many >= WORTH_SAYING * wall
    {
        notes.push(format!(
            "start and end, which are not in these times, took {few:.3} s on {} and {many:.3} s on {}: before MPI_Init has \
             returned, and after MPI_Finalize was called",
            in_words(smallest.ranks), in_words(largest.ranks)
        ));
    }
}
