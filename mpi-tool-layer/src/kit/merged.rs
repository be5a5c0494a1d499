//! A table as data that can leave its process: keys mean the same on all ranks, times are in nanoseconds, and
//! two of them make one.
//!
//! In a process, call sites and communicators have numbers in the order in which they were found, and a tick has the
//! length that this processor's counter has. Nothing of it means anything on another rank. So a [`Merged`] table names
//! files by path and build ID, sites by files and offsets in them, communicators by an identity that all their ranks
//! compute alike, and has all times in nanoseconds. Addresses do not occur in it, since the
//! system loads programs and libraries at other addresses in each process.
//!
//! Adding is the same for one rank and for a million that have been merged before. For each value there are the ranks of
//! the least and of the greatest one, and for each row how many ranks have it and which of them had most of it. Where
//! two ranks have the same value, the lower one is named, so that a report does not depend on the order of merging.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::hosts::{self, Hosts, preemptions};
use super::moments::Moments;
use super::peers::merged::MergedPeers;
use super::phases::MergedPhase;
use super::segments::{self, Segments};
use super::shard::Sum;
use super::table::{AnyTable, Measure, PartKind, Parts};
use super::timeline::MergedTimeline;
use super::tracking::{KnownComm, TrackedComm};
use super::{Clock, Site};
use crate::host::options::host_name;

/// So many rows a merged table has: what does not fit is merged under coarse keys, as in a full [`Table`](super::Table).
pub(crate) const MOST_ROWS: usize = 1 << 16;

/// A number of each of several ranks: the sum, and who has least and most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spread {
    /// Over how many ranks.
    pub(crate) ranks: u64,
    pub(crate) sum: u64,
    pub(crate) least: Extreme,
    pub(crate) most: Extreme,
}

/// A value, and a rank that has it: the lowest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extreme {
    pub(crate) value: u64,
    pub(crate) rank: u64,
}

impl Extreme {
    /// The lesser one of two.
    fn least(self, other: Self) -> Self {
        if (other.value, other.rank) < (self.value, self.rank) { other } else { self }
    }

    /// The greater one of two.
    fn most(self, other: Self) -> Self {
        let greater = other.value > self.value;
        if greater || other.value == self.value && other.rank < self.rank { other } else { self }
    }
}

impl Spread {
    /// Of one rank.
    pub(crate) fn of(value: u64, rank: u64) -> Self {
        let own = Extreme { value, rank };
        Self { ranks: 1, sum: value, least: own, most: own }
    }

    /// The mean of all ranks.
    pub(crate) fn mean(&self) -> f64 {
        self.sum as f64 / self.ranks.max(1) as f64
    }

    /// Of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            ranks: self.ranks + other.ranks,
            sum: self.sum.wrapping_add(other.sum),
            least: self.least.least(other.least),
            most: self.most.most(other.most),
        }
    }
}

/// A measure of a row: over all its values, and over the ranks that have the row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Measured {
    pub(crate) moments: Moments,
    /// The rank of the least value, and that of the greatest one.
    pub(crate) least_rank: u64,
    pub(crate) most_rank: u64,
    /// The ranks' sums.
    pub(crate) ranks: Spread,
}

impl Measured {
    /// Of one rank.
    pub(crate) fn of(moments: Moments, rank: u64) -> Self {
        let ranks = Spread::of(moments.sum, rank);
        Self { moments, least_rank: rank, most_rank: rank, ranks }
    }

    /// Of both.
    fn and(self, other: Self) -> Self {
        let (one, two) = (self.moments, other.moments);
        let extreme = |value, rank| Extreme { value, rank };
        let least = extreme(one.least, self.least_rank).least(extreme(two.least, other.least_rank));
        let most = extreme(one.most, self.most_rank).most(extreme(two.most, other.most_rank));
        Self {
            moments: one.and(two),
            least_rank: least.rank,
            most_rank: most.rank,
            ranks: self.ranks.and(other.ranks),
        }
    }
}

