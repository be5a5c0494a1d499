//! The critical path: the one chain of computing and of calls that the run's length consists of.
//!
//! It lies between start-up and the end, in which ranks wait for whoever comes last: from when `MPI_Init` has returned on the
//! last rank until the last rank calls `MPI_Finalize`. If the trace does not have the calls of all ranks from the beginning on, it
//! begins where it has them.
//!
//! It is walked from its end. What the rank did that came last is on the path. Where that rank has waited, the path goes
//! over to the one for whom it has waited, at the moment when that one came; what the rank did before the wait is not on
//! the path, as the run would not be shorter without it.
//!
//! Time in MPI is on the path where nobody else is waited for: for the transfer itself, or in a call of which the trace
//! does not tell on whom it depends.

use std::collections::{BTreeMap, HashMap};

use mpi_facts::FunctionId;

use super::causes::is_init;
use super::messages::Place;
use super::read::{Call, Process, Thread, Trace};
use super::waits::{Wait, WaitKind};
use super::whole;

/// A piece of the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) process: usize,
    /// The call; `None` of computing.
    pub(super) function: Option<FunctionId>,
    /// Nanoseconds since the trace's beginning.
    pub(super) begin: i64,
    pub(super) end: i64,
}

/// The path, from its beginning to its end without a gap.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Path {
    pub(super) pieces: Vec<Piece>,
    /// How often it goes over to another rank.
    pub(super) changes: usize,
    /// Where it begins and ends.
    pub(super) begin: i64,
    pub(super) end: i64,
}

/// When `MPI_Init` has returned on the last rank; of several worlds, on the one whose last rank has come first. 0 if the
/// trace does not have it.
fn started(trace: &Trace) -> i64 {
    let mut worlds: BTreeMap<usize, i64> = BTreeMap::new();
    for process in &trace.processes {
        let mut calls = process.threads.iter().flat_map(|thread| &thread.calls);
        if let Some(init) = calls.find(|call| is_init(call.function)) {
            let last = worlds.entry(process.world).or_default();
            *last = init.end.max(*last);
        }
    }
    worlds.into_values().min().unwrap_or(0)
}

/// When a process has called `MPI_Finalize`, if it has.
fn finalizes(process: &Process) -> Option<i64> {
    let mut calls = process.threads.iter().flat_map(|thread| thread.calls.iter().rev());
    calls.find(|call| call.function == FunctionId::MPI_Finalize).map(|call| call.begin)
}

/// The calls of a thread that are not inside of others, by their beginnings.
pub(super) fn outer_calls(calls: &[Call]) -> Vec<usize> {
    let mut all: Vec<usize> = (0..calls.len()).collect();
    // Of those that begin together, a later one is around earlier ones, unless these have taken no time that the clock tells.
    all.sort_by_key(|at| {
        let call = &calls[*at];
        let is_long = call.begin < call.end;
        (call.begin, is_long, if is_long { !call.number } else { call.number })
    });
    let mut end = i64::MIN;
    all.retain(|at| {
        let call = &calls[*at];
        let is_outer = call.begin >= end || call.end > end;
        end = end.max(call.end);
        is_outer
    });
    all
}

/// A call that no other call is around, or a loop of polls, which is as one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outer {
    /// The call's place; of a loop, the last one's.
    pub(super) at: usize,
    pub(super) begin: i64,
    pub(super) end: i64,
}

/// These of a thread, by their beginnings.
pub(super) fn outer(thread: &Thread) -> Vec<Outer> {
    let mut all = Vec::new();
    let mut loops = thread.loops.iter().peekable();
    // The beginning of the loop that a call is in.
    let mut within: Option<i64> = None;
    for at in outer_calls(&thread.calls) {
        let call = &thread.calls[at];
        if loops.peek().is_some_and(|of| of.first == at) {
            within = Some(call.begin);
        }
        let begin = within.unwrap_or(call.begin);
        if within.is_some() && loops.next_if(|of| of.last == at).is_none() {
            continue;
        }
        within = None;
        all.push(Outer { at, begin, end: call.end });
    }
    all
}

