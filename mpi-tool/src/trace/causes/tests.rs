//! Programs whose causes of waiting are known by how they are made.

use mpi_facts::FunctionId::{
    MPI_Allreduce, MPI_Barrier, MPI_Bcast, MPI_Finalize, MPI_Gather, MPI_Init, MPI_Win_fence,
};

use super::super::read::made_up::{call, process, trace};
use super::super::waits;
use super::lines::Back;
use super::simulated::{Dice, Program, Step, at_random};
use super::*;

/// Everything about a trace that a test looks at.
struct Found {
    trace: Trace,
    waits: Vec<Wait>,
    lines: Lines,
    causes: Causes,
}

fn found_within(trace: Trace, free: usize) -> Found {
    let messages = Messages::of(&trace);
    let operations = waits::operations(&trace);
    let waits = waits::of_operations(&trace, &messages, &operations);
    let lines = Lines::of(&trace, &messages, &operations, &waits);
    let causes = Causes::within(&trace, &messages, &operations, &waits, free, |_, _| {});
    Found { trace, waits, lines, causes }
}

fn found(trace: Trace) -> Found {
    let found = found_within(trace, STEPS);
    found.assert_whole();
    found
}

impl Found {
    /// The sum of all causes is the sum of all waits, in each way of adding up, and nobody causes anything by waiting.
    fn assert_whole(&self) {
        let waiting: i64 = self.waits.iter().map(|wait| wait.time).sum();
        assert_eq!(self.causes.waiting, waiting);
        let is_it = |sum: f64, what: &str| {
            assert!((sum - waiting as f64).abs() <= 1e-6 * waiting as f64, "{what}: {sum}");
        };
        let all = || self.causes.all.iter();
        is_it(all().map(|cause| cause.time).sum(), "causes");
        is_it(all().flat_map(|cause| &cause.ranks).map(|of| of.time).sum(), "ranks");
        is_it(all().flat_map(|cause| &cause.links).map(|link| link.time).sum(), "links");
        // By the rank that waits, too.
        let mut by_rank: BTreeMap<usize, f64> = BTreeMap::new();
        for link in all().flat_map(|cause| &cause.links) {
            *by_rank.entry(link.waiting).or_default() += link.time;
        }
        for (rank, sum) in by_rank {
            let of = self.waits.iter().filter(|wait| wait.call.process() == rank);
            let time = of.map(|wait| wait.time).sum::<i64>() as f64;
            assert!((sum - time).abs() <= 1e-6 * time, "rank {rank}: {sum}, {time}");
        }
        // Of what is missing, the pieces may be anything.
        let is_known = |cause: &&Cause| !matches!(cause.activity, Activity::Missing(_));
        for of in all().filter(is_known).flat_map(|cause| &cause.ranks) {
            assert!(of.time > 0.0, "{of:?}");
            let (begin, length) = of.longest;
            for wait in self.waits.iter().filter(|wait| wait.call.process() == of.process) {
                let from = wait.begin;
                let is_apart = from + wait.time <= begin || begin + length <= from;
                assert!(is_apart, "{of:?} is in {wait:?}");
            }
        }
    }

    /// The share of a rank's computing between two lines in all waiting.
    fn share(&self, rank: usize, before: u32, after: u32) -> f64 {
        let line = |spot: Option<SpotNumber>, line: u32| {
            let site = spot.and_then(|spot| self.causes.spots[spot as usize].site.clone());
            site.is_some_and(|site| site.path == format!("made-up.c:{line}"))
        };
        let mut time = 0.0;
        for cause in &self.causes.all {
            if let Activity::Computing { before: one, after: other } = cause.activity
                && line(one, before)
                && line(other, after)
            {
                let of = cause.ranks.iter().filter(|of| of.process == rank);
                time += of.map(|of| of.time).sum::<f64>();
            }
        }
        time / self.causes.waiting as f64
    }

    /// What a rank waits for by what the others do at the same moments, which is another definition of a cause.
    fn by_overlap(&self) -> BTreeMap<Activity, i64> {
        let mut causes = BTreeMap::new();
        for wait in &self.waits {
            let begin = wait.begin;
            let number = self.lines.number(wait.until.process(), wait.until.thread()) as u32;
            let mut parts = vec![(number, begin, begin + wait.time)];
            while let Some((line, begin, end)) = parts.pop() {
                if begin >= end {
                    continue;
                }
                let since = match self.lines.back(line, end) {
                    Back::Waited { until, since } => {
                        parts.push((until, since.max(begin), end));
                        since
                    }
                    Back::Did { begin: since, activity } => {
                        *causes.entry(activity).or_default() += end - since.max(begin);
                        since
                    }
                };
                parts.push((line, begin, since));
            }
        }
        causes
    }