/// A row of a merged table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MergedRow {
    pub(crate) events: u64,
    pub(crate) measures: Vec<Measured>,
}

/// A program or library: its path and its build ID.
pub(crate) type NamedFile = (String, Vec<u8>);

/// The places of a site: the number of a file, and an offset.
type Places = Vec<(u64, u64)>;

/// A communicator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedComm {
    /// The same on all its ranks, and on no rank that of another one.
    pub(crate) identity: u64,
    /// Empty if nobody has named it.
    pub(crate) name: String,
    /// How many processes its group has, and the other group if there is one, or 0.
    pub(crate) sizes: [u32; 2],
}

impl NamedComm {
    fn of(known: KnownComm<'_>) -> Self {
        let KnownComm { identity, name, sizes, .. } = known;
        Self { identity, name: name.to_owned(), sizes }
    }

    /// As a report shows it.
    pub(crate) fn known(&self) -> KnownComm<'_> {
        KnownComm {
            identity: self.identity,
            is_counted: false,
            name: &self.name,
            sizes: self.sizes,
        }
    }
}

/// How long ranks ran, and how much of it they were in MPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RunTimes {
    /// From the moment when the tool began to the report, in nanoseconds.
    pub(crate) wall: Spread,
    /// The sum of the first measure in ticks, in nanoseconds.
    pub(crate) inside: Spread,
    /// The one as a part of the other, in billionths.
    pub(crate) share: Spread,
    /// The part of the wall time that efficiencies are of: from the end of `MPI_Init` to the call of `MPI_Finalize`. A table that
    /// does not hear of these calls takes all of the wall time.
    pub(crate) active: Spread,
    /// What of that is the program's own, outside of MPI: 0 where several threads are in MPI for longer together.
    pub(crate) useful: Spread,
    /// The tool's own time, in nanoseconds: 0 where it is not known.
    pub(crate) overhead: Spread,
    /// How often the system took the processor away from the ranks' processes.
    pub(crate) preempted: Spread,
}

/// How much of the ranks' time is the program's own, and why not all of it: the model of POP, the European centre for
/// performance optimisation. All are parts of 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Efficiency {
    /// The mean useful time as a part of the longest active time: the product of the others.
    pub(crate) parallel: f64,
    /// The mean useful time as a part of the most useful one: 1 if all ranks have the same work.
    pub(crate) load_balance: f64,
    /// The most useful time as a part of the longest active time: 1 if the rank that has most work is never in MPI.
    pub(crate) communication: f64,
}

/// The useful time of a rank of which it is not known. No rank that has any has so little.
pub(crate) const UNKNOWN: u64 = 0;

impl RunTimes {
    /// Of one rank.
    pub(crate) fn of(wall: u64, inside: u64, rank: u64) -> Self {
        let share = (inside as f64 / wall.max(1) as f64 * 1e9) as u64;
        Self {
            wall: Spread::of(wall, rank),
            inside: Spread::of(inside, rank),
            share: Spread::of(share, rank),
            active: Spread::of(wall, rank),
            useful: Spread::of(wall.saturating_sub(inside), rank),
            overhead: Spread::of(0, rank),
            preempted: Spread::of(0, rank),
        }
    }

    /// The same of a process that reports now, in which the tool itself took so long.
    pub(crate) fn with_costs(self, overhead: u64, rank: u64) -> Self {
        let (overhead, preempted) = (Spread::of(overhead, rank), Spread::of(preemptions(), rank));
        Self { overhead, preempted, ..self }
    }

    /// The same of a process whose own time is as much as this, of so long an active one.
    pub(crate) fn with_useful(self, [active, useful]: [u64; 2], rank: u64) -> Self {
        Self { active: Spread::of(active, rank), useful: Spread::of(useful, rank), ..self }
    }