impl Path {
    pub(super) fn of(trace: &Trace, waits: &[Wait]) -> Self {
        let waits: HashMap<Place, &Wait> = waits.iter().map(|wait| (wait.call, wait)).collect();
        let mut all: HashMap<(usize, usize), Vec<Outer>> = HashMap::new();
        let mut last: Option<(i64, usize, usize)> = None;
        for (at, process) in trace.processes.iter().enumerate() {
            let finalizes = finalizes(process).unwrap_or(i64::MAX);
            for (number, thread) in process.threads.iter().enumerate() {
                let calls = outer(thread);
                if let Some(end) = calls.last().map(|call| call.end.min(finalizes))
                    && last.is_none_or(|(most, ..)| end > most)
                {
                    last = Some((end, at, number));
                }
                all.insert((at, number), calls);
            }
        }
        let Some((mut time, mut process, mut thread)) = last else { return Self::default() };
        let begin = started(trace).max(whole::since(trace).unwrap_or(0)).min(time);
        let mut path = Self { begin, end: time, ..Self::default() };
        // How often the path has gone over at this moment: clocks may differ, and nobody waits in a circle.
        let mut jumps = 0;
        while time > begin {
            let calls = &trace.processes[process].threads[thread].calls;
            let known = &all[&(process, thread)];
            let before = known.partition_point(|call| call.begin < time);
            let Some(call) = before.checked_sub(1).map(|last| known[last]) else {
                path.add(process, None, begin, time);
                break;
            };
            let function = Some(calls[call.at].function);
            if call.end < time {
                path.add(process, None, call.end, time);
                (time, jumps) = (call.end, 0);
            }
            let wait = waits.get(&Place::new(process, thread, call.at));
            // Where the wait ends; not beyond where the path has come from.
            let until = wait.map(|wait| (wait.begin + wait.time).min(time));
            match (wait, until) {
                (Some(wait), Some(until)) if until < time || jumps <= trace.processes.len() => {
                    jumps = if until < time { 0 } else { jumps + 1 };
                    path.add(process, function, until, time);
                    path.changes += 1;
                    (time, process, thread) = (until, wait.until.process(), wait.until.thread());
                }
                _ => {
                    path.add(process, function, call.begin, time);
                    (time, jumps) = (call.begin, 0);
                }
            }
        }
        path.pieces.reverse();
        path
    }

    /// Adds a piece in front of the others, as far as it is not before the path's beginning.
    fn add(&mut self, process: usize, function: Option<FunctionId>, begin: i64, end: i64) {
        let begin = begin.max(self.begin);
        if begin < end {
            self.pieces.push(Piece { process, function, begin, end });
        }
    }

    /// How long it is: computing, and in MPI.
    pub(super) fn times(&self) -> [i64; 2] {
        let mut times = [0; 2];
        for piece in &self.pieces {
            times[usize::from(piece.function.is_some())] += piece.end - piece.begin;
        }
        times
    }

    /// The path's parts by rank and by what that does, the longest first: how long, and of how many pieces.
    pub(super) fn parts(&self) -> Vec<(usize, Option<FunctionId>, i64, usize)> {
        let mut parts: BTreeMap<(usize, Option<FunctionId>), (i64, usize)> = BTreeMap::new();
        for Piece { process, function, begin, end } in &self.pieces {
            let part = parts.entry((*process, *function)).or_default();
            *part = (part.0 + end - begin, part.1 + 1);
        }
        let mut parts: Vec<_> = parts
            .into_iter()
            .map(|((process, function), (time, pieces))| (process, function, time, pieces))
            .collect();
        parts.sort_by_key(|(process, function, time, _)| {
            (core::cmp::Reverse(*time), *process, *function)
        });
        parts
    }
}

/// What a process's time is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Idle {
    /// From its first call to its last, of all threads together.
    pub(super) time: i64,
    /// In calls, and in loops of polls.
    pub(super) mpi: i64,
    /// Of that, waiting for senders, for receivers, and for others at collective operations.
    pub(super) waiting: [i64; 3],
}

impl Idle {
    /// In calls, and not waiting for anybody as far as the trace tells.
    pub(super) fn other(&self) -> i64 {
        self.mpi - self.waiting.iter().sum::<i64>()
    }