    fn text(&self) -> String {
        super::text(&self.trace, &self.causes, 20)
    }
}

/// Rank 0 alone works, and a token goes from rank to rank.
fn chain(ranks: usize) -> Program {
    let mut program = Program::new(ranks);
    program.together(1, MPI_Barrier);
    for _ in 0..10 {
        program.all(|_| Step::Compute(1000)).all(|_| Step::Local(2));
        program.one(0, Step::Compute(100_000));
        for rank in 0..ranks {
            if rank > 0 {
                program.one(rank, Step::Receive { line: 3, from: rank - 1 });
            }
            if rank + 1 < ranks {
                program.one(rank, Step::Send { line: 4, to: rank + 1, synchronous: false });
            }
        }
    }
    program
}

#[test]
fn of_a_chain_the_first_one_is_the_cause() {
    let found = found(chain(4).run());
    assert!(found.causes.waiting > 2_900_000);
    assert!(found.share(0, 2, 4) > 0.99, "{}", found.text());
    let worst = &found.causes.all[0];
    let third = worst.time / 3.0;
    let near = |time: f64, expected: f64| (time - expected).abs() < 0.01 * expected;
    assert!(near(worst.direct, third), "{worst:?}");
    // Two ranks are late by rank 1, which is late itself: all of it passes through rank 1.
    let [(1, passed_on)] = worst.passed_on()[..] else { panic!("{worst:?}") };
    assert!(near(passed_on, 2.0 * third));
    let text = found.text();
    let line = text.lines().nth(1).unwrap();
    assert!(line.contains("of waiting by 3 ranks: rank 0 computes too long between MPI_Comm_size at made-up.c:2 and MPI_Send at made-up.c:4; of this"), "{text}");
    assert!(line.ends_with("reach 2 ranks by way of rank 1"), "{text}");
}

/// The one that is late has worked too long first, and then as long as the others, who wait meanwhile. What it does while they
/// wait is not what made it late.
#[test]
fn what_a_rank_does_while_others_wait_is_not_the_cause() {
    let mut program = Program::new(4);
    program.together(1, MPI_Barrier);
    for _ in 0..5 {
        program.one(2, Step::Compute(50_000)).all(|_| Step::Local(2));
        program.all(|_| Step::Compute(100_000)).together(3, MPI_Allreduce);
    }
    let found = found(program.run());
    // In the first round, the time between lines 1 and 2 is another segment than later.
    let share = found.share(2, 1, 2) + found.share(2, 3, 2);
    assert!(share > 0.999, "{}", found.text());
    // The other definition blames the wrong code.
    let overlap = found.by_overlap();
    let all: i64 = overlap.values().sum();
    assert_eq!(all, found.causes.waiting);
    let wrong = overlap.iter().filter(|(activity, _)| {
        let Activity::Computing { after: Some(after), .. } = **activity else { return false };
        found.causes.spots[after as usize].function == MPI_Allreduce
    });
    assert_eq!(wrong.map(|(_, time)| time).sum::<i64>(), all);
}

/// Rank 0 works too long, which costs nothing, since it and rank 1 wait for rank 2. It costs what it does after that.
#[test]
fn what_was_absorbed_by_another_wait_is_not_the_cause() {
    let mut program = Program::new(3);
    program.together(1, MPI_Barrier);
    program.one(0, Step::Compute(50_000)).one(2, Step::Compute(200_000));
    program.one(2, Step::Send { line: 2, to: 0, synchronous: false });
    program.one(2, Step::Send { line: 2, to: 1, synchronous: false });
    program.one(0, Step::Receive { line: 3, from: 2 }).one(1, Step::Receive { line: 3, from: 2 });
    program.one(0, Step::Compute(10_000));
    program.one(0, Step::Send { line: 4, to: 1, synchronous: false });
    program.one(1, Step::Receive { line: 5, from: 0 });
    let found = found(program.run());
    let of = |rank, before, after| found.share(rank, before, after) * found.causes.waiting as f64;
    assert!((of(0, 3, 4) - 10_000.0).abs() < 100.0, "{}", found.text());
    assert!((of(2, 1, 2) - 350_000.0).abs() < 1000.0, "{}", found.text());
    assert!(of(0, 1, 3) < 1.0, "{}", found.text());
}

