//! The samples of the last seconds, and what comes out of them.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use super::sample::{Call, How, Rank, Sample};
use crate::cli::SortBy;

/// Samples, the oldest first.
pub(super) struct Window {
    length: Duration,
    samples: VecDeque<Sample>,
}

/// What comes out, by the worlds' names.
#[derive(Clone)]
pub(super) struct Summary {
    /// Between the first sample and the last one.
    pub(super) seconds: f64,
    pub(super) looks: usize,
    pub(super) worlds: BTreeMap<String, WorldSummary>,
}

/// Of a world.
#[derive(Clone)]
pub(super) struct WorldSummary {
    pub(super) size: u32,
    /// On how many hosts the ranks are.
    pub(super) hosts: usize,
    pub(super) unseen: Option<String>,
    pub(super) ranks: Vec<RankSummary>,
    /// How many ranks a filter has left out.
    pub(super) hidden: usize,
    pub(super) causes: Vec<Cause>,
}

/// Of a rank.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RankSummary {
    pub(super) rank: u32,
    pub(super) host: String,
    /// In the last sample.
    pub(super) now: How,
    /// Which share of the samples found it in MPI.
    pub(super) in_mpi: f64,
    pub(super) calls: u64,
    pub(super) calls_per_second: f64,
    /// Where it was found most, and in which share of the samples.
    pub(super) mostly: Option<(How, Call, f64)>,
    /// For whom it has waited, and which share of the time, the longest first.
    pub(super) waits: Vec<(u32, f64)>,
    /// It has been in one call all the time.
    pub(super) stands: bool,
}

/// Ranks that wait for one and the same.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cause {
    pub(super) rank: u32,
    /// The ranks that wait for this one longer than for any other.
    pub(super) waiting: Vec<u32>,
    /// Which share of the time they wait for it, on average.
    pub(super) share: f64,
    /// What it does while they wait: where it was found most then.
    pub(super) doing: Option<(How, Call)>,
}

/// A wait for less than this share of the time is not told.
pub(super) const LITTLE: f64 = 0.02;

impl Window {
    pub(super) fn new(length: Duration) -> Self {
        Self { length, samples: VecDeque::new() }
    }

    pub(super) fn push(&mut self, sample: Sample) {
        let newest = sample.at;
        self.samples.push_back(sample);
        // Two tell more than one, even if they are far apart, as looks at very many ranks are.
        while let [first, _, _, ..] = self.samples.make_contiguous()
            && newest.duration_since(first.at) > self.length
        {
            self.samples.pop_front();
        }
    }

    /// How many samples there are.
    pub(super) fn len(&self) -> usize {
        self.samples.len()
    }

    pub(super) fn summary(&self) -> Summary {
        let (Some(first), Some(last)) = (self.samples.front(), self.samples.back()) else {
            return Summary { seconds: 0.0, looks: 0, worlds: BTreeMap::new() };
        };
        let worlds = last.worlds.iter().map(|(name, world)| {
            let ranks: Vec<_> =
                world.ranks.iter().map(|(rank, now)| self.rank(name, *rank, now)).collect();
            let causes = self.causes(name, &ranks);
            let unseen = world.unseen.clone();
            let hosts: BTreeSet<_> = ranks.iter().map(|rank| &rank.host).collect();
            let (size, hosts) = (world.size, hosts.len());
            (name.clone(), WorldSummary { size, hosts, unseen, ranks, hidden: 0, causes })
        });
        Summary {
            seconds: last.at.duration_since(first.at).as_secs_f64(),
            looks: self.samples.len(),
            worlds: worlds.collect(),
        }
    }

    /// A rank in all samples that have it.
    fn of<'a>(&'a self, world: &'a str, rank: u32) -> impl Iterator<Item = (&'a Sample, &'a Rank)> {
        self.samples
            .iter()
            .filter_map(move |sample| Some((sample, sample.worlds.get(world)?.ranks.get(&rank)?)))
    }

    fn rank(&self, world: &str, rank: u32, now: &Rank) -> RankSummary {
        let mut places: BTreeMap<(How, &Call), usize> = BTreeMap::new();
        let mut waits: BTreeMap<u32, usize> = BTreeMap::new();
        let (mut looks, mut in_mpi, mut stands) = (0, 0, true);
        let mut first = None;
        for (sample, found) in self.of(world, rank) {
            looks += 1;
            let (_, calls) = *first.get_or_insert((sample.at, found.calls));
            stands &= found.how == How::InMpi && found.calls == calls;
            in_mpi += usize::from(found.how == How::InMpi);
            if let Some(call) = &found.call {
                *places.entry((found.how, call)).or_default() += 1;
            }
            for whom in &found.for_whom {
                *waits.entry(*whom).or_default() += 1;
            }
        }
        let share = |count: usize| count as f64 / looks.max(1) as f64;
        let mostly = most(places).map(|(how, call, count)| (how, call, share(count)));
        let mut waits: Vec<_> =
            waits.into_iter().map(|(whom, count)| (whom, share(count))).collect();
        waits.sort_by(|(one, less), (other, more)| more.total_cmp(less).then(one.cmp(other)));
        let last = self.samples.back().map(|sample| sample.at);
        let passed =
            first.zip(last).map_or(0.0, |((then, _), now)| now.duration_since(then).as_secs_f64());
        let made = now.calls.saturating_sub(first.map_or(now.calls, |(_, calls)| calls));
        RankSummary {
            rank,
            host: now.host.clone(),
            now: now.how,
            in_mpi: share(in_mpi),
            calls: now.calls,
            calls_per_second: if passed > 0.0 { made as f64 / passed } else { 0.0 },
            mostly,
            waits,
            stands: stands && looks > 1,
        }
    }

    /// Those that others wait for, who cost most first.
    fn causes(&self, world: &str, ranks: &[RankSummary]) -> Vec<Cause> {
        let mut causes: BTreeMap<u32, (Vec<u32>, f64)> = BTreeMap::new();
        for rank in ranks {
            if let Some((whom, share)) = rank.waits.first().filter(|(_, share)| *share >= LITTLE) {
                let (waiting, sum) = causes.entry(*whom).or_default();
                waiting.push(rank.rank);
                *sum += share;
            }
        }
        let mut causes: Vec<_> = causes
            .into_iter()
            .map(|(rank, (waiting, sum))| {
                let share = sum / waiting.len() as f64;
                let doing = self.meanwhile(world, rank, &waiting);
                Cause { rank, waiting, share, doing }
            })
            .collect();
        let cost = |cause: &Cause| cause.share * cause.waiting.len() as f64;
        causes.sort_by(|one, other| cost(other).total_cmp(&cost(one)));
        causes
    }

    /// Where a rank was found most while one of these waited for it.
    fn meanwhile(&self, world: &str, rank: u32, waiting: &[u32]) -> Option<(How, Call)> {
        let mut places: BTreeMap<(How, &Call), usize> = BTreeMap::new();
        for (sample, found) in self.of(world, rank) {
            let ranks = &sample.worlds.get(world)?.ranks;
            let waits = |one: &u32| ranks.get(one).is_some_and(|it| it.for_whom.contains(&rank));
            if let Some(call) = found.call.as_ref().filter(|_| waiting.iter().any(waits)) {
                *places.entry((found.how, call)).or_default() += 1;
            }
        }
        most(places).map(|(how, call, _)| (how, call))
    }
}