    /// The efficiencies; none if it is not known of all ranks what they have done of their own.
    pub(crate) fn efficiency(&self) -> Option<Efficiency> {
        let Spread { most, least, .. } = self.useful;
        if least.value == UNKNOWN || self.active.most.value == 0 {
            return None;
        }
        let mean = self.useful.mean();
        let [most, active] = [most.value, self.active.most.value].map(|value| value as f64);
        Some(Efficiency {
            parallel: mean / active,
            load_balance: mean / most,
            communication: most / active,
        })
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            wall: self.wall.and(other.wall),
            inside: self.inside.and(other.inside),
            share: self.share.and(other.share),
            active: self.active.and(other.active),
            useful: self.useful.and(other.useful),
            overhead: self.overhead.and(other.overhead),
            preempted: self.preempted.and(other.preempted),
        }
    }
}

/// A table of one rank or of several.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Merged {
    pub(crate) files: Vec<NamedFile>,
    /// Sites by their number in keys, less one.
    pub(crate) sites: Vec<Places>,
    /// Communicators by their number in keys, less one.
    pub(crate) communicators: Vec<NamedComm>,
    pub(crate) rows: BTreeMap<Parts, MergedRow>,
    pub(crate) times: RunTimes,
    pub(crate) hosts: Hosts,
    /// Events that could not be counted.
    pub(crate) lost: u64,
    /// Who has sent how much to whom, if the tool has that.
    pub(crate) peers: Option<MergedPeers>,
    /// When in the run the ranks were in MPI.
    pub(crate) timeline: MergedTimeline,
    /// The times of the program's phases, of the ranks that had them.
    pub(crate) phases: BTreeMap<u32, MergedPhase>,
    /// The application's own time between two events, if the tool has that.
    pub(crate) segments: Segments,
}

/// Which parts of a key are numbers that each rank gives anew.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Renumbered {
    pub(crate) site: Option<usize>,
    pub(crate) communicator: Option<usize>,
}

impl Renumbered {
    /// In the keys of a table.
    pub(crate) fn of(table: &AnyTable) -> Self {
        let part = |kind| table.parts().iter().position(|part| part.kind == kind);
        Self { site: part(PartKind::Site), communicator: part(PartKind::Communicator) }
    }
}

/// Puts the number of `numbers` in place of a part that is an index into it, plus one. What is none, as that of all
/// others, stays.
fn renumber(key: &mut Parts, part: Option<usize>, numbers: &[u32]) {
    if let Some(part) = part
        && let Some(index) = key[part].checked_sub(1)
        && let Some(number) = numbers.get(index as usize)
    {
        key[part] = *number;
    }
}

/// Keeps the things that are used, by their numbers, and says which number each has now.
fn keep_used<T>(things: &mut Vec<T>, used: &BTreeSet<u32>) -> Vec<u32> {
    let mut number = 0;
    let mut numbers = Vec::new();
    things.retain(|_| {
        number += 1;
        let is_used = used.contains(&number);
        let before = numbers.last().copied().unwrap_or(0);
        numbers.push(before + u32::from(is_used));
        is_used
    });
    numbers
}

