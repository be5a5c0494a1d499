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

use super::hosts::Hosts;
use super::moments::Moments;
use super::peers::merged::MergedPeers;
use super::shard::Shard;
use super::table::{AnyTable, MeasureUnit, PartKind, Parts};
use super::timeline::MergedTimeline;
use super::tracking::{KnownComm, TrackedComm};
use super::{Clock, Site};

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
        let KnownComm { identity, name, sizes } = known;
        Self { identity, name: name.to_owned(), sizes }
    }

    /// As a report shows it.
    pub(crate) fn known(&self) -> KnownComm<'_> {
        KnownComm { identity: self.identity, name: &self.name, sizes: self.sizes }
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
    /// The rest of the wall time, which is the program's own: 0 where several threads are in MPI for longer together.
    pub(crate) useful: Spread,
}

/// How much of the ranks' time is the program's own, and why not all of it: the model of POP, the European centre for
/// performance optimisation. All are parts of 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Efficiency {
    /// The mean useful time as a part of the longest wall time: the product of the others.
    pub(crate) parallel: f64,
    /// The mean useful time as a part of the most useful one: 1 if all ranks have the same work.
    pub(crate) load_balance: f64,
    /// The most useful time as a part of the longest wall time: 1 if the rank that has most work is never in MPI.
    pub(crate) communication: f64,
}

impl RunTimes {
    /// Of one rank.
    pub(crate) fn of(wall: u64, inside: u64, rank: u64) -> Self {
        let share = (inside as f64 / wall.max(1) as f64 * 1e9) as u64;
        Self {
            wall: Spread::of(wall, rank),
            inside: Spread::of(inside, rank),
            share: Spread::of(share, rank),
            useful: Spread::of(wall.saturating_sub(inside), rank),
        }
    }

    /// The efficiencies; none if no rank has done anything of its own.
    pub(crate) fn efficiency(&self) -> Option<Efficiency> {
        let Spread { most, .. } = self.useful;
        if most.value == 0 || self.wall.most.value == 0 {
            return None;
        }
        let mean = self.useful.mean();
        let [most, wall] = [most.value, self.wall.most.value].map(|value| value as f64);
        Some(Efficiency {
            parallel: mean / wall,
            load_balance: mean / most,
            communication: most / wall,
        })
    }