#[test]
fn two_causes_at_once_are_told_apart() {
    let mut program = Program::new(4);
    program.together(1, MPI_Barrier);
    // Rank 1 is slow before line 2, and rank 2 waits for it and is slow itself behind line 4.
    program.one(1, Step::Compute(30_000)).all(|_| Step::Local(2));
    program.one(1, Step::Send { line: 3, to: 2, synchronous: false });
    program.one(2, Step::Receive { line: 4, from: 1 });
    program.one(2, Step::Compute(60_000)).together(5, MPI_Barrier);
    let found = found(program.run());
    // Rank 2 waits for 30,000, ranks 0 and 3 for 90,000, and rank 1 for 60,000.
    let of = |rank, before, after| found.share(rank, before, after) * found.causes.waiting as f64;
    assert!((of(1, 1, 2) - 90_000.0).abs() < 100.0, "{}", found.text());
    assert!((of(2, 4, 5) - 180_000.0).abs() < 100.0, "{}", found.text());
    let cause = found.causes.all.iter().find(|cause| cause.ranks[0].process == 1).unwrap();
    let [(2, passed_on)] = cause.passed_on()[..] else { panic!("{cause:?}") };
    assert!((passed_on - 60_000.0).abs() < 100.0);
}

/// Rank 1 is slow before its row's operation. The other row waits for the first one, whichever of its ranks comes last.
#[test]
fn a_cause_is_found_through_groups() {
    let mut program = Program::new(6);
    program.groups = vec![(0..6).collect(), vec![0, 1, 2], vec![3, 4, 5]];
    program.latency = 5;
    program.together(1, MPI_Barrier);
    for _ in 0..20 {
        program.all(|_| Step::Compute(1000)).one(1, Step::Compute(7000));
        let row = |rank| if rank < 3 { 1 } else { 2 };
        program.all(|rank| Step::Collective {
            line: 2,
            function: MPI_Allreduce,
            group: row(rank),
            root: 0,
        });
        program.all(|rank| Step::Compute(500 + rank as i64)).together(3, MPI_Barrier);
    }
    let found = found(program.run());
    assert!(found.share(1, 3, 2) > 0.9, "{}", found.text());
    assert!(found.share(1, 3, 2) + found.share(1, 1, 2) > 0.99, "{}", found.text());
}

/// A ring with messages that do not block.
fn ring(ranks: usize, rounds: usize, late: usize, by: i64) -> Program {
    let mut program = Program::new(ranks);
    program.latency = 3;
    program.together(1, MPI_Barrier);
    for _ in 0..rounds {
        program.all(|_| Step::Compute(2000)).one(late, Step::Compute(by));
        program.all(|_| Step::Local(2)).all(|_| Step::Compute(3000));
        for side in [1, ranks - 1] {
            program.all(|rank| Step::StartReceive { line: 3, from: (rank + side) % ranks });
        }
        for side in [1, ranks - 1] {
            program.all(|rank| Step::StartSend { line: 4, to: (rank + side) % ranks });
        }
        program.all(|_| Step::Complete { line: 5 });
    }
    program
}

#[test]
fn a_cause_is_found_through_messages_that_do_not_block() {
    for ranks in [3, 4, 7, 16] {
        let found = found(ring(ranks, 20, 2, 10_000).run());
        let share = found.share(2, 1, 2) + found.share(2, 5, 2);
        assert!(share > 0.99, "{ranks}: {share}: {}", found.text());
    }
}

/// Whose `MPI_Init` takes longer is the cause, and not what comes behind it.
#[test]
fn a_late_start_is_a_cause_of_its_own() {
    let mut program = Program::new(4);
    program.start_up[3] = 6000;
    program.all(|_| Step::Compute(100)).together(1, MPI_Barrier);
    let found = found(program.run());
    assert_eq!(found.causes.all[0].activity, Activity::StartUp);
    assert_eq!(found.causes.all[0].ranks[0].process, 3);
    assert!((found.causes.all[0].time - 15_000.0).abs() < 1.0);
}

