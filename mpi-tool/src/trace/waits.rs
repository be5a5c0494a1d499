//! Where ranks wait for others, by the times of both sides.
//!
//! * *Late sender*: a receive waits from its beginning until the send begins.
//!   The same is a probe that blocks, until the message that it has found is sent, and a loop of polls (`polls.rs`).
//! * *Late receiver*: a blocking send that ends after the receive has begun has waited for that beginning. The same is the
//!   call that waits until a send is complete. If it waits for several, it is told of the longest ones only: MPI may have
//!   taken shorter ones before anybody received them.
//! * *Collective*: a process waits from its beginning until the last one of those on whom it depends begins: all others,
//!   the root (of a broadcast or scatter), or at the root all others (of a gather or reduction). Others wait, too, whose call
//!   ends right after another rank has come: that one passes data on. `MPI_Finalize` is such an
//!   operation of all, if no rank has left it before the last one came.
//!
//! A call waits once, for the last one that it depends on, and never longer than it takes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use mpi_facts::trace::Way;
use mpi_facts::{FunctionClass, FunctionId, Pattern, Shape, Timing};

use super::gaps::Gaps;
use super::messages::{Completion, Messages, Place};
use super::polls::Loop;
use super::read::{Site, Trace};

/// Why a rank waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum WaitKind {
    LateSender,
    LateReceiver,
    Collective,
}

impl WaitKind {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::LateSender => "late sender",
            Self::LateReceiver => "late receiver",
            Self::Collective => "collective",
        }
    }
}

/// A call that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    pub(super) kind: WaitKind,
    pub(super) call: Place,
    /// When that has begun: of a loop of polls, whose last call it is, the loop.
    pub(super) begin: i64,
    /// The process that comes last.
    pub(super) culprit: usize,
    /// Its call, until whose beginning the wait lasts.
    pub(super) until: Place,
    /// In nanoseconds.
    pub(super) time: i64,
}

/// Waits of one kind, function and culprit, and of the same lines of the program if these are known.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Group {
    pub(super) kind: WaitKind,
    pub(super) function: FunctionId,
    pub(super) waiting: usize,
    pub(super) culprit: usize,
    /// Where the call that waits comes from.
    pub(super) site: Option<Rc<Site>>,
    /// Where the culprit's comes from.
    pub(super) until: Option<Rc<Site>>,
}

/// All waits of a trace, one a call at most.
#[cfg(test)]
pub(super) fn of(trace: &Trace, messages: &Messages) -> Vec<Wait> {
    of_operations(trace, messages, &operations(trace))
}

/// The same, with the operations of the trace.
pub(super) fn of_operations(
    trace: &Trace,
    messages: &Messages,
    operations: &[Operation],
) -> Vec<Wait> {
    let mut waits: HashMap<Place, Wait> = HashMap::new();
    let mut add_since = |kind, begin: i64, call: Place, until: Place| {
        let time = until.of(trace).begin.min(call.of(trace).end) - begin;
        let culprit = until.process();
        if time > 0 && culprit != call.process() {
            let wait = Wait { kind, call, begin, culprit, until, time };
            let known = waits.entry(call).or_insert(wait);
            if known.time < time {
                *known = wait;
            }
        }
    };
    for (at, process) in trace.processes.iter().enumerate() {
        for (number, thread) in process.threads.iter().enumerate() {
            for Loop { first, last, sent } in &thread.loops {
                let (begin, last) = (thread.calls[*first].begin, Place::new(at, number, *last));
                add_since(WaitKind::LateSender, begin, last, *sent);
            }
        }
    }
    let mut add = |kind, call: Place, until| add_since(kind, call.of(trace).begin, call, until);
    let mut longest: HashMap<Place, u64> = HashMap::new();
    for message in &messages.matched {
        if let Some(completed) = message.completed {
            let longest = longest.entry(completed.call).or_default();
            *longest = message.sent_bytes.max(*longest);
        }
    }
    for message in &messages.matched {
        let [sent, asked] = [message.sent, message.asked].map(|place| place.of(trace));
        add(WaitKind::LateSender, message.received, message.sent);
        if let Some(probe) = message.waiting_probe(trace) {
            add(WaitKind::LateSender, probe, message.sent);
        }
        let shape = Shape::looked_up(sent.function);
        let is_blocking = shape.timing == Timing::Blocking && shape.pattern == Pattern::Send;
        if is_blocking && sent.end >= asked.begin {
            add(WaitKind::LateReceiver, message.sent, message.asked);
        }
        if let Some(Completion { call, is_sure }) = message.completed
            && (is_sure || longest[&call] == message.sent_bytes)
            && call.of(trace).end >= asked.begin
        {
            add(WaitKind::LateReceiver, call, message.asked);
        }
    }
    for operation in operations {
        operation.waits(trace, &mut add);
    }
    for operation in ends(trace) {
        operation.waits(trace, &mut add);
    }
    let mut waits: Vec<Wait> = waits.into_values().collect();
    waits.sort_by_key(|wait| wait.call);
    waits
}