    /// Of each process.
    pub(super) fn of(trace: &Trace, waits: &[Wait]) -> Vec<Self> {
        let mut idle = vec![Self::default(); trace.processes.len()];
        for (own, process) in idle.iter_mut().zip(&trace.processes) {
            for thread in &process.threads {
                let outer = outer(thread);
                let calls = || outer.iter();
                own.mpi += calls().map(|call| call.end - call.begin).sum::<i64>();
                let end = calls().map(|call| call.end).max();
                if let (Some(first), Some(end)) = (calls().next(), end) {
                    own.time += end - first.begin;
                }
            }
        }
        for wait in waits {
            // A call inside of another one waits, too, and the other one's time has it.
            idle[wait.call.process()].waiting[match wait.kind {
                WaitKind::LateSender => 0,
                WaitKind::LateReceiver => 1,
                WaitKind::Collective => 2,
            }] += wait.time;
        }
        idle
    }
}

#[cfg(test)]
mod tests {
    use mpi_facts::FunctionId::{
        MPI_Allreduce, MPI_Barrier, MPI_Init, MPI_Recv, MPI_Send, MPI_Ssend,
    };
    use mpi_facts::trace::Way::{Received, Reduced, Sent};

    use super::super::messages::Messages;
    use super::super::read::made_up::{call, process, trace};
    use super::super::waits;
    use super::*;

    fn path(trace: &Trace) -> (Path, Vec<Wait>) {
        let waits = waits::of(trace, &Messages::of(trace));
        (Path::of(trace, &waits), waits)
    }

    /// The pieces as `(process, function, begin, end)`.
    fn pieces(path: &Path) -> Vec<(usize, Option<FunctionId>, i64, i64)> {
        path.pieces.iter().map(|one| (one.process, one.function, one.begin, one.end)).collect()
    }

    /// Rank 0 computes until 100 and sends; rank 1 has waited from 20 and computes on until 200, when both come to an
    /// end. So the path is rank 0's computing, the transfer, and rank 1's computing.
    #[test]
    fn a_late_sender_is_on_the_path() {
        let trace = trace(vec![
            process(0, vec![call(MPI_Send, 100, 110).with(Sent, 1, 8)]),
            process(
                1,
                vec![
                    call(MPI_Recv, 20, 130).with(Received, 0, 8),
                    call(FunctionId::MPI_Finalize, 200, 210),
                ],
            ),
        ]);
        let (path, waits) = path(&trace);
        assert_eq!(waits.len(), 1);
        assert_eq!(
            pieces(&path),
            [(0, None, 0, 100), (1, Some(MPI_Recv), 100, 130), (1, None, 130, 200)]
        );
        assert_eq!((path.changes, path.times()), (1, [170, 30]));
        assert_eq!(
            path.parts()[..2],
            [(0, None, 100, 1), (1, None, 70, 1)],
            "computing is most of it"
        );
    }

    /// Rank 1 receives only at 150, so rank 0's synchronous send lasts from 10 until 170, and rank 0 ends last.
    #[test]
    fn a_late_receiver_is_on_the_path() {
        let trace = trace(vec![
            process(0, vec![call(MPI_Ssend, 10, 170).with(Sent, 1, 8)]),
            process(1, vec![call(MPI_Recv, 150, 165).with(Received, 0, 8)]),
        ]);
        let (path, _) = path(&trace);
        assert_eq!(pieces(&path), [(1, None, 0, 150), (0, Some(MPI_Ssend), 150, 170)]);
    }

    /// Three ranks, two operations: rank 2 is last at the barrier (at 50), and rank 0 at the reduction (at 120), between
    /// which it works longest. All leave the barrier at 55.
    #[test]
    fn the_last_one_at_collective_operations_is_on_the_path() {
        let ranks = [(30, 90), (10, 70), (50, 80)];
        let own = |(rank, (barrier, reduction)): (u32, (i64, i64))| {
            let reduction = if rank == 0 { 120 } else { reduction };
            process(
                rank,
                vec![
                    call(MPI_Barrier, barrier, 55).on_world(),
                    call(MPI_Allreduce, reduction, 130 - i64::from(rank))
                        .on_world()
                        .moving(Reduced, 8),
                ],
            )
        };
        let trace = trace((0..).zip(ranks).map(own).collect());
        let (path, waits) = path(&trace);
        // Two of three wait at each.
        assert_eq!(waits.len(), 4);
        assert_eq!(
            pieces(&path),
            [
                (2, None, 0, 50),
                (0, Some(MPI_Barrier), 50, 55),
                (0, None, 55, 120),
                (0, Some(MPI_Allreduce), 120, 130),
            ]
        );
        // Rank 1 waits from 10 to 50 and from 70 to 120, and its calls last 45 and 59.
        let idle = Idle::of(&trace, &waits)[1];
        assert_eq!(idle, Idle { time: 119, mpi: 104, waiting: [0, 0, 90] });
        assert_eq!(idle.other(), 14);
    }