/// Where a rank was found most, and how often.
fn most(places: BTreeMap<(How, &Call), usize>) -> Option<(How, Call, usize)> {
    let most = places
        .into_iter()
        .max_by(|(one, count), (other, than)| count.cmp(than).then_with(|| other.cmp(one)))?;
    let ((how, call), count) = most;
    Some((how, call.clone(), count))
}

/// Sorts ranks, of which some make others wait.
pub(super) fn sort(ranks: &mut [RankSummary], causes: &[Cause], by: SortBy) {
    let places: BTreeMap<u32, usize> =
        causes.iter().enumerate().map(|(at, cause)| (cause.rank, at)).collect();
    let place = |rank: &RankSummary| places.get(&rank.rank).copied().unwrap_or(usize::MAX);
    ranks.sort_by(|one, other| {
        let order = match by {
            SortBy::Worst => (other.stands.cmp(&one.stands))
                .then_with(|| place(one).cmp(&place(other)))
                .then_with(|| other.in_mpi.total_cmp(&one.in_mpi)),
            SortBy::Rank => std::cmp::Ordering::Equal,
            SortBy::Mpi => other.in_mpi.total_cmp(&one.in_mpi),
            SortBy::Work => one.in_mpi.total_cmp(&other.in_mpi),
            SortBy::Calls => other.calls_per_second.total_cmp(&one.calls_per_second),
        };
        order.then(one.rank.cmp(&other.rank))
    });
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Instant;

    use mpi_facts::FunctionId;

    use super::super::sample::World;
    use super::*;
    use crate::report::symbols::Place;

    /// Two ranks, 100 ms between two samples: rank 0 works in eight of ten and waits for nobody, and rank 1 waits for it
    /// meanwhile.
    pub(in super::super) fn example() -> Window {
        let mut window = Window::new(Duration::from_secs(5));
        let begin = Instant::now();
        let site = |offset| vec![Place::new("/app".into(), String::new(), offset)];
        for at in 0..10_u64 {
            let works = at < 8;
            let zero = Rank {
                host: "node".into(),
                how: if works { How::Outside } else { How::InMpi },
                call: Some((FunctionId::MPI_Send, site(1))),
                calls: 100 + at,
                for_whom: vec![],
            };
            let one = Rank {
                host: "node".into(),
                how: How::InMpi,
                call: Some((FunctionId::MPI_Recv, site(2))),
                calls: 7,
                for_whom: if works { vec![0] } else { vec![] },
            };
            let world = World {
                size: 2,
                program: "/app".into(),
                ranks: [(0, zero), (1, one)].into(),
                unseen: None,
            };
            let at = begin + Duration::from_millis(100 * at);
            window.push(Sample { at, worlds: [(String::new(), world)].into() });
        }
        window
    }

    #[test]
    fn shares_are_of_all_samples() {
        let summary = example().summary();
        let world = &summary.worlds[""];
        let [zero, one] = &world.ranks[..] else { panic!("two ranks") };
        assert_eq!((summary.looks, zero.in_mpi, one.in_mpi), (10, 0.2, 1.0));
        // Nine calls in 0.9 s.
        assert!((zero.calls_per_second - 10.0).abs() < 1e-6, "{}", zero.calls_per_second);
        assert!(one.stands && !zero.stands);
        assert_eq!(one.waits, [(0, 0.8)]);
        let [cause] = &world.causes[..] else { panic!("{:?}", world.causes) };
        assert_eq!((cause.rank, &cause.waiting[..], cause.share), (0, &[1][..], 0.8));
        let (how, (function, _)) = cause.doing.as_ref().unwrap();
        assert_eq!((*how, *function), (How::Outside, FunctionId::MPI_Send));
    }

    /// Samples that are older than the window are no longer in it.
    #[test]
    fn the_past_is_forgotten() {
        let mut window = example();
        window.length = Duration::from_millis(500);
        let later = Instant::now() + Duration::from_secs(60);
        let worlds = BTreeMap::new();
        window.push(Sample { at: later, worlds });
        // The last two are kept: only they tell what moves.
        assert_eq!(window.samples.len(), 2);
    }
}