/// Waits added up, the longest first: how long, and how many calls.
pub(super) fn grouped(trace: &Trace, waits: &[Wait]) -> Vec<(Group, i64, u64)> {
    let mut groups: BTreeMap<Group, (i64, u64)> = BTreeMap::new();
    for wait in waits {
        let Wait { kind, call, culprit, until, time, .. } = *wait;
        let function = call.of(trace).function;
        let [site, until] = [call, until]
            .map(|place| trace.processes[place.process()].site(place.of(trace)).cloned());
        let group = Group { kind, function, waiting: call.process(), culprit, site, until };
        let sums = groups.entry(group).or_default();
        *sums = (sums.0 + time, sums.1 + 1);
    }
    let mut groups: Vec<_> =
        groups.into_iter().map(|(group, (time, calls))| (group, time, calls)).collect();
    groups.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
    groups
}

/// A collective operation, and the calls of it on all its ranks.
pub(super) struct Operation {
    pub(super) function: FunctionId,
    pub(super) calls: Vec<Place>,
}

/// A call ends right after another rank has come if it takes no longer from there than this part of the wait.
const RIGHT_AFTER: i64 = 20;

/// Is there a root, from or to which ranks pass on the data of others?
pub(super) fn passes_data_on(function: FunctionId) -> bool {
    let pattern = Shape::looked_up(function).pattern;
    matches!(pattern, Pattern::Broadcast | Pattern::Scatter | Pattern::Gather | Pattern::Reduce)
}

/// Which of the operations on a communicator one is, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Number {
    /// From the first one on.
    FromFirst(usize),
    /// From the last one back.
    FromLast(usize),
}