    /// Clocks that differ make a send begin after its receive has ended. The path ends nevertheless, and has no gap.
    #[test]
    fn differing_clocks_make_no_circle() {
        let trace = trace(vec![
            process(
                0,
                vec![
                    call(MPI_Send, 50, 60).with(Sent, 1, 8),
                    call(MPI_Recv, 60, 62).with(Received, 1, 8),
                ],
            ),
            process(
                1,
                vec![
                    call(MPI_Recv, 30, 40).with(Received, 0, 8),
                    call(MPI_Send, 62, 64).with(Sent, 0, 8),
                ],
            ),
        ]);
        let (path, _) = path(&trace);
        assert_eq!(path.times().iter().sum::<i64>(), 64);
        let has_gap = path.pieces.windows(2).any(|two| two[0].end != two[1].begin);
        assert!(!has_gap, "{path:?}");
    }

    /// Rank 1 calls `MPI_Init` late, at 500, and `MPI_Finalize` late, at 1,600; between, it computes. The others are in these
    /// calls meanwhile, and end last.
    #[test]
    fn nobody_who_waits_at_the_beginning_or_at_the_end_is_on_the_path() {
        let rank = |rank: u32, init: [i64; 2], finalize: [i64; 2]| {
            let calls = [(MPI_Init, init), (FunctionId::MPI_Finalize, finalize)];
            process(rank, calls.map(|(function, [begin, end])| call(function, begin, end)).into())
        };
        let trace = trace(vec![
            rank(0, [0, 600], [610, 1700]),
            rank(1, [500, 590], [1600, 1650]),
            rank(2, [10, 595], [620, 1710]),
        ]);
        let (path, waits) = path(&trace);
        assert_eq!(pieces(&path), [(1, None, 600, 1600)]);
        assert_eq!((path.begin, path.end, path.changes), (600, 1600, 0));
        let waits: Vec<_> =
            waits.iter().map(|wait| (wait.call.process(), wait.culprit, wait.time)).collect();
        assert_eq!(waits, [(0, 1, 990), (2, 1, 980)]);
    }

    /// An `MPI_Finalize` that has returned before the last rank called it has not waited for that.
    #[test]
    fn who_has_left_before_has_not_waited() {
        let rank = |rank: u32, begin: i64, end: i64| {
            process(rank, vec![call(FunctionId::MPI_Finalize, begin, end)])
        };
        let trace = trace(vec![rank(0, 10, 20), rank(1, 100, 120)]);
        assert_eq!(path(&trace).1.len(), 0);
    }

    #[test]
    fn without_calls_there_is_no_path() {
        let trace = trace(vec![process(0, Vec::new())]);
        assert_eq!(path(&trace).0, Path::default());
    }

    /// A call that takes no time by the clock is not inside of the one that begins when it ends.
    #[test]
    fn calls_without_length_are_outer_ones() {
        let short = |time| call(FunctionId::MPI_Comm_rank, time, time);
        let calls = vec![short(20), short(20), call(MPI_Barrier, 20, 30), short(30)];
        let trace = trace(vec![process(0, calls)]);
        assert_eq!(outer_calls(&trace.processes[0].threads[0].calls), [0, 1, 2, 3]);
    }

    /// A call inside of another one is a part of that one.
    #[test]
    fn nested_calls_are_their_outer_ones() {
        let trace = trace(vec![process(
            0,
            vec![call(MPI_Barrier, 20, 30), call(FunctionId::MPI_Comm_dup, 10, 40)],
        )]);
        let dup = Some(FunctionId::MPI_Comm_dup);
        assert_eq!(pieces(&path(&trace).0), [(0, None, 0, 10), (0, dup, 10, 40)]);
    }
}
