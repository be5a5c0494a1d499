//! A [`Merged`] table as bytes, for a message to another rank: numbers of eight bytes, least first.
//!
//! A list is its length and its elements, and so is a text. A table is, in this order:
//!
//! * the list of files: of each its path and its build ID;
//! * the list of call sites: of each the list of its places, which are the number of a file and an offset in it;
//! * the list of communicators: of each its identity, its name and the sizes of its two groups;
//! * the list of rows: of each the parts of its key, its events, and the list of its measures;
//! * wall time, time in MPI, share of MPI, useful time, the tool's own time and lost processors, each as a [`Spread`];
//! * the list of hosts: of each its name, the useful time of its ranks, and the list of these: of each the number, the wall time
//!   and the time in MPI;
//! * the events that were lost;
//! * the list of the peers' numbers, which is empty if there are no peers;
//! * the list of the timeline's numbers;
//! * the list of the program's phases: of each its number, its name, its times as those of the run, and the list of hosts:
//!   of each its name and the useful time of its ranks;
//! * the list of segments: of each the parts of its key, the ranks' times, and that of the rank with most useful time.
//!
//! All ranks have the same tool in the same version, which they make sure of before, so a message has no version of its
//! own. What is read is still checked: each length against what there is, and that nothing is left over.

use std::collections::BTreeMap;

use super::hosts::{Host, Hosts, RankTimes};
use super::merged::{Extreme, Measured, Merged, MergedRow, NamedComm, RunTimes, Spread};
use super::moments::Moments;
use super::peers::merged::MergedPeers;
use super::phases::MergedPhase;
use super::segments::{Segment, Segments};
use super::table::Parts;
use super::timeline::MergedTimeline;

impl Merged {
    /// The table as bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer(Vec::new());
        out.number(self.files.len() as u64);
        for (path, build_id) in &self.files {
            out.bytes(path.as_bytes());
            out.bytes(build_id);
        }
        out.number(self.sites.len() as u64);
        for places in &self.sites {
            out.number(places.len() as u64);
            for (file, offset) in places {
                out.number(*file);
                out.number(*offset);
            }
        }
        out.number(self.communicators.len() as u64);
        for NamedComm { identity, name, sizes } in &self.communicators {
            out.number(*identity);
            out.bytes(name.as_bytes());
            sizes.iter().for_each(|size| out.number((*size).into()));
        }
        out.number(self.rows.len() as u64);
        for (key, row) in &self.rows {
            key.iter().for_each(|part| out.number((*part).into()));
            out.number(row.events);
            out.number(row.measures.len() as u64);
            row.measures.iter().for_each(|measured| out.measured(measured));
        }
        out.times(&self.times);
        out.number(self.hosts.0.len() as u64);
        for (name, Host { useful, ranks }) in &self.hosts.0 {
            out.bytes(name.as_bytes());
            out.spread(useful);
            out.number(ranks.len() as u64);
            for RankTimes { rank, wall, inside } in ranks {
                [rank, wall, inside].into_iter().for_each(|number| out.number(*number));
            }
        }
        out.number(self.lost);
        let peers = self.peers.as_ref().map(MergedPeers::to_numbers).unwrap_or_default();
        out.number(peers.len() as u64);
        peers.into_iter().for_each(|number| out.number(number));
        let timeline = self.timeline.to_numbers();
        out.number(timeline.len() as u64);
        timeline.into_iter().for_each(|number| out.number(number));
        out.number(self.phases.len() as u64);
        for (number, MergedPhase { name, times, hosts }) in &self.phases {
            out.number((*number).into());
            out.bytes(name.as_bytes());
            out.times(times);
            out.number(hosts.len() as u64);
            for (host, useful) in hosts {
                out.bytes(host.as_bytes());
                out.spread(useful);
            }
        }
        out.number(self.segments.all.len() as u64);
        for (key, Segment { times, busiest }) in &self.segments.all {
            key.iter().for_each(|part| out.number((*part).into()));
            out.spread(times);
            out.number(*busiest);
        }
        out.0
    }

    /// The table of bytes; `None` if they are of none.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut from = Reader(bytes);
        let files = from.list(|from| Some((from.text()?, from.bytes()?.to_owned())))?;
        let sites = from.list(|from| from.list(|from| Some((from.number()?, from.number()?))))?;
        let communicators = from.list(|from| {
            let identity = from.number()?;
            let name = from.text()?;
            let sizes = [from.number()?, from.number()?];
            let [Ok(size), Ok(other)] = sizes.map(u32::try_from) else { return None };
            Some(NamedComm { identity, name, sizes: [size, other] })
        })?;
        let rows = from.list(|from| {
            let key = from.key()?;
            let events = from.number()?;
            Some((key, MergedRow { events, measures: from.list(Reader::measured)? }))
        })?;
        let times = from.times()?;
        let hosts = from.list(|from| {
            let name = from.text()?;
            let useful = from.spread()?;
            let ranks = from.list(|from| {
                let (rank, wall, inside) = (from.number()?, from.number()?, from.number()?);
                Some(RankTimes { rank, wall, inside })
            })?;
            Some((name, Host { useful, ranks }))
        })?;
        let hosts = Hosts(hosts.into_iter().collect());
        let lost = from.number()?;
        let peers = from.list(Reader::number)?;
        let peers = match &peers[..] {
            [] => None,
            numbers => Some(MergedPeers::from_numbers(numbers)?),
        };
        let timeline = MergedTimeline::from_numbers(&from.list(Reader::number)?)?;
        let phases = from.list(|from| {
            let number = from.number()?.try_into().ok()?;
            let (name, times) = (from.text()?, from.times()?);
            let hosts = from.list(|from| Some((from.text()?, from.spread()?)))?;
            Some((number, MergedPhase { name, times, hosts: hosts.into_iter().collect() }))
        })?;
        let segments = from.list(|from| {
            let (key, times, busiest) = (from.key()?, from.spread()?, from.number()?);
            Some((key, Segment { times, busiest }))
        })?;
        let segments = Segments { all: segments.into_iter().collect(), ..Segments::default() };
        let rows: BTreeMap<_, _> = rows.into_iter().collect();
        let phases = phases.into_iter().collect();
        let table = Self {
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
        };
        from.0.is_empty().then_some(table)
    }
}