    fn and(self, other: Self) -> Self {
        Self {
            wall: self.wall.and(other.wall),
            inside: self.inside.and(other.inside),
            share: self.share.and(other.share),
            useful: self.useful.and(other.useful),
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
    pub(crate) fn of(table: &AnyTable, rows: &Shard, wall: u64, rank: u64) -> Self {
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
                let factor = if measure.unit == MeasureUnit::Ticks { rate } else { 1.0 };
                Measured::of(row.moments(index).scaled(factor), rank)
            });
            let row = MergedRow { events: row.events(), measures: measures.collect() };
            merged.insert(key, row);
        }
        let time = table.measures().iter().position(|measure| measure.unit == MeasureUnit::Ticks);
        let inside = time.map_or(0, |time| {
            merged.values().map(|row: &MergedRow| row.measures[time].moments.sum).sum()
        });
        let times = RunTimes::of(wall, inside, rank);
        let hosts = Hosts::of(times);
        let (rows, lost, peers) = (merged, table.lost(), None);
        let timeline = MergedTimeline::of(&table.shares(), rank);
        Self { files, sites, communicators, rows, times, hosts, lost, peers, timeline }
    }

    /// A rank without rows, of which so many events are not known.
    pub(crate) fn empty(wall: u64, rank: u64, lost: u64) -> Self {
        let times = RunTimes::of(wall, 0, rank);
        let (files, sites, communicators) = (Vec::new(), Vec::new(), Vec::new());
        let (rows, hosts) = (BTreeMap::new(), Hosts::of(times));
        let (peers, timeline) = (None, MergedTimeline::default());
        Self { files, sites, communicators, rows, times, hosts, lost, peers, timeline }
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
        self.times = self.times.and(other.times);
        self.hosts.add(other.hosts);
        self.lost = self.lost.wrapping_add(other.lost);
        if let Some(peers) = other.peers {
            self.peers.get_or_insert_default().add(peers);
        }
        self.timeline.add(other.timeline);
        self.forget_unused(renumbered);
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
        let (used_sites, used_communicators) = (used(site), used(communicator));
        let sites = keep_used(&mut self.sites, &used_sites);
        let communicators = keep_used(&mut self.communicators, &used_communicators);
        let rows = core::mem::take(&mut self.rows);
        let renumbered = rows.into_iter().map(|(mut key, row)| {
            renumber(&mut key, site, &sites);
            renumber(&mut key, communicator, &communicators);
            (key, row)
        });
        self.rows = renumbered.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: Renumbered = Renumbered { site: Some(1), communicator: Some(2) };

    /// A row for each site of a rank, with one value: the site's offset.
    fn of_rank(rank: u64, offsets: &[u64], build_id: &[u8]) -> Merged {
        let rows = offsets.iter().zip(1..).map(|(offset, number)| {
            let moments = [*offset].into_iter().collect();
            (
                [9, number, 0, 0, 0],
                MergedRow { events: 1, measures: vec![Measured::of(moments, rank)] },
            )
        });
        Merged {
            files: vec![(format!("/home/{rank}/program"), build_id.to_owned())],
            sites: offsets.iter().map(|offset| vec![(0, *offset)]).collect(),
            communicators: Vec::new(),
            rows: rows.collect(),
            times: RunTimes::of(1000, 10 * rank, rank),
            hosts: Hosts::default(),
            lost: 1,
            peers: None,
            timeline: MergedTimeline::default(),
        }
    }

    fn coarsen([function, ..]: Parts) -> Parts {
        [function, u32::MAX, 0, 0, 0]
    }

    /// A rank with a row for each of its communicators, with so many events each.
    fn with_communicators(rank: u64, communicators: &[(u64, &str)], events: u64) -> Merged {
        let named = |(identity, name): &(u64, &str)| NamedComm {
            identity: *identity,
            name: (*name).into(),
            sizes: [2, 0],
        };
        let mut table = of_rank(rank, &[], b"id");
        table.communicators = communicators.iter().map(named).collect();
        let row = MergedRow { events, measures: Vec::new() };
        let keys = (1..=communicators.len() as u32).chain([0, u32::MAX]);
        table.rows = keys.map(|number| ([9, 0, number, 0, 0], row.clone())).collect();
        table
    }

    /// The same program at other paths and with sites in another order: by hand, ranks 0 and 2 have called from 100,
    /// ranks 0 and 1 from 200.
    #[test]
    fn ranks_are_merged_by_what_keys_mean() {
        let mut all = of_rank(0, &[100, 200], b"id");
        all.add(of_rank(1, &[200], b"id"), SITE, coarsen);
        all.add(of_rank(2, &[300, 100], b"id"), SITE, coarsen);
        assert_eq!(all.files.len(), 1);
        let events = |offset: u64| {
            let number = 1 + all.sites.iter().position(|site| site[0] == (0, offset)).unwrap();
            let row = &all.rows[&[9, number as u32, 0, 0, 0]];
            (row.events, row.measures[0].ranks.ranks, row.measures[0].moments.sum)
        };
        assert_eq!(
            [events(100), events(200), events(300)],
            [(2, 2, 200), (2, 2, 400), (1, 1, 300)]
        );
        let Spread { ranks, sum, least, most } = all.times.inside;
        assert_eq!((ranks, sum, least.rank, most.value, most.rank), (3, 30, 0, 20, 2));
        assert_eq!((all.times.share.most.value, all.lost), (20_000_000, 3));
    }

    /// By hand: of walls of 10, 10, 10 and 8 with 4, 6, 2 and 3 in MPI, 6, 4, 8 and 5 are useful, in the mean 5.75.
    /// So the load balance is 5.75 / 8 and the communication efficiency 8 / 10.
    #[test]
    fn efficiencies_of_known_times() {
        let times = [(10, 4), (10, 6), (10, 2), (8, 3)];
        let billion = 1_000_000_000;
        let of_rank = |((wall, inside), rank): ((u64, u64), u64)| {
            RunTimes::of(wall * billion, inside * billion, rank)
        };
        let times = times.into_iter().zip(0..).map(of_rank).reduce(RunTimes::and).unwrap();
        assert_eq!((times.useful.most.rank, times.useful.least.rank), (2, 1));
        let Efficiency { parallel, load_balance, communication } = times.efficiency().unwrap();
        for (one, other) in [
            (parallel, 0.575),
            (load_balance, 0.71875),
            (communication, 0.8),
            (parallel, load_balance * communication),
        ] {
            assert!((one - other).abs() < 1e-6, "{one} is not {other}");
        }
    }

    /// Ranks that are in MPI all the time, also with several threads at once.
    #[test]
    fn nothing_useful_has_no_efficiency() {
        let times = RunTimes::of(10, 10, 0).and(RunTimes::of(10, 25, 1));
        assert_eq!((times.useful.sum, times.efficiency()), (0, None));
        assert_eq!(RunTimes::of(0, 0, 0).efficiency(), None);
    }

    /// Numbered in another order on each rank, and named on the second one only.
    #[test]
    fn communicators_are_merged_by_identity() {
        let mut all = with_communicators(0, &[(70, "world"), (71, "")], 1);
        all.add(
            with_communicators(1, &[(72, "odd"), (71, "even"), (70, "other")], 10),
            SITE,
            coarsen,
        );
        let named = |identity: u64| {
            let number = all.communicators.iter().position(|comm| comm.identity == identity);
            let number = number.unwrap();
            let events = all.rows[&[9, 0, number as u32 + 1, 0, 0]].events;
            (all.communicators[number].name.as_str(), events)
        };
        assert_eq!([named(70), named(71), named(72)], [("world", 11), ("even", 11), ("odd", 10)]);
        assert_eq!((all.communicators.len(), all.rows.len()), (3, 5));
        for none in [0, u32::MAX] {
            assert_eq!(all.rows[&[9, 0, none, 0, 0]].events, 11);
        }
    }

    /// What no row is about any more goes, and the others keep their rows.
    #[test]
    fn unused_things_are_dropped() {
        let mut things = vec!["a", "b", "c", "d"];
        let numbers = keep_used(&mut things, &BTreeSet::from([2, 4, u32::MAX]));
        assert_eq!((things, &numbers), (vec!["b", "d"], &vec![0, 1, 1, 2]));
        let renumbered = |number| {
            let mut key = [9, number, 0, 0, 0];
            renumber(&mut key, Some(1), &numbers);
            key[1]
        };
        assert_eq!([2, 4, 0, u32::MAX].map(renumbered), [1, 2, 0, u32::MAX]);
    }

    #[test]
    fn another_build_is_another_file() {
        let mut all = of_rank(0, &[100], b"one");
        all.add(of_rank(1, &[100], b"two"), SITE, coarsen);
        assert_eq!((all.files.len(), all.sites.len(), all.rows.len()), (2, 2, 2));
    }

    /// A tree of 2^20 ranks, of which each level is one merge of two halves that are alike: the root has as many rows
    /// after it as before.
    #[test]
    fn equal_ranks_take_no_more_memory_at_the_root() {
        let mut all = of_rank(0, &[1, 2, 3], b"id");
        for _ in 0..20 {
            let half = all.clone();
            all.add(half, SITE, coarsen);
        }
        assert_eq!((all.files.len(), all.sites.len(), all.rows.len()), (1, 3, 3));
        let row = &all.rows[&[9, 3, 0, 0, 0]];
        assert_eq!((row.events, row.measures[0].moments.sum), (1 << 20, 3 << 20));
        assert_eq!(row.measures[0].ranks.ranks, 1 << 20);
    }

    /// Wholly different sites of 20 ranks are more than there is room for: the total is still right.
    #[test]
    fn different_ranks_are_bounded_and_lose_no_total() {
        let mut all = of_rank(0, &[], b"id");
        let (mut events, mut sum) = (0, 0);
        for rank in 0..20 {
            let offsets: Vec<u64> = (0..5000).map(|site| 1 + rank * 5000 + site).collect();
            events += offsets.len() as u64;
            sum += offsets.iter().sum::<u64>();
            all.add(of_rank(rank, &offsets, b"id"), SITE, coarsen);
        }
        assert_eq!(all.rows.len(), MOST_ROWS + 1);
        assert_eq!(all.rows.values().map(|row| row.events).sum::<u64>(), events);
        assert_eq!(all.rows.values().map(|row| row.measures[0].moments.sum).sum::<u64>(), sum);
        assert_eq!(all.rows[&[9, u32::MAX, 0, 0, 0]].events, events - MOST_ROWS as u64);
        assert!(all.sites.len() <= MOST_ROWS + 5000);
    }

    #[test]
    fn the_lowest_of_equal_ranks_is_named() {
        let spread = [3, 1, 2].map(|rank| Spread::of(7, rank)).into_iter().reduce(Spread::and);
        let extreme = Extreme { value: 7, rank: 1 };
        assert_eq!(spread, Some(Spread { ranks: 3, sum: 21, least: extreme, most: extreme }));
    }
}
