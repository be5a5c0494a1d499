//! Traces in which calls are missing.

use mpi_facts::FunctionId::{
    MPI_Barrier, MPI_Finalize, MPI_Irecv, MPI_Mprobe, MPI_Mrecv, MPI_Recv, MPI_Send,
};
use mpi_facts::trace::Partner;
use mpi_facts::trace::Way::{Received, Sent};

use super::super::read::made_up::{MadeUp, call, process, trace};
use super::super::waits;
use super::*;

fn send(at: i64, bytes: u64) -> MadeUp {
    call(MPI_Send, at, at + 1).with(Sent, 1, bytes)
}

fn receive(at: i64, bytes: u64) -> MadeUp {
    call(MPI_Recv, at, at + 1).with(Received, 0, bytes)
}

fn end() -> MadeUp {
    call(MPI_Finalize, 1000, 1001)
}

/// Bytes sent and received of each pair, and how many are left on either side.
fn pairs(trace: &Trace) -> (Vec<(u64, u64)>, [u64; 2]) {
    let messages = Messages::of(trace);
    let pairs = messages.matched.iter().map(|message| (message.sent_bytes, message.bytes));
    (pairs.collect(), messages.unmatched)
}

/// Rank 0 sends 10, 11 and 12, of which 11 is not in the trace; rank 1 receives all.
fn with_a_gap(has_ended: bool) -> Trace {
    let mut calls = vec![send(1, 10), send(30, 12)];
    let mut others = vec![receive(2, 10), receive(21, 11), receive(31, 12)];
    if has_ended {
        calls.push(end());
        others.push(end());
    }
    trace(vec![process(0, calls), process(1, others)])
}

#[test]
fn a_gap_shifts_nothing() {
    for to in [Some(25), None] {
        let mut trace = with_a_gap(true);
        trace.processes[0].off = Some((10, to));
        let pairs = pairs(&trace);
        let expected = match to {
            Some(_) => (vec![(10, 10), (12, 12)], [0, 1]),
            None => (vec![(10, 10)], [1, 2]),
        };
        assert_eq!(pairs, expected);
    }
}

/// Messages may be under way when a program is killed, so the last ones need not belong together.
#[test]
fn behind_a_gap_nothing_is_known_of_a_program_that_goes_on() {
    let mut trace = with_a_gap(false);
    trace.processes[0].off = Some((10, Some(25)));
    assert_eq!(pairs(&trace), (vec![(10, 10)], [1, 2]));
}

#[test]
fn a_function_that_is_left_out_hides_all_messages() {
    let mut trace = with_a_gap(true);
    trace.processes[0].left_out = vec![MPI_Barrier];
    assert_eq!(pairs(&trace).0.len(), 2, "no message is missing by that");
    trace.processes[0].left_out.push(MPI_Send);
    assert_eq!(pairs(&trace), (vec![], [2, 3]));
}

/// A message that nobody has received makes the last ones not fit, by their lengths or by their times.
#[test]
fn the_last_ones_are_no_pairs_if_they_do_not_fit() {
    for (bytes, at) in [(99, 50), (12, 21)] {
        let calls = vec![send(30, 11), send(40, 12), end()];
        let mut trace = trace(vec![process(0, calls), process(1, vec![receive(at, bytes), end()])]);
        trace.processes[0].off = Some((10, Some(25)));
        assert_eq!(pairs(&trace), (vec![], [2, 1]));
    }
}

/// An `MPI_Irecv` of which nothing tells that it is complete may have got the first message.
#[test]
fn a_receive_without_an_end_shifts_nothing() {
    for has_ended in [false, true] {
        let open = || {
            let mut call = call(MPI_Irecv, 1, 2);
            call.call.arguments_mut().source = Some(0);
            call
        };
        let mut calls = vec![send(10, 11), send(20, 12)];
        let mut others = vec![open(), receive(21, 12)];
        if has_ended {
            calls.push(end());
            others.push(end());
        }
        let trace = trace(vec![process(0, calls), process(1, others)]);
        let expected = if has_ended { (vec![(12, 12)], [1, 0]) } else { (vec![], [2, 1]) };
        assert_eq!(pairs(&trace), expected);
    }
}

/// `MPI_Mprobe` has taken the first message before `MPI_Recv` gets the second one, and waits for its sender.
#[test]
fn what_was_matched_first_was_sent_first() {
    let mut receiver =
        process(1, vec![call(MPI_Mprobe, 1, 12), receive(30, 12), receive_matched(40, 11), end()]);
    receiver.threads[0].found.insert(0, (Partner::At(-1), 0));
    receiver.threads[0].matched.insert(2, (0, 0));
    let trace = trace(vec![process(0, vec![send(10, 11), send(20, 12), end()]), receiver]);
    assert_eq!(pairs(&trace), (vec![(11, 11), (12, 12)], [0, 0]));
    let waits = waits::of(&trace, &Messages::of(&trace));
    let probe = Place::new(1, 0, 0);
    let found: Vec<_> = waits.iter().map(|wait| (wait.call, wait.time)).collect();
    assert_eq!(found, [(probe, 9)]);
}

fn receive_matched(at: i64, bytes: u64) -> MadeUp {
    let mut call = call(MPI_Mrecv, at, at + 1).with(Received, 0, bytes);
    call.call.arguments_mut().communicator = None;
    call
}

/// Without its probe, nobody knows which message it has got: on which communicator, and in which order.
#[test]
fn what_was_matched_by_nobody_knows_whom_is_left() {
    let trace = trace(vec![
        process(0, vec![send(10, 11), end()]),
        process(1, vec![receive_matched(40, 11), end()]),
    ]);
    assert_eq!(pairs(&trace), (vec![], [1, 1]));
}

/// Rank 0 was off at the second of four barriers.
#[test]
fn collective_operations_behind_a_gap_are_told_from_the_end() {
    let barriers = |times: &[i64]| {
        let calls = times.iter().map(|at| call(MPI_Barrier, *at, at + 1));
        calls.chain([end()]).collect::<Vec<_>>()
    };
    let mut trace =
        trace(vec![process(0, barriers(&[1, 30, 40])), process(1, barriers(&[1, 20, 30, 40]))]);
    trace.processes[0].off = Some((10, Some(25)));
    let found: Vec<Vec<i64>> = waits::operations(&trace)
        .iter()
        .map(|one| one.calls.iter().map(|place| place.of(&trace).begin).collect())
        .collect();
    assert_eq!(found, [[1, 1], [40, 40], [30, 30]]);
}