/// Operations with a root: the root of a broadcast is waited for, and a gather's root waits.
#[test]
fn roots_are_waited_for_and_wait() {
    let mut program = Program::new(4);
    program.together(1, MPI_Barrier).one(0, Step::Compute(1000));
    program.all(|_| Step::Collective { line: 2, function: MPI_Bcast, group: 0, root: 0 });
    program.one(2, Step::Compute(500));
    program.all(|_| Step::Collective { line: 3, function: MPI_Gather, group: 0, root: 0 });
    let found = found(program.run());
    let of = |rank, before, after| found.share(rank, before, after) * found.causes.waiting as f64;
    assert!((of(0, 1, 2) - 3000.0).abs() < 1.0, "{}", found.text());
    assert!((of(2, 2, 3) - 500.0).abs() < 2.0, "{}", found.text());
}

/// A synchronous send waits for a receiver that is late, since another one has sent to it late.
#[test]
fn late_receivers_have_causes() {
    let mut program = Program::new(3);
    program.together(1, MPI_Barrier);
    program.one(2, Step::Compute(9000)).one(2, Step::Send { line: 2, to: 1, synchronous: false });
    program.one(1, Step::Receive { line: 3, from: 2 }).one(1, Step::Receive { line: 4, from: 0 });
    program.one(0, Step::Send { line: 5, to: 1, synchronous: true });
    let found = found(program.run());
    assert!(found.waits.iter().any(|wait| wait.kind == waits::WaitKind::LateReceiver));
    assert!(found.share(2, 1, 2) > 0.99, "{}", found.text());
}

/// The late rank's file has only its last calls, and it has computed before them.
#[test]
fn what_a_ring_has_lost_is_no_cause_that_is_known() {
    let mut program = Program::new(3);
    program.together(1, MPI_Barrier).one(0, Step::Compute(50_000));
    program.one(0, Step::Local(2)).one(0, Step::Local(3));
    for rank in [1, 2] {
        program.one(0, Step::Send { line: 4, to: rank, synchronous: false });
        program.one(rank, Step::Receive { line: 5, from: 0 });
    }
    let mut trace = program.run();
    let process = &mut trace.processes[0];
    process.overwritten = 100;
    let calls = &mut process.threads[0].calls;
    // Two sends, `MPI_Finalize`, and the call before them.
    calls.drain(..calls.len() - 4);
    let found = found(trace);
    let late = found.waits.iter().filter(|wait| wait.kind == waits::WaitKind::LateSender);
    assert_eq!(late.count(), 2);
    let unknown: f64 =
        found.causes.all.iter().filter(|one| one.is_unknown()).map(|one| one.time).sum();
    assert!(unknown > 0.99 * found.causes.waiting as f64, "{}", found.text());
    let text = found.text();
    assert!(text.contains("has no known cause: of rank 0 earlier calls are gone"), "{text}");
}

/// Tracing was off while rank 0 worked.
#[test]
fn what_was_switched_off_is_no_cause_that_is_known() {
    let mut trace = chain(3).run();
    let end = trace.end();
    trace.processes[0].off = Some((end - 90_000, Some(end - 50_000)));
    let found = found(trace);
    let of = |reason| {
        let is_it = |cause: &&Cause| cause.activity == Activity::Missing(reason);
        found.causes.all.iter().find(is_it).map_or(0.0, |cause| cause.time)
    };
    // The last round's waits, if the reader finds them.
    assert!(of(Reason::Off) > 0.99 * 100_000.0, "{}", found.text());
}

/// The late rank is in a call of which the trace does not tell whether it waits there.
#[test]
fn a_call_that_may_wait_is_no_cause_that_is_known() {
    let trace = trace(
        (0..2)
            .map(|rank| {
                let mut calls = vec![call(MPI_Init, 0, 10)];
                if rank == 1 {
                    calls.push(call(MPI_Win_fence, 20, 1020));
                }
                calls.push(call(MPI_Barrier, 1030 - 1000 * i64::from(1 - rank), 1040).on_world());
                calls.push(call(MPI_Finalize, 1050, 1060));
                process(u32::try_from(rank).unwrap(), calls)
            })
            .collect(),
    );
    let found = found(trace);
    let worst = &found.causes.all[0];
    assert!(matches!(worst.activity, Activity::Unjudged(_)), "{worst:?}");
    assert!(worst.time > 0.98 * found.causes.waiting as f64);
    let text = found.text();
    assert!(
        text.contains("rank 1 is in MPI_Win_fence, and the trace does not say for whom it waits"),
        "{text}"
    );
}