/// The blocking collective operations that all their processes have in the trace. The n-th one on a communicator is the
/// same on all its ranks. If calls are missing, it is so before these, and behind them from the last one back, as all ranks
/// have called as many when they have come to an end.
pub(super) fn operations(trace: &Trace) -> Vec<Operation> {
    let gaps: Vec<Gaps> = trace.processes.iter().map(Gaps::of).collect();
    let is_whole = gaps.iter().all(|gaps| gaps.collective.is_none());
    let mut found: BTreeMap<(Number, usize, u64), (u64, Vec<Place>)> = BTreeMap::new();
    for ((at, process), gaps) in trace.processes.iter().enumerate().zip(&gaps) {
        let span = gaps.collective;
        let mut calls: BTreeMap<u64, (u64, Vec<Place>)> = BTreeMap::new();
        for (thread, all) in process.threads.iter().enumerate() {
            for (call, one) in all.calls.iter().enumerate() {
                if one.function.class() == FunctionClass::Collective
                    && let Some(known) =
                        one.communicator.and_then(|number| process.communicators.get(&number))
                {
                    let of_communicator = calls.entry(known.identity).or_default();
                    of_communicator.0 = known.sizes.iter().sum();
                    of_communicator.1.push(Place::new(at, thread, call));
                }
            }
        }
        let has_last = !is_whole && gaps.is_finished;
        for (identity, (size, mut places)) in calls {
            places.sort_by_key(|place| place.of(trace).begin);
            let mut add = |number, place: Place| {
                let entry = found.entry((number, process.world, identity)).or_default();
                entry.0 = size;
                entry.1.push(place);
            };
            let begin = |place: &Place| place.of(trace).begin;
            let first = places.iter().take_while(|place| span.is_behind(begin(place)));
            first.enumerate().for_each(|(number, place)| add(Number::FromFirst(number), *place));
            if has_last {
                let last = places.iter().rev().take_while(|place| span.is_over(begin(place)));
                last.enumerate().for_each(|(number, place)| add(Number::FromLast(number), *place));
            }
        }
    }
    // Those that are told from the first one on come first, and the others must not be among them.
    let mut known: HashSet<Place> = HashSet::new();
    let whole = found.into_values().filter(|(size, calls)| calls.len() as u64 == *size);
    let operations = whole.filter_map(|(_, calls)| {
        if !is_whole && calls.iter().any(|place| !known.insert(*place)) {
            return None;
        }
        let function = calls.first()?.of(trace).function;
        let is_one = calls.iter().all(|place| place.of(trace).function == function);
        is_one.then_some(Operation { function, calls })
    });
    operations.collect()
}

/// `MPI_Finalize` of each world, if all of its ranks have called it, and nobody has left it before the last one came.
fn ends(trace: &Trace) -> Vec<Operation> {
    let mut worlds: BTreeMap<usize, (Option<u32>, Vec<Place>)> = BTreeMap::new();
    for (at, process) in trace.processes.iter().enumerate() {
        let known = worlds.entry(process.world).or_default();
        known.0 = known.0.or(process.size);
        for (thread, all) in process.threads.iter().enumerate() {
            let last = all.calls.iter().rposition(|call| call.function == FunctionId::MPI_Finalize);
            known.1.extend(last.map(|call| Place::new(at, thread, call)));
        }
    }
    let of = |(size, calls): (Option<u32>, Vec<Place>)| {
        let last = calls.iter().map(|place| place.of(trace).begin).max()?;
        let is_whole = size.is_some_and(|size| calls.len() == size as usize);
        let have_waited = calls.iter().all(|place| place.of(trace).end >= last);
        let function = FunctionId::MPI_Finalize;
        (is_whole && have_waited).then_some(Operation { function, calls })
    };
    worlds.into_values().filter_map(of).collect()
}

impl Operation {
    /// The root's call, as the data tell which one it is: `None` of operations without a root, and if nothing has moved.
    pub(super) fn root(&self, trace: &Trace) -> Option<Place> {
        let way = match Shape::looked_up(self.function).pattern {
            Pattern::Broadcast | Pattern::Scatter => Way::Sent,
            Pattern::Gather | Pattern::Reduce => Way::Received,
            _ => return None,
        };
        let mut roots = self.calls.iter().filter(|place| {
            let thread = &trace.processes[place.process()].threads[place.thread()];
            thread.data(place.of(trace)).iter().any(|moved| moved.way == way)
        });
        let root = roots.next()?;
        roots.next().is_none().then_some(*root)
    }

    /// Is it a scan, in which a rank depends on those before it only?
    pub(super) fn is_scan(&self) -> bool {
        mpi_facts::is_scan(self.function)
    }

    /// Does the trace tell of the operation who has waited? It does not of scans, in which ranks depend on some others, but for
    /// calls that end right after one of these came.
    pub(super) fn tells_waits(&self) -> bool {
        Shape::looked_up(self.function).timing == Timing::Blocking && !self.is_scan()
    }

