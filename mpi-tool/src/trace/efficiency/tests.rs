//! Runs whose efficiencies are reckoned by hand, and programs at random that are run on the ideal machine itself.

use mpi_facts::FunctionId::{
    self, MPI_Barrier, MPI_Bcast, MPI_File_close, MPI_File_write, MPI_Iallgather, MPI_Ibarrier,
    MPI_Init, MPI_Irecv, MPI_Isend, MPI_Issend, MPI_Recv, MPI_Reduce, MPI_Scan, MPI_Send,
    MPI_Ssend, MPI_Wait, MPI_Waitall, MPI_Win_fence,
};
use mpi_facts::trace::Way::{Received, Reduced, Sent};

use super::super::causes::simulated::{Program, Step, at_random};
use super::super::read::made_up::{MadeUp, call, process, trace};
use super::super::waits;
use super::*;

fn found(trace: &Trace) -> Efficiency {
    let messages = Messages::of(trace);
    Efficiency::of(trace, &messages, &waits::operations(trace)).unwrap()
}

/// A rank whose `MPI_Init` returns at 0, where it begins to count, with its calls, and the time of its `MPI_Finalize`.
type Made = (Vec<MadeUp>, i64);

fn run(ranks: Vec<Made>) -> Trace {
    let process = |(rank, (mut calls, end)): (u32, Made)| {
        calls.insert(0, call(MPI_Init, -50, 0));
        calls.push(call(MPI_Finalize, end, end + 70));
        process(rank, calls)
    };
    trace((0..).zip(ranks).map(process).collect())
}

/// Time, the sum of useful times, the longest one, and the length on the ideal machine.
fn times(found: &Efficiency, ranks: usize) -> (i64, i64, i64, Option<i64>) {
    let Factors { time, mean, most, ideal, .. } = found.factors;
    (time, (mean * ranks as f64).round() as i64, most, ideal)
}

fn of(ranks: Vec<Made>) -> (i64, i64, i64, Option<i64>) {
    let count = ranks.len();
    let found = found(&run(ranks));
    assert_eq!(found.kept, 0);
    times(&found, count)
}

fn send(function: FunctionId, begin: i64, end: i64, to: i64) -> MadeUp {
    call(function, begin, end).with(Sent, to, 8)
}

fn receive(begin: i64, end: i64, from: i64) -> MadeUp {
    call(MPI_Recv, begin, end).with(Received, from, 8)
}

fn near(one: Option<f64>, other: f64) {
    assert!(one.is_some_and(|one| (one - other).abs() < 1e-9), "{one:?}, {other}");
}

/// Rank 0 writes a file for 800, and rank 1 waits for that at a barrier; each computes for 100. Nobody computes in turn, so what is
/// lost is input and output: without files, the run would take 100.
#[test]
fn who_writes_files_is_not_serial() {
    let rank = |file: Option<i64>| {
        let mut calls = Vec::new();
        if let Some(length) = file {
            calls.push(call(MPI_File_write, 50, 40 + length));
            // Of this, the trace does not tell for whom it waits.
            calls.push(call(MPI_File_close, 40 + length, 50 + length));
        }
        let begin = 100 + file.unwrap_or(0);
        calls.push(call(MPI_Barrier, begin, 900).on_world());
        (calls, 900)
    };
    let found = found(&run(vec![rank(Some(800)), rank(None)]));
    let factors = found.factors;
    assert_eq!(times(&found, 2), (900, 200, 100, Some(900)));
    assert_eq!(factors.without_files, Some(100));
    near(factors.serialization(), 1.0);
    near(factors.input_and_output(), 100.0 / 900.0);
    near(factors.transfer(), 1.0);
    assert_eq!(factors.worst(), Some((Leaf::Files, 800.0)));
    for Window { factors, .. } in &found.windows {
        let whole = factors.input_and_output().unwrap_or(1.0) * factors.transfer().unwrap();
        near(
            Some(whole * factors.serialization().unwrap_or(0.0)),
            factors.communication().unwrap(),
        );
    }
}