impl Merged {
    /// The rows of this process, which are together in `rows`.
    pub(crate) fn of(table: &AnyTable, rows: Sum, wall: u64, rank: u64) -> Self {
        let rate = Clock::nanoseconds_per_tick();
        let (layout, renumbered) = (table.layout(), Renumbered::of(table));
        let mut communicators = Vec::new();
        let mut known_communicators = HashMap::new();
        let mut files: Vec<NamedFile> = Vec::new();
        let mut numbers = HashMap::new();
        let mut sites = Vec::new();
        let mut known = HashMap::new();
        let mut merged = BTreeMap::new();
        for row in rows.rows() {
            let mut key = layout.parts(row.key());
            if let Some(part) = renumbered.communicator {
                key[part] = *known_communicators.entry(key[part]).or_insert_with_key(|number| {
                    match TrackedComm::from_number(*number).known() {
                        // None stays none, and so does one that is not known.
                        None => *number,
                        Some(known) => {
                            communicators.push(NamedComm::of(known));
                            communicators.len() as u32
                        }
                    }
                });
            }
            if let Some(part) = renumbered.site {
                key[part] = *known.entry(key[part]).or_insert_with_key(|number| {
                    let places = Site::from_number(*number).places();
                    // No site stays none, and so does that of all others.
                    if places.is_empty() {
                        return *number;
                    }
                    let place = places.iter().map(|place| {
                        let file = (place.file(), place.build_id());
                        let number = *numbers.entry(file).or_insert_with(|| {
                            files.push((file.0.to_owned(), file.1.to_owned()));
                            files.len() as u64 - 1
                        });
                        (number, place.offset())
                    });
                    sites.push(place.collect());
                    sites.len() as u32
                });
            }
            let measures = table.measures().iter().enumerate().map(|(index, measure)| {
                let factor = if measure.is_time() { rate } else { 1.0 };
                Measured::of(row.moments(index).scaled(factor), rank)
            });
            let row = MergedRow { events: row.events(), measures: measures.collect() };
            merged.insert(key, row);
        }
        let time = table.measures().iter().position(Measure::is_time);
        let inside = time.map_or(0, |time| {
            merged.values().map(|row: &MergedRow| row.measures[time].moments.sum).sum()
        });
        let [active, useful] = table.useful(wall, inside);
        let useful = if table.is_of_several_threads(active) { UNKNOWN } else { useful };
        let times = RunTimes::of(wall, inside, rank)
            .with_costs(table.overhead(), rank)
            .with_useful([active, useful], rank);
        let mut ticks = BTreeMap::new();
        table.each_segment(|mut key, more| {
            for part in segments::SITES {
                let number = known.get(&key[part]).copied();
                // One that no row has may be the number of another site here.
                key[part] = number.unwrap_or(if key[part] == 0 { 0 } else { u32::MAX });
            }
            let sum: &mut u64 = ticks.entry(key).or_default();
            *sum = sum.saturating_add(more);
        });
        let mut segments = Segments::default();
        for (key, ticks) in ticks {
            segments.add_time(key, (ticks as f64 * rate).round() as u64, rank);
        }
        segments.drop_least();
        let hosts = Hosts::of(times);
        let of_process = rows;
        let (rows, lost, peers) = (merged, table.lost(), None);
        let timeline = MergedTimeline::of(&table.shares(), rank);
        let mut phases = BTreeMap::new();
        table.each_phase(of_process, |number, name, wall, inside| {
            let times = RunTimes::of(wall, inside, rank);
            phases.insert(number, MergedPhase::of(name, times, host_name()));
        });
        Self {
            files,
            sites,
            communicators,
            rows,
            times,
            hosts,
            lost,
            peers,
            timeline,
            phases,
            segments,
        }
    }

    /// A rank without rows, of which so many events are not known.
    pub(crate) fn empty(wall: u64, rank: u64, lost: u64) -> Self {
        // It is not known what of its time is the program's own.
        let times = RunTimes::of(wall, 0, rank).with_useful([wall, UNKNOWN], rank);
        let (files, sites, communicators) = (Vec::new(), Vec::new(), Vec::new());
        let (rows, hosts) = (BTreeMap::new(), Hosts::of(times));
        let (peers, timeline, phases) = (None, MergedTimeline::default(), BTreeMap::new());
        let segments = Segments::default();
        Self {
            files,
            sites,
            communicators,
            rows,
            times,
            hosts,
            lost,
            peers,
            timeline,
            phases,
            segments,
        }
    }

    /// How many events there are in all rows.
    pub(crate) fn events(&self) -> u64 {
        self.rows.values().fold(0, |sum, row| sum.wrapping_add(row.events))
    }