    /// Data go from rank to rank on their way from a root or to it, or in a scan, so that a rank may wait for another one than the
    /// root, or for others than all. The trace does not tell for whom. But if a call has ended right after another rank came, it is
    /// that one.
    fn waits_on_the_way(&self, trace: &Trace, add: &mut impl FnMut(WaitKind, Place, Place)) {
        let is_blocking = Shape::looked_up(self.function).timing == Timing::Blocking;
        if !is_blocking || !(self.is_scan() || passes_data_on(self.function)) {
            return;
        }
        let mut order = self.calls.clone();
        order.sort_by_key(|place| place.of(trace).begin);
        for place in &order {
            let call = place.of(trace);
            let come = order.partition_point(|other| other.of(trace).begin <= call.end);
            if let Some(last) = come.checked_sub(1).map(|last| order[last])
                && let came = last.of(trace).begin
                && (call.end - came) * RIGHT_AFTER <= came - call.begin
            {
                add(WaitKind::Collective, *place, last);
            }
        }
    }

    fn waits(&self, trace: &Trace, add: &mut impl FnMut(WaitKind, Place, Place)) {
        self.waits_on_the_way(trace, add);
        // In a scan, a process depends on those before it only.
        if !self.tells_waits() {
            return;
        }
        // The last one, and the last one of all others.
        let begin = |place: &&Place| place.of(trace).begin;
        let last = self.calls.iter().max_by_key(begin);
        let second = self.calls.iter().filter(|place| Some(*place) != last).max_by_key(begin);
        let last_but = |own: &Place| if Some(own) == last { second } else { last };
        match Shape::looked_up(self.function).pattern {
            Pattern::Broadcast | Pattern::Scatter => {
                if let Some(root) = self.root(trace) {
                    for call in self.calls.iter().filter(|call| **call != root) {
                        add(WaitKind::Collective, *call, root);
                    }
                }
            }
            Pattern::Gather | Pattern::Reduce => {
                if let Some(root) = self.root(trace)
                    && let Some(last) = last_but(&root)
                {
                    add(WaitKind::Collective, root, *last);
                }
            }
            _ => {
                for call in &self.calls {
                    if let Some(last) = last_but(call) {
                        add(WaitKind::Collective, *call, *last);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use mpi_facts::FunctionId::{
        MPI_Bcast, MPI_Isend, MPI_Issend, MPI_Recv, MPI_Reduce, MPI_Scan, MPI_Test, MPI_Wait,
        MPI_Waitall, MPI_Waitsome,
    };
    use mpi_facts::trace::Way::{Received, Reduced, Sent};

    use super::super::read::made_up::{call, process, trace};
    use super::*;

    /// Rank 0 starts sends at 10, one to each other rank, and completes them in a call from 20 to 100. The others receive from
    /// the given times on. Returns for whom rank 0 waits, and how long.
    fn waits(
        sends: &[(FunctionId, u64)],
        receives: &[i64],
        completes: FunctionId,
        requests: u64,
    ) -> Vec<(usize, i64)> {
        let mut processes = Vec::new();
        let mut calls = Vec::new();
        for (rank, ((function, bytes), begin)) in (1..).zip(sends.iter().zip(receives)) {
            calls.push(call(*function, 10, 11).with(Sent, rank, *bytes));
            let receive = call(MPI_Recv, *begin, *begin + 5).with(Received, 0, *bytes);
            processes.push(process(rank as u32, vec![receive]));
        }
        let numbers: Vec<u64> = (0..sends.len() as u64).collect();
        calls.push(call(completes, 20, 100).ending(&numbers, requests));
        processes.insert(0, process(0, calls));
        let trace = trace(processes);
        let waits = of(&trace, &Messages::of(&trace));
        assert!(waits.iter().all(|wait| wait.kind == WaitKind::LateReceiver), "{waits:?}");
        waits.iter().map(|wait| (wait.culprit, wait.time)).collect()
    }

    #[test]
    fn a_send_is_waited_for_until_its_receive_begins() {
        let one = [(MPI_Isend, 4096)];
        assert_eq!(waits(&one, &[60], MPI_Wait, 1), [(1, 40)]);
        assert_eq!(waits(&one, &[60], MPI_Waitall, 1), [(1, 40)]);
        assert_eq!(waits(&one, &[60], MPI_Waitsome, 1), [(1, 40)]);
        // It was complete before anybody received it, or its receive was there before.
        assert_eq!(waits(&one, &[120], MPI_Wait, 1), []);
        assert_eq!(waits(&one, &[15], MPI_Wait, 1), []);
        // That waits for nobody.
        assert_eq!(waits(&one, &[60], MPI_Test, 1), []);
    }

    #[test]
    fn several_sends_are_waited_for_until_the_last_receive_begins() {
        let two = [(MPI_Isend, 4096), (MPI_Isend, 4096)];
        assert_eq!(waits(&two, &[50, 70], MPI_Waitall, 2), [(2, 50)]);
        // The shorter one may have been complete when the call began.
        let two = [(MPI_Isend, 1 << 20), (MPI_Isend, 4096)];
        assert_eq!(waits(&two, &[50, 70], MPI_Waitall, 2), [(1, 30)]);
        let two = [(MPI_Isend, 1 << 20), (MPI_Issend, 8)];
        assert_eq!(waits(&two, &[50, 70], MPI_Waitall, 2), [(2, 50)]);
    }

    /// What ranks wait for in an operation on data of rank 0, by rank: when each one is in it.
    fn rooted(function: FunctionId, way: Way, calls: [(i64, i64); 4]) -> Vec<(usize, usize, i64)> {
        let rank = |(rank, (begin, end)): (u32, (i64, i64))| {
            let call = call(function, begin, end);
            let other = if way == Sent { Received } else { Sent };
            process(rank, vec![call.moving(if rank == 0 { way } else { other }, 4)])
        };
        let trace = trace((0..).zip(calls).map(rank).collect());
        let waits = of(&trace, &Messages::of(&trace));
        waits.iter().map(|wait| (wait.call.process(), wait.culprit, wait.time)).collect()
    }

    /// Rank 3 gets the data from rank 2, which comes at 1,000; the root and rank 1 are there from the beginning.
    #[test]
    fn a_rank_that_passes_data_on_is_waited_for() {
        let calls = |end| [(10, 12), (10, 15), (1000, 1005), (20, end)];
        assert_eq!(rooted(MPI_Bcast, Sent, calls(1010)), [(3, 2, 980)]);
        // It has ended before, or long after: then it has not waited for that.
        assert_eq!(rooted(MPI_Bcast, Sent, calls(990)), []);
        assert_eq!(rooted(MPI_Bcast, Sent, calls(1100)), []);
        // Rank 2 waits for rank 3, as the root does.
        let calls = [(10, 1010), (10, 15), (20, 1008), (1000, 1003)];
        assert_eq!(rooted(MPI_Reduce, Received, calls), [(0, 3, 990), (2, 3, 980)]);
        // All others need what rank 0 adds.
        let calls = [(1000, 1003), (10, 1005), (15, 1008), (20, 1010)];
        assert_eq!(rooted(MPI_Scan, Reduced, calls), [(1, 0, 990), (2, 0, 985), (3, 0, 980)]);
    }

    /// What is waited for may be the other request.
    #[test]
    fn among_other_requests_only_a_synchronous_send_is_sure_to_be_waited_for() {
        assert_eq!(waits(&[(MPI_Isend, 4096)], &[60], MPI_Waitall, 2), []);
        assert_eq!(waits(&[(MPI_Issend, 4096)], &[60], MPI_Waitall, 2), [(1, 40)]);
    }
}