/// Rank 0 computes for 600 of 1,000, and rank 1 for 900; neither `MPI_Init` nor `MPI_Finalize` counts.
#[test]
fn start_up_and_end_are_no_communication() {
    let rank = |rank: u32, barrier: i64| {
        let calls = vec![
            call(MPI_Init, 0, 5000),
            call(MPI_Barrier, barrier, 5900).on_world(),
            call(MPI_Finalize, 6000, 9000),
        ];
        process(rank, calls)
    };
    let found = found(&trace(vec![rank(0, 5500), rank(1, 5800)]));
    assert_eq!((found.factors.time, found.started, found.mpi), (1000, 5000, 500));
    near(found.factors.parallel(), 0.75);
    near(found.factors.load_balance(), 750.0 / 900.0);
    near(found.factors.communication(), 0.9);
}

#[test]
fn without_a_beginning_there_is_none() {
    let trace = trace(vec![process(0, vec![call(MPI_Barrier, 1, 2)])]);
    assert!(Efficiency::of(&trace, &Messages::of(&trace), &[]).is_none());
}

/// Both come to a barrier at 100, and it takes 50.
#[test]
fn nobody_waits_and_all_is_transfer() {
    let rank = || (vec![call(MPI_Barrier, 100, 150)], 150);
    let found = found(&run(vec![rank(), rank()]));
    assert_eq!(times(&found, 2), (150, 200, 100, Some(100)));
    near(found.factors.serialization(), 1.0);
    near(found.factors.transfer(), 100.0 / 150.0);
    assert_eq!(found.factors.worst(), Some((Leaf::Transfer, 50.0)));
}

/// A token goes from rank to rank, each of which computes for 100 when it has it. Messages take so long.
fn chain(latency: i64) -> Vec<Made> {
    let rank = |rank: i64| {
        let has = rank * (100 + latency);
        let mut calls = Vec::new();
        if rank > 0 {
            calls.push(receive(0, has, rank - 1));
        }
        if rank < 3 {
            calls.push(send(MPI_Send, has + 100, has + 100, rank + 1));
        }
        (calls, has + 100)
    };
    (0..4).map(rank).collect()
}

#[test]
fn a_chain_is_serialization() {
    let found = found(&run(chain(0)));
    assert_eq!(times(&found, 4), (400, 400, 100, Some(400)));
    near(found.factors.load_balance(), 1.0);
    near(found.factors.serialization(), 0.25);
    near(found.factors.transfer(), 1.0);
    assert_eq!(found.factors.worst(), Some((Leaf::Serialization, 300.0)));
}

#[test]
fn a_chain_of_slow_messages_is_both() {
    let found = found(&run(chain(20)));
    assert_eq!(times(&found, 4), (460, 400, 100, Some(400)));
    near(found.factors.serialization(), 0.25);
    near(found.factors.transfer(), 400.0 / 460.0);
}

/// One rank alone works, and passes a token on to others that only wait: no rank's work waits for another one's.
#[test]
fn work_of_one_rank_alone_is_load_imbalance() {
    let mut program = Program::new(4);
    (program.latency, program.overhead) = (3, 1);
    for _ in 0..10 {
        program.one(0, Step::Compute(100_000));
        for rank in 0..4 {
            if rank > 0 {
                program.one(rank, Step::Receive { line: 1, from: rank - 1 });
            }
            if rank < 3 {
                program.one(rank, Step::Send { line: 2, to: rank + 1, synchronous: false });
            }
        }
    }
    let factors = found(&program.run()).factors;
    assert_eq!(factors.ideal, Some(1_000_000));
    near(factors.load_balance(), 0.25);
    near(factors.serialization(), 1.0);
    assert_eq!(factors.worst(), Some((Leaf::LoadImbalance, 750_000.0)));
}

#[test]
fn load_imbalance_is_neither() {
    let calls = |begin| vec![call(MPI_Barrier, begin, 300)];
    let found = found(&run(vec![(calls(300), 300), (calls(100), 300)]));
    assert_eq!(times(&found, 2), (300, 400, 300, Some(300)));
    assert_eq!(found.factors.worst(), Some((Leaf::LoadImbalance, 100.0)));
}

/// Rank 1 receives at 200 what rank 0 sends from 0 to 200, which computes then.
fn late_receiver(sends: Vec<MadeUp>) -> (i64, i64, i64, Option<i64>) {
    of(vec![(sends, 400), (vec![receive(200, 200, 0)], 200)])
}