/// Numbers as bytes.
pub(super) fn bytes_of(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The numbers that bytes contain. Bytes at the end that are fewer than a number has are left out.
pub(super) fn numbers_of(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.as_chunks().0.iter().map(|number| u64::from_le_bytes(*number))
}

/// The bytes so far.
struct Writer(Vec<u8>);

impl Writer {
    fn number(&mut self, number: u64) {
        self.0.extend_from_slice(&number.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn spread(&mut self, spread: &Spread) {
        let Spread { ranks, sum, least, most } = spread;
        [*ranks, *sum, least.value, least.rank, most.value, most.rank]
            .into_iter()
            .for_each(|number| self.number(number));
    }

    fn times(&mut self, times: &RunTimes) {
        let RunTimes { wall, inside, share, active, useful, overhead, preempted } = times;
        [wall, inside, share, active, useful, overhead, preempted]
            .into_iter()
            .for_each(|spread| self.spread(spread));
    }

    fn measured(&mut self, measured: &Measured) {
        let Measured { moments, least_rank, most_rank, ranks } = measured;
        let Moments { count, sum, least, most, squares } = moments;
        [*count, *sum, *least, *most, squares.to_bits(), *least_rank, *most_rank]
            .into_iter()
            .for_each(|number| self.number(number));
        self.spread(ranks);
    }
}

/// The bytes that have not been read yet. Each method is `None` if there are too few of them.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn number(&mut self) -> Option<u64> {
        let (number, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*number))
    }

    fn key(&mut self) -> Option<Parts> {
        let mut key = Parts::default();
        for part in &mut key {
            *part = self.number()?.try_into().ok()?;
        }
        Some(key)
    }

    fn text(&mut self) -> Option<String> {
        Some(String::from_utf8_lossy(self.bytes()?).into_owned())
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    /// A list. Its length may be wrong, so no memory is taken for elements that have not been read.
    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.number()?;
        (0..length).map(|_| one(self)).collect()
    }

    fn spread(&mut self) -> Option<Spread> {
        let (ranks, sum) = (self.number()?, self.number()?);
        let mut extreme = || Some(Extreme { value: self.number()?, rank: self.number()? });
        Some(Spread { ranks, sum, least: extreme()?, most: extreme()? })
    }

    fn times(&mut self) -> Option<RunTimes> {
        Some(RunTimes {
            wall: self.spread()?,
            inside: self.spread()?,
            share: self.spread()?,
            active: self.spread()?,
            useful: self.spread()?,
            overhead: self.spread()?,
            preempted: self.spread()?,
        })
    }

    fn measured(&mut self) -> Option<Measured> {
        let (count, sum) = (self.number()?, self.number()?);
        let (least, most) = (self.number()?, self.number()?);
        let squares = f64::from_bits(self.number()?);
        let (least_rank, most_rank) = (self.number()?, self.number()?);
        let moments = Moments { count, sum, least, most, squares };
        Some(Measured { moments, least_rank, most_rank, ranks: self.spread()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_comes_back_as_it_went() {
        let moments: Moments = [1, 2, 30].into_iter().collect();
        let row = MergedRow {
            events: 4,
            measures: vec![Measured::of(moments, 5), Measured::of(Moments::NONE, 5)],
        };
        let table = Merged {
            files: vec![("/a program".into(), vec![0, 255]), (String::new(), vec![])],
            sites: vec![vec![(1, 2), (0, u64::MAX)], vec![]],
            communicators: vec![NamedComm {
                identity: u64::MAX,
                name: "columns".into(),
                sizes: [3, 0],
            }],
            rows: BTreeMap::from([([1, 2, 3, u32::MAX, 5], row.clone()), (Parts::default(), row)]),
            times: RunTimes { overhead: Spread::of(2, 9), ..RunTimes::of(7, 8, 9) },
            hosts: Hosts(BTreeMap::from([(
                "node 1".into(),
                Host {
                    useful: Spread::of(6, 9),
                    ranks: vec![RankTimes { rank: 9, wall: 10, inside: 4 }],
                },
            )])),
            lost: 10,
            peers: Some(MergedPeers::default()),
            timeline: MergedTimeline::from_numbers(&[3, 7, 2, 3, 0, 1000, 5]).unwrap(),
            phases: BTreeMap::from([(
                3,
                MergedPhase::of("solver", RunTimes::of(5, 4, 9), "node 1".into()),
            )]),
            segments: Segments {
                all: BTreeMap::from([(
                    [1, 2, 3, u32::MAX, 5],
                    Segment { times: Spread::of(4, 9), busiest: 4 },
                )]),
                ..Segments::default()
            },
        };
        let bytes = table.to_bytes();
        assert_eq!(Merged::from_bytes(&bytes), Some(table));
        for length in 0..bytes.len() {
            assert_eq!(Merged::from_bytes(&bytes[..length]), None, "{length} bytes");
        }
    }
}