/// Clocks that differ make ranks wait for each other in a circle.
#[test]
fn a_circle_ends() {
    use mpi_facts::FunctionId::{MPI_Recv, MPI_Send};
    use mpi_facts::trace::Way::{Received, Sent};
    let found = found(trace(vec![
        process(
            0,
            vec![
                call(MPI_Recv, 10, 62).with(Received, 1, 8),
                call(MPI_Send, 62, 64).with(Sent, 1, 8),
            ],
        ),
        process(
            1,
            vec![
                call(MPI_Recv, 10, 60).with(Received, 0, 8),
                call(MPI_Send, 61, 63).with(Sent, 0, 8),
            ],
        ),
    ]));
    assert_eq!(found.waits.len(), 2);
}

#[test]
fn at_random_the_sum_of_all_causes_is_the_sum_of_all_waits() {
    let mut waits = 0;
    for seed in 0..400 {
        let (program, _) = at_random(seed, false);
        let found = found(program.run());
        assert_eq!(found.causes.shortened, 0);
        waits += found.waits.len();
        // Also if walks end early.
        let early = found_within(program.run(), 0);
        early.assert_whole();
        let overlap: i64 = found.by_overlap().values().sum();
        assert_eq!(overlap, found.causes.waiting, "seed {seed}");
    }
    assert!(waits > 20_000, "{waits}");
}

/// All ranks work as long as each other, but for one of them in one round: it causes what there is beyond the program's own
/// waiting without it.
#[test]
fn at_random_the_one_that_is_late_is_the_cause() {
    let mut programs = 0;
    for seed in 0..300 {
        let (even, rounds) = at_random(seed, true);
        let mut dice = Dice(!seed);
        let late = dice.below(even.ranks.len());
        let line = 10 + 10 * dice.below(rounds) as u32;
        let mut program = even.clone();
        let steps = &mut program.ranks[late];
        let at = steps.iter().position(|step| matches!(step, Step::Local(of) if *of == line));
        steps.insert(at.unwrap(), Step::Compute(1_000_000));
        let without = found(even.run()).causes.waiting;
        let found = found(program.run());
        if found.causes.waiting < 500_000 {
            // Nobody has waited for it any more.
            continue;
        }
        programs += 1;
        let is_it = |spot: Option<SpotNumber>| {
            let site = spot.and_then(|spot| found.causes.spots[spot as usize].site.clone());
            site.is_some_and(|site| site.path == format!("made-up.c:{line}"))
        };
        let of_late: f64 = found
            .causes
            .all
            .iter()
            .filter(
                |cause| matches!(cause.activity, Activity::Computing { after, .. } if is_it(after)),
            )
            .flat_map(|cause| &cause.ranks)
            .filter(|of| of.process == late)
            .map(|of| of.time)
            .sum();
        let expected = (found.causes.waiting - without) as f64;
        assert!(
            (of_late - expected).abs() < 0.01 * expected,
            "seed {seed}: {of_late}, {expected}: {}",
            found.text()
        );
    }
    assert!(programs > 200, "{programs}");
}

/// Two ranks that never wait, and a third one that waits for either in turn: their pasts have nothing in common but the
/// beginning. The time that this takes does not grow with the square.
#[test]
fn pasts_that_never_meet_are_not_walked_to_the_beginning_each_time() {
    let rounds = 20_000;
    let mut program = Program::new(3);
    program.one(1, Step::Compute(100));
    for round in 0..rounds {
        for rank in [0, 1] {
            let more = if round % 2 == rank { 300 } else { 100 };
            program.one(rank, Step::Compute(1000 + more));
            program.one(rank, Step::Send { line: 1, to: 2, synchronous: false });
            program.one(2, Step::Receive { line: 2, from: rank });
        }
    }
    let found = found_within(program.run(), 1000);
    found.assert_whole();
    assert!(found.causes.shortened > 0);
    assert!(found.text().contains("is compared over the last part only"), "{}", found.text());
}

/// Ten causes and a line are a screen, however many ranks there are.
#[test]
fn the_text_is_a_screen() {
    let ranks = 200;
    let mut program = Program::new(ranks);
    let mut dice = Dice(1);
    for round in 0..40 {
        program.all(|_| Step::Local(100 + round));
        for rank in 0..ranks {
            program.one(rank, Step::Compute(dice.below(1000) as i64));
        }
        program.together(10 + round, MPI_Barrier);
    }
    let found = found(program.run());
    let text = found.text();
    assert!(found.causes.all.len() > 30);
    assert!((11..=13).contains(&text.lines().count()), "{text}");
    assert!(text.lines().all(|line| line.len() < 300), "{text}");
    assert!(text.contains("other causes: --top 0"), "{text}");
}