#[test]
fn only_a_synchronous_send_waits_for_its_receive() {
    let serial = (400, 400, 200, Some(400));
    assert_eq!(late_receiver(vec![send(MPI_Ssend, 0, 200, 1)]), serial);
    assert_eq!(late_receiver(vec![send(MPI_Send, 0, 200, 1)]), (400, 400, 200, Some(200)));
    // MPI_Init is call 0.
    let started = |function| vec![send(function, 0, 0, 1), call(MPI_Wait, 0, 200).ending(&[1], 1)];
    assert_eq!(late_receiver(started(MPI_Issend)), serial);
    assert_eq!(late_receiver(started(MPI_Isend)), (400, 400, 200, Some(200)));
}

/// Rank 0 starts to receive, computes for 100, waits until 130, and computes for 50. Rank 1 sends at 80, or only at 120.
#[test]
fn what_overlaps_is_not_waited_for() {
    let run = |sent| {
        let receiver = vec![call(MPI_Irecv, 0, 0), call(MPI_Wait, 100, 130).completing(1, 1, 8)];
        let sender = vec![send(MPI_Isend, sent, sent, 0)];
        of(vec![(receiver, 180), (sender, 120)])
    };
    assert_eq!(run(80), (180, 270, 150, Some(150)));
    assert_eq!(run(120), (180, 270, 150, Some(170)));
}

/// The root sends at 100, and rank 1, which is there at 20, goes on at 130. At the other operation, rank 1 is first: the root
/// does not wait for it.
#[test]
fn of_a_broadcast_others_wait_for_the_root() {
    let root = |begin, end| call(MPI_Bcast, begin, end).moving(Sent, 8);
    let other = |begin, end| call(MPI_Bcast, begin, end).moving(Received, 8);
    let first = of(vec![(vec![root(100, 110)], 110), (vec![other(20, 130)], 230)]);
    assert_eq!(first, (230, 220, 120, Some(200)));
    let second = of(vec![(vec![root(20, 100)], 150), (vec![other(100, 110)], 110)]);
    assert_eq!(second, (150, 170, 100, Some(100)));
}

#[test]
fn of_a_reduction_the_root_waits_for_all() {
    let root = |begin, end| call(MPI_Reduce, begin, end).moving(Received, 8);
    let other = |begin, end| call(MPI_Reduce, begin, end).moving(Reduced, 8);
    let first = of(vec![(vec![root(20, 120)], 170), (vec![other(100, 105)], 115)]);
    assert_eq!(first, (170, 180, 110, Some(150)));
    let second = of(vec![(vec![root(100, 110)], 110), (vec![other(20, 100)], 150)]);
    assert_eq!(second, (150, 170, 100, Some(100)));
}

/// Ranks come at 50, 10 and 100, and go on at 110. Rank 1 has waited for rank 0 only, and computes for 40.
#[test]
fn in_a_scan_a_rank_waits_for_those_before_it() {
    let scan = |begin| vec![call(MPI_Scan, begin, 110).moving(Reduced, 8)];
    let found = of(vec![(scan(50), 110), (scan(10), 150), (scan(100), 110)]);
    assert_eq!(found, (150, 200, 100, Some(100)));
}

/// Rank 0 has begun a barrier at 0, and waits from 100 to 220 until it is complete: rank 1 has begun it at 200. Then it
/// computes for 50.
#[test]
fn what_does_not_block_is_waited_for_when_it_is_completed() {
    let run = |function, arrive: bool, wait| {
        let own = |begin: i64, wait_begins: i64| {
            let wait = call(wait, wait_begins, 220);
            let wait = if arrive { wait.completing(1, 0, 8) } else { wait };
            vec![call(function, begin, begin), wait]
        };
        run(vec![(own(0, 100), 270), (own(200, 200), 220)])
    };
    let expected = (270, 350, 200, Some(250));
    assert_eq!(times(&found(&run(MPI_Ibarrier, false, MPI_Wait)), 2), expected);
    assert_eq!(times(&found(&run(MPI_Iallgather, true, MPI_Waitall)), 2), expected);
    // There may have been other requests, of which the trace does not tell.
    let found = found(&run(MPI_Ibarrier, false, MPI_Waitall));
    assert_eq!((found.untold, found.kept), (Some(Untold::Kept), 140));
}

