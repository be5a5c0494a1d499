//! What a report of a table reads: of all ranks, or of this process alone. Reading allocates nothing, so that
//! a report of a process can be written in a signal handler.

use super::hosts::{HostBalance, Hosts};
use super::merged::{Measured, Merged, RunTimes};
use super::phases::MergedPhase;
use super::segments::Segments;
use super::shard::Sum;
use super::site::SITES;
use super::table::{AnyTable, Parts};
use super::timeline::{Share, ShareRow};
use super::tracking::{KnownComm, TrackedComm};
use super::{Clock, Site};

/// A row, as a report shows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowView {
    pub(crate) key: Parts,
    pub(crate) events: u64,
    /// How many ranks have it.
    pub(crate) ranks: u64,
}

/// Gets a row, and a function that tells of a measure by its number.
pub(crate) type EachRow<'a> = dyn FnMut(RowView, &dyn Fn(usize) -> Measured) + 'a;

/// A row of the timeline.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ShareView<'a> {
    /// The lowest of the ranks.
    pub(crate) rank: u64,
    pub(crate) ranks: u64,
    /// How wide a bin is, in nanoseconds.
    pub(crate) width: u64,
    /// The share of each bin, in thousandths.
    pub(crate) bins: &'a [Share],
}

/// A phase of which is known how long it took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PhaseView<'a> {
    pub(crate) number: u32,
    /// Empty if it has none.
    pub(crate) name: &'a str,
    pub(crate) times: &'a RunTimes,
    /// Of several hosts.
    pub(crate) balance: Option<HostBalance>,
}