    /// Adds another rank's, or several ranks'. `coarsen` makes a coarse key of a key.
    pub(crate) fn add(
        &mut self,
        other: Self,
        renumbered: Renumbered,
        coarsen: impl Fn(Parts) -> Parts,
    ) {
        let files: Vec<u64> =
            other.files.into_iter().map(|file| self.number_of_file(file)).collect();
        let mut known: HashMap<Places, u32> = self.sites.iter().cloned().zip(1..).collect();
        let mut numbers: Vec<u32> = Vec::new();
        for mut places in other.sites {
            for (file, _) in &mut places {
                *file = files.get(*file as usize).copied().unwrap_or(0);
            }
            numbers.push(*known.entry(places).or_insert_with_key(|places| {
                self.sites.push(places.clone());
                self.sites.len() as u32
            }));
        }
        let communicators = self.add_communicators(other.communicators);
        for (mut key, row) in other.rows {
            renumber(&mut key, renumbered.site, &numbers);
            renumber(&mut key, renumbered.communicator, &communicators);
            if self.rows.len() >= MOST_ROWS && !self.rows.contains_key(&key) {
                key = coarsen(key);
            }
            match self.rows.get_mut(&key) {
                None => {
                    self.rows.insert(key, row);
                }
                Some(here) => {
                    here.events = here.events.wrapping_add(row.events);
                    for (one, other) in here.measures.iter_mut().zip(row.measures) {
                        *one = one.and(other);
                    }
                }
            }
        }
        let mut segments = Segments::default();
        for (mut key, segment) in other.segments.all {
            for part in segments::SITES {
                renumber(&mut key, Some(part), &numbers);
            }
            segments.insert(key, segment);
        }
        let busiest = self.times.useful.most.rank;
        self.times = self.times.and(other.times);
        self.segments.add(segments, self.times.useful.most.rank == busiest);
        self.hosts.add(other.hosts);
        self.lost = self.lost.wrapping_add(other.lost);
        if let Some(peers) = other.peers {
            self.peers.get_or_insert_default().add(peers);
        }
        self.timeline.add(other.timeline);
        for (number, phase) in other.phases {
            match self.phases.get_mut(&number) {
                Some(here) => here.add(phase),
                None => _ = self.phases.insert(number, phase),
            }
        }
        self.forget_unused(renumbered);
    }

    /// What is to be known of the segments for [`answer`](Self::answer), and nothing else.
    pub(crate) fn only_segments(&self) -> Self {
        let (files, sites) = (self.files.clone(), self.sites.clone());
        Self { files, sites, segments: self.segments.clone(), ..Self::empty(0, 0, 0) }
    }

    /// The segments of which the times of all ranks are wanted, without any time; none if there are none, or too many ranks.
    pub(crate) fn question(&self) -> Option<Self> {
        let ranks = self.times.wall.ranks;
        let worst = self.segments.worst(ranks);
        if worst.is_empty() || !(2..=hosts::MOST_RANKS as u64).contains(&ranks) {
            return None;
        }
        let used = worst.iter().flat_map(|key| segments::SITES.map(|part| key[part])).collect();
        let mut question = Self { files: self.files.clone(), ..Self::empty(0, 0, 0) };
        question.sites.clone_from(&self.sites);
        // The numbers that are left keep their order, and so do the keys.
        let numbers = keep_used(&mut question.sites, &used);
        for mut key in worst {
            segments::SITES.into_iter().for_each(|part| renumber(&mut key, Some(part), &numbers));
            question.segments.add_time(key, 0, 0);
        }
        Some(question)
    }