/// The one that is waited for may be a short message, of which the trace does not tell when it is complete.
#[test]
fn what_may_have_been_waited_for_instead_is_not_guessed() {
    let own = |other, message| {
        let barrier = call(MPI_Ibarrier, 10, 10);
        let mut calls = vec![barrier, call(MPI_Wait, 100, 220)];
        if message {
            calls.insert(0, send(MPI_Isend, 0, 0, other));
            calls.push(receive(230, 230, other));
        }
        (calls, 300)
    };
    let found = |message| found(&run(vec![own(1, message), own(0, message)]));
    assert_eq!((found(false).kept, found(false).factors.ideal), (0, Some(180)));
    assert_eq!((found(true).kept, found(true).untold), (240, Some(Untold::Kept)));
}

/// Rank 0 receives what nobody has sent, for 10, computes for 90, and is in a barrier until 1,100.
#[test]
fn what_nobody_can_tell_keeps_its_length() {
    let calls = vec![receive(0, 10, 1), call(MPI_Barrier, 100, 1100)];
    let other = || (vec![call(MPI_Barrier, 50, 1100)], 1100);
    let one = found(&run(vec![(calls, 1100), other()]));
    assert_eq!(times(&one, 2), (1100, 140, 90, Some(100)));
    assert_eq!((one.kept, one.mpi, one.untold), (10, 2060, None));
    // If it is a twentieth of the time in MPI, or more, nothing is told that rests upon it.
    let calls = vec![call(MPI_Win_fence, 0, 500), call(MPI_Barrier, 600, 1100)];
    let other = found(&run(vec![(calls, 1100), other()]));
    assert_eq!((other.kept, other.untold), (500, Some(Untold::Kept)));
    assert_eq!((other.factors.serialization(), other.factors.transfer()), (None, None));
    near(other.factors.communication(), 100.0 / 1100.0);
    assert_eq!(other.factors.worst(), Some((Leaf::Communication, 1000.0)));
    // A send that waits for nobody is known, whoever receives it; a synchronous one is not.
    let sends =
        |function| found(&run(vec![(vec![send(function, 0, 100, 1)], 200), (Vec::new(), 10)]));
    assert_eq!(sends(MPI_Send).factors.ideal, Some(100));
    assert_eq!(sends(MPI_Ssend).untold, Some(Untold::Kept));
}

/// What a thread does that has not initialized MPI is not replayed, so that nobody knows when it would send.
#[test]
fn what_several_threads_compute_is_not_known() {
    let mut trace = run(vec![(Vec::new(), 200), (vec![receive(0, 100, 0)], 200)]);
    let mut helper = process(0, vec![send(MPI_Send, 90, 91, 1)]);
    trace.processes[0].threads.append(&mut helper.threads);
    let messages = Messages::of(&trace);
    assert_eq!(messages.matched.len(), 1);
    assert!(Efficiency::of(&trace, &messages, &waits::operations(&trace)).is_none());
    let why = whole::untold(&trace).unwrap();
    assert!(why.starts_with("rank 0 calls MPI from 2 threads: "), "{why}");
}

#[test]
fn without_all_calls_the_ideal_machine_is_not_known() {
    let mut trace = run(chain(0));
    trace.processes[2].filter = mpi_facts::trace::filter::RANKS;
    let found = found(&trace);
    assert_eq!((found.untold, found.factors.ideal), (Some(Untold::Missing), None));
    assert!(found.windows.iter().all(|window| window.factors.ideal.is_none()));
}

/// A message is sent at 500 by one clock that has arrived at 100 by another one. And ranks that wait for each other in a circle,
/// as they cannot have done.
#[test]
fn what_cannot_be_is_no_reason_to_take_longer() {
    let early =
        run(vec![(vec![send(MPI_Send, 500, 510, 1)], 600), (vec![receive(0, 100, 0)], 300)]);
    // Rank 0 computes for 590 without the send.
    assert_eq!(found(&early).factors.ideal, Some(590));
    let rank = |other| (vec![receive(0, 100, other), send(MPI_Send, 100, 100, other)], 200);
    let circle = found(&run(vec![rank(1), rank(0)]));
    assert_eq!((circle.factors.time, circle.kept), (200, 100));
    assert_eq!(circle.untold, Some(Untold::Kept));
}