/// A table to be reported.
pub(crate) trait View {
    /// How long the ranks ran, and how much of it they were in MPI.
    fn times(&self) -> RunTimes;
    /// Where the ranks ran; none of this process alone.
    fn hosts(&self) -> Option<&Hosts>;
    /// Calls `each` with the rows of the timeline, by rank.
    fn timeline(&self, each: &mut dyn FnMut(ShareView<'_>));
    /// Calls `each` with each phase of which is known how long it took.
    fn phases(&self, each: &mut dyn FnMut(PhaseView<'_>));
    /// The application's own time between events; none of this process alone.
    fn segments(&self) -> Option<&Segments>;
    /// The name of a phase; empty if it has none.
    fn phase_name(&self, number: u32) -> &str;
    /// Events that could not be counted.
    fn lost(&self) -> u64;
    /// Calls `each` with the rows, in any order, and a function that tells of a measure by its number.
    fn each_row(&self, each: &mut EachRow<'_>);
    /// How many sites there are: their numbers are 1 to this.
    fn sites(&self) -> u32;
    /// Calls `each` with the places of a site: path, build ID and offset.
    fn each_place(&self, site: u32, each: &mut dyn FnMut(&str, &[u8], u64));
    /// How many communicators there are: their numbers are 1 to this.
    fn communicators(&self) -> u32;
    /// What is known of a communicator, by its number.
    fn communicator(&self, number: u32) -> Option<KnownComm<'_>>;
}

/// All ranks.
impl View for Merged {
    fn times(&self) -> RunTimes {
        self.times
    }

    fn hosts(&self) -> Option<&Hosts> {
        Some(&self.hosts)
    }

    fn timeline(&self, each: &mut dyn FnMut(ShareView<'_>)) {
        let width = self.timeline.width();
        for ShareRow { first, ranks, bins } in &self.timeline.rows {
            each(ShareView { rank: *first, ranks: *ranks, width, bins });
        }
    }

    fn phases(&self, each: &mut dyn FnMut(PhaseView<'_>)) {
        for (number, phase) in &self.phases {
            let MergedPhase { name, times, .. } = phase;
            each(PhaseView { number: *number, name, times, balance: phase.balance() });
        }
    }

    fn segments(&self) -> Option<&Segments> {
        (!self.segments.is_empty()).then_some(&self.segments)
    }

    fn phase_name(&self, number: u32) -> &str {
        self.phases.get(&number).map_or("", |phase| &phase.name)
    }

    fn lost(&self) -> u64 {
        self.lost
    }

    fn each_row(&self, each: &mut EachRow<'_>) {
        for (key, row) in &self.rows {
            let ranks = row.measures.first().map_or(1, |measured| measured.ranks.ranks);
            each(RowView { key: *key, events: row.events, ranks }, &|index| row.measures[index]);
        }
    }

    fn sites(&self) -> u32 {
        self.sites.len() as u32
    }

    fn each_place(&self, site: u32, each: &mut dyn FnMut(&str, &[u8], u64)) {
        let Some(places) = self.sites.get(site.wrapping_sub(1) as usize) else { return };
        for (file, offset) in places {
            if let Some((path, build_id)) = self.files.get(*file as usize) {
                each(path, build_id, *offset);
            }
        }
    }

    fn communicators(&self) -> u32 {
        self.communicators.len() as u32
    }

    fn communicator(&self, number: u32) -> Option<KnownComm<'_>> {
        Some(self.communicators.get(number.checked_sub(1)? as usize)?.known())
    }
}

/// This process: its rows of all threads, added up in a shard that was mapped beforehand.
pub(crate) struct Process<'a> {
    table: &'a AnyTable,
    rows: Sum,
    rank: u64,
    wall: u64,
    rate: f64,
}

impl<'a> Process<'a> {
    /// Adds up what all threads have by now. Nobody else uses `rows` meanwhile.
    pub(crate) fn of(table: &'a AnyTable, rows: Sum, wall: u64, rank: u64) -> Self {
        table.add_up(rows);
        Self { table, rows, rank, wall, rate: Clock::nanoseconds_per_tick() }
    }

    /// Are a measure's values ticks of this process's clock?
    fn is_time(&self, index: usize) -> bool {
        self.table.measures()[index].is_time()
    }
}

impl View for Process<'_> {
    fn times(&self) -> RunTimes {
        let time = (0..self.table.measures().len()).find(|index| self.is_time(*index));
        let ticks = |time| self.rows.rows().map(|row| row.moments(time).sum).sum::<u64>();
        let inside = time.map_or(0, |time| (ticks(time) as f64 * self.rate) as u64);
        RunTimes::of(self.wall, inside, self.rank)
            .with_costs(self.table.overhead(), self.rank)
            .with_useful(self.table.useful(self.wall, inside), self.rank)
    }

    fn hosts(&self) -> Option<&Hosts> {
        None
    }

    fn timeline(&self, each: &mut dyn FnMut(ShareView<'_>)) {
        let shares = self.table.shares();
        if !shares.bins().is_empty() {
            let (width, bins) = (shares.width(), shares.bins());
            each(ShareView { rank: self.rank, ranks: 1, width, bins });
        }
    }

    fn phases(&self, each: &mut dyn FnMut(PhaseView<'_>)) {
        self.table.each_phase(self.rows, |number, name, wall, inside| {
            let times = &RunTimes::of(wall, inside, self.rank);
            each(PhaseView { number, name, times, balance: None });
        });
    }

    fn segments(&self) -> Option<&Segments> {
        None
    }

    fn phase_name(&self, number: u32) -> &str {
        self.table.phase_name(number)
    }

    fn lost(&self) -> u64 {
        self.table.lost()
    }

    fn each_row(&self, each: &mut EachRow<'_>) {
        let layout = self.table.layout();
        for row in self.rows.rows() {
            let view = RowView { key: layout.parts(row.key()), events: row.events(), ranks: 1 };
            each(view, &|index| {
                let factor = if self.is_time(index) { self.rate } else { 1.0 };
                Measured::of(row.moments(index).scaled(factor), self.rank)
            });
        }
    }

    fn sites(&self) -> u32 {
        let known = |number: &u32| !Site::from_number(*number).places().is_empty();
        (1..SITES as u32).take_while(known).count() as u32
    }

    fn each_place(&self, site: u32, each: &mut dyn FnMut(&str, &[u8], u64)) {
        for place in Site::from_number(site).places() {
            each(place.file(), place.build_id(), place.offset());
        }
    }

    fn communicators(&self) -> u32 {
        TrackedComm::count()
    }

    fn communicator(&self, number: u32) -> Option<KnownComm<'_>> {
        TrackedComm::from_number(number).known()
    }
}
