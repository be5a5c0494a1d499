use super::super::hosts::HostBalance;
use super::*;

const SITE: Renumbered = Renumbered { site: Some(1), communicator: Some(2) };

/// A row for each site of a rank, with one value: the site's offset.
fn of_rank(rank: u64, offsets: &[u64], build_id: &[u8]) -> Merged {
    let rows = offsets.iter().zip(1..).map(|(offset, number)| {
        let moments = [*offset].into_iter().collect();
        ([9, number, 0, 0, 0], MergedRow { events: 1, measures: vec![Measured::of(moments, rank)] })
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
        phases: BTreeMap::new(),
        segments: Segments::default(),
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
    assert_eq!([events(100), events(200), events(300)], [(2, 2, 200), (2, 2, 400), (1, 1, 300)]);
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
    all.add(with_communicators(1, &[(72, "odd"), (71, "even"), (70, "other")], 10), SITE, coarsen);
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

fn phase(name: &str, times: RunTimes, host: &str) -> MergedPhase {
    MergedPhase::of(name, times, host.to_owned())
}

/// By hand: of phase 2, rank 0 has 10 with 4 in MPI, and rank 1 has 8 with 5, so 6 and 3 are useful: 4.5 in the mean, of a
/// most of 6, and of 10. Phase 3 is of rank 1 only.
#[test]
fn phases_are_added_over_the_ranks_that_have_them() {
    let renumbered = Renumbered { site: None, communicator: None };
    let mut all = of_rank(0, &[], b"id");
    all.phases.insert(2, phase("", RunTimes::of(10, 4, 0), "a"));
    let mut other = of_rank(1, &[], b"id");
    other.phases.insert(2, phase("solver", RunTimes::of(8, 5, 1), "b"));
    other.phases.insert(3, phase("", RunTimes::of(7, 7, 1), "b"));
    all.add(other, renumbered, coarsen);
    let both = all.phases[&2].times;
    assert_eq!((both.wall.ranks, both.wall.sum, both.inside.sum, both.useful.sum), (2, 18, 9, 9));
    let expected = Efficiency { parallel: 0.45, load_balance: 0.75, communication: 0.6 };
    assert_eq!(both.efficiency(), Some(expected));
    let of_one = all.phases[&3].times;
    assert_eq!((of_one.wall.ranks, of_one.efficiency()), (1, None));
    assert_eq!([&*all.phases[&2].name, &*all.phases[&3].name], ["solver", ""]);
    // The host with most work has 6 of a most of 6, and all ranks have 4.5 of that.
    let expected = HostBalance { within: 1.0, between: 0.75 };
    assert_eq!((all.phases[&2].balance(), all.phases[&3].balance()), (Some(expected), None));
}

/// Three ranks, each of which numbers its sites in another way. Rank 0 has most useful time: 1,000, and the others 990 and 980. By
/// hand: it computes 60 from 100 to 200, where the mean of all is 30, and 5 from 200 to 100, where that is 25. Rank 2 does not have
/// the first segment, and has one of its own.
#[test]
fn each_rank_answers_for_its_own_segments() {
    let rank = |rank: u64, offsets: &[u64], times: &[(u32, u32, u64)]| {
        let mut table = of_rank(rank, offsets, b"id");
        for (before, after, time) in times {
            table.segments.add_time([9, *before, 9, *after, 0], *time, rank);
        }
        table
    };
    let ranks = [
        rank(0, &[100, 200], &[(1, 2, 60), (2, 1, 5)]),
        rank(1, &[300, 200, 100], &[(3, 2, 30), (2, 3, 40)]),
        rank(2, &[200, 100, 400], &[(1, 2, 30), (3, 0, 7)]),
    ];
    let mut all = ranks[2].clone();
    all.add(ranks[1].clone(), SITE, coarsen);
    all.add(ranks[0].clone(), SITE, coarsen);
    assert_eq!(all.times.useful.most.rank, 0);
    let question = all.question().unwrap();
    // It is as a message.
    let question = Merged::from_bytes(&question.to_bytes()).unwrap();
    assert_eq!((question.segments.all.len(), question.sites.len()), (1, 2));
    let answer = |rank: usize| {
        let own = ranks[rank].only_segments();
        question.clone().answer(own, rank as u64, SITE)
    };
    let answers: Vec<Vec<u64>> = (0..3).map(answer).collect();
    assert_eq!(answers, [[0, 60], [1, 30], [2, 0]]);
    let mut without = all.clone();
    without.take_answers(&[answers[0].clone(), answers[1].clone()].concat());
    assert!(without.segments.by_rank.is_empty());
    let mixed = [answers[2].clone(), answers[0].clone(), answers[1].clone()].concat();
    all.take_answers(&mixed);
    let site = |offset: u64| {
        let found = all.sites.iter().position(|places| places[0].1 == offset);
        found.unwrap() as u32 + 1
    };
    let key = [9, site(100), 9, site(200), 0];
    assert_eq!(all.segments.by_rank, BTreeMap::from([(key, vec![60, 30, 0])]));
    assert_eq!(ranks[0].question(), None);
}