/// The program itself is run on the ideal machine, where messages and calls take no time: so long the run is there.
#[test]
fn at_random_the_ideal_run_is_the_run_on_an_ideal_machine() {
    let (mut serial, mut slow) = (0, 0);
    for seed in 0..200 {
        let (mut program, _) = at_random(seed, false);
        program.latency += seed as i64 * 10;
        let measured = program.run();
        let found = found(&measured);
        (program.latency, program.overhead) = (0, 0);
        let lasts = |process: &super::super::read::Process| {
            let calls = &process.threads[0].calls;
            calls.last().unwrap().begin - calls[0].end
        };
        let ideal = program.run().processes.iter().map(lasts).max();
        assert_eq!(found.factors.ideal, ideal, "seed {seed}");
        assert_eq!((found.kept, found.untold), (0, None));
        assert!(ideal.unwrap() <= found.factors.time, "seed {seed}");
        is_a_tree(&found.factors);
        serial += usize::from(found.factors.serialization().unwrap() < 0.9);
        slow += usize::from(found.factors.transfer().unwrap() < 0.9);
        windows_are_parts(&measured, &found);
    }
    assert!(serial > 20 && slow > 20, "{serial}, {slow}");
}

/// Each is between 0 and 1, and products are what they are of.
fn is_a_tree(factors: &Factors) {
    let all = factors.tree().map(|(_, _, part)| part);
    for part in all.iter().flatten() {
        assert!((0.0..=1.0 + 1e-9).contains(part), "{factors:?}");
    }
    let [parallel, load_balance, communication, serialization, _, transfer] = all;
    if let (Some(one), Some(other)) = (load_balance, communication) {
        near(parallel, one * other);
    }
    if let (Some(one), Some(other)) = (serialization, transfer) {
        near(communication, one * other);
    }
}

/// Windows are as long as each other, cover all from the last beginning on, and have all useful time of it.
fn windows_are_parts(trace: &Trace, found: &Efficiency) {
    let ranks = Ranks::of(trace);
    let windows = &found.windows;
    assert_eq!(windows.len(), 20);
    let end = ranks.all.iter().map(|rank| rank.end).max().unwrap();
    assert_eq!((windows[0].begin, windows[19].end), (found.started, end));
    let length = (end - found.started) as f64 / 20.0;
    for two in windows.windows(2) {
        assert_eq!(two[0].end, two[1].begin);
    }
    let mut mean = 0.0;
    let mut ideal = 0;
    for Window { begin, end, factors } in windows {
        assert!(((end - begin) as f64 - length).abs() <= 1.0);
        assert_eq!(factors.time, end - begin);
        is_a_tree(factors);
        mean += factors.mean;
        ideal += factors.ideal.unwrap();
    }
    let behind = |rank: &Rank| {
        let calls = rank
            .calls
            .iter()
            .map(|call| call.end.max(found.started) - call.begin.max(found.started));
        rank.end.max(found.started) - found.started - calls.sum::<i64>()
    };
    let useful: Vec<i64> = ranks.all.iter().map(behind).collect();
    let sum = useful.iter().sum::<i64>() as f64;
    assert!((mean * useful.len() as f64 - sum).abs() < 1e-3, "{mean}, {sum}");
    assert!(ideal >= useful.into_iter().max().unwrap());
}

/// Rank 1 computes half as long as rank 0, until 500. Both are at a barrier from 1,000 on, until 2,000: windows of 100.
#[test]
fn windows_say_when() {
    let rank = |begin| (vec![call(MPI_Barrier, begin, 2000)], 2000);
    let found = found(&run(vec![rank(1000), rank(500)]));
    for (at, window) in found.windows.iter().enumerate() {
        let [_, load_balance, communication, serialization, _, transfer] =
            window.factors.tree().map(|(_, _, part)| part);
        assert_eq!((window.begin, window.end), (100 * at as i64, 100 * at as i64 + 100));
        let expected = match at {
            0..5 => [Some(1.0), Some(1.0), Some(1.0), Some(1.0)],
            5..10 => [Some(0.5), Some(1.0), Some(1.0), Some(1.0)],
            // Nobody computes, and the ideal run has no such time.
            _ => [None, Some(0.0), None, Some(0.0)],
        };
        assert_eq!([load_balance, communication, serialization, transfer], expected, "{at}");
    }
}

/// In each window, one rank of four computes all the time. That they do so in turn is seen over several windows only.
#[test]
fn windows_of_a_chain_are_load_imbalance() {
    let found = found(&run(chain(0)));
    for window in &found.windows {
        near(window.factors.load_balance(), 0.25);
        near(window.factors.serialization(), 1.0);
    }
}