    /// The answer of a rank that has these segments: its number, and its time of each segment of the question.
    pub(crate) fn answer(mut self, own: Self, rank: u64, renumbered: Renumbered) -> Vec<u64> {
        let keys: Vec<Parts> = self.segments.all.keys().copied().collect();
        self.add(own, renumbered, |key| key);
        // If there are too many segments, some of these are left out, and nobody knows which.
        if !keys.iter().all(|key| self.segments.all.contains_key(key)) {
            return vec![rank];
        }
        let time = |key: &Parts| self.segments.all.get(key).map_or(0, |of| of.times.sum);
        [rank].into_iter().chain(keys.iter().map(time)).collect()
    }

    /// Takes the answers of all ranks. If there are not as many, nothing is known of any.
    pub(crate) fn take_answers(&mut self, answers: &[u64]) {
        let (ranks, worst) = (self.times.wall.ranks, self.segments.worst(self.times.wall.ranks));
        let of_ranks: BTreeMap<u64, &[u64]> = answers
            .chunks_exact(worst.len() + 1)
            .filter_map(|answer| answer.split_first())
            .map(|(rank, times)| (*rank, times))
            .collect();
        if of_ranks.len() as u64 != ranks || !of_ranks.keys().copied().eq(0..ranks) {
            return;
        }
        for (position, key) in worst.into_iter().enumerate() {
            let times = of_ranks.values().map(|times| times[position]).collect();
            self.segments.by_rank.insert(key, times);
        }
    }

    /// Adds communicators, and says which number each of them has here. The first rank that has given one a name is
    /// right.
    fn add_communicators(&mut self, others: Vec<NamedComm>) -> Vec<u32> {
        let here = self.communicators.iter().map(|known| known.identity).zip(1..);
        let mut known: HashMap<u64, u32> = here.collect();
        let number_of = |other: NamedComm| match known.get(&other.identity) {
            Some(number) => {
                let here = &mut self.communicators[*number as usize - 1];
                if here.name.is_empty() {
                    here.name = other.name;
                }
                *number
            }
            None => {
                known.insert(other.identity, self.communicators.len() as u32 + 1);
                self.communicators.push(other);
                self.communicators.len() as u32
            }
        };
        others.into_iter().map(number_of).collect()
    }

    /// A file is the same on all ranks if it has the same build ID, wherever it lies; without one, if it has the
    /// same path.
    fn number_of_file(&mut self, file: NamedFile) -> u64 {
        let same = |(path, id): &NamedFile| {
            if file.1.is_empty() { *path == file.0 } else { *id == file.1 }
        };
        let known = self.files.iter().position(same);
        known.unwrap_or_else(|| {
            self.files.push(file);
            self.files.len() - 1
        }) as u64
    }

    /// Drops sites and communicators of rows that have become coarse, so that what is merged does not grow without bound.
    fn forget_unused(&mut self, Renumbered { site, communicator }: Renumbered) {
        if self.sites.len().max(self.communicators.len()) <= MOST_ROWS {
            return;
        }
        let used = |part: Option<usize>| -> BTreeSet<u32> {
            part.iter().flat_map(|part| self.rows.keys().map(|key| key[*part])).collect()
        };
        let (mut used_sites, used_communicators) = (used(site), used(communicator));
        for key in self.segments.all.keys() {
            used_sites.extend(segments::SITES.map(|part| key[part]));
        }
        let sites = keep_used(&mut self.sites, &used_sites);
        let communicators = keep_used(&mut self.communicators, &used_communicators);
        let rows = core::mem::take(&mut self.rows);
        let renumbered = rows.into_iter().map(|(mut key, row)| {
            renumber(&mut key, site, &sites);
            renumber(&mut key, communicator, &communicators);
            (key, row)
        });
        self.rows = renumbered.collect();
        let segments = core::mem::take(&mut self.segments).all;
        self.segments.all = segments
            .into_iter()
            .map(|(mut key, segment)| {
                segments::SITES.into_iter().for_each(|part| renumber(&mut key, Some(part), &sites));
                (key, segment)
            })
            .collect();
    }
}

#[cfg(test)]
mod tests;
