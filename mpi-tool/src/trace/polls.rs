//! Loops of polls: calls of `MPI_Test` or `MPI_Iprobe` one after the other, until a message is there. What a call of `MPI_Wait` would
//! be, such a loop is: one call, that waits for the message.
//!
//! It ends with the call in which the message has arrived or was matched. What `MPI_Iprobe` or `MPI_Request_get_status` has found,
//! the files do not tell: there, the call behind the loop tells it, if that receives a message which was sent before the loop's
//! end.

use std::collections::HashMap;

use mpi_facts::FunctionId;

use super::messages::{Messages, Place};
use super::path::outer_calls;
use super::read::{Call, Trace};

/// Some calls of a thread, by their places: the first one and the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Loop {
    pub(super) first: usize,
    pub(super) last: usize,
    /// The send that it waits for, the last one of several.
    pub(super) sent: Place,
}

/// So many nanoseconds are between two polls of a loop at most, and on the average: programs sleep for a while, or are preempted.
/// What is longer is work.
const MOST_APART: i64 = 20_000_000;
const MEAN_APART: i64 = 2_000_000;

/// Does a function look whether something has happened, without waiting for it?
pub(super) const fn is_poll(function: FunctionId) -> bool {
    use FunctionId::{MPI_Improbe, MPI_Test, MPI_Testall, MPI_Testany, MPI_Testsome};
    matches!(function, MPI_Test | MPI_Testall | MPI_Testany | MPI_Testsome | MPI_Improbe)
        || only_looks(function)
}

/// Does it leave what it has found to another call?
const fn only_looks(function: FunctionId) -> bool {
    use FunctionId::{
        MPI_Iprobe, MPI_Request_get_status, MPI_Request_get_status_all, MPI_Request_get_status_any,
        MPI_Request_get_status_some,
    };
    matches!(
        function,
        MPI_Iprobe
            | MPI_Request_get_status
            | MPI_Request_get_status_all
            | MPI_Request_get_status_any
            | MPI_Request_get_status_some
    )
}

/// Sends by calls that they are waited for in. Of several, the last one counts.
#[derive(Default)]
struct Sends(HashMap<Place, Place>);

impl Sends {
    fn add(&mut self, trace: &Trace, call: Place, sent: Place) {
        let known = self.0.entry(call).or_insert(sent);
        if known.of(trace).begin < sent.of(trace).begin {
            *known = sent;
        }
    }
}

/// A loop that has not ended.
#[derive(Clone, Copy)]
struct Open {
    first: usize,
    last: usize,
    /// How many calls there are, how long it was between them, and when the last one has ended.
    calls: i64,
    apart: i64,
    end: i64,
}

impl Open {
    /// `None` if it is one call only, or does not only poll.
    fn closed(self, sent: Place) -> Option<Loop> {
        let Self { first, last, calls, apart, .. } = self;
        (calls > 1 && apart <= MEAN_APART * (calls - 1)).then_some(Loop { first, last, sent })
    }
}

/// Finds the loops of all threads.
pub(super) fn find(trace: &mut Trace, messages: &Messages) {
    let polls = |call: &Call| is_poll(call.function);
    if !trace.calls().any(|(_, _, call)| polls(call)) {
        return;
    }
    let looks = trace.calls().any(|(_, _, call)| only_looks(call.function));
    let [mut arrived, mut taken] = [Sends::default(), Sends::default()];
    for message in &messages.matched {
        for call in [Some(message.received), message.probed].into_iter().flatten() {
            if polls(call.of(trace)) {
                arrived.add(trace, call, message.sent);
            }
        }
        if looks {
            for call in [message.received, message.asked] {
                taken.add(trace, call, message.sent);
            }
        }
    }
    for at in 0..trace.processes.len() {
        for number in 0..trace.processes[at].threads.len() {
            let loops = of_thread(trace, [at, number], &arrived, &taken);
            trace.processes[at].threads[number].loops = loops;
        }
    }
}

fn of_thread(
    trace: &Trace,
    [process, number]: [usize; 2],
    arrived: &Sends,
    taken: &Sends,
) -> Vec<Loop> {
    let calls = &trace.processes[process].threads[number].calls;
    let mut loops = Vec::new();
    let mut open: Option<Open> = None;
    for at in outer_calls(calls) {
        let call = &calls[at];
        let place = Place::new(process, number, at);
        open = open.filter(|open| call.begin - open.end <= MOST_APART);
        if is_poll(call.function) {
            let mut one =
                open.unwrap_or(Open { first: at, last: at, calls: 0, apart: 0, end: call.begin });
            one.apart += call.begin - one.end;
            (one.last, one.calls, one.end) = (at, one.calls + 1, call.end);
            let sent = arrived.0.get(&place);
            loops.extend(sent.and_then(|sent| one.closed(*sent)));
            open = sent.is_none().then_some(one);
        } else if call.function == FunctionId::MPI_Wtime {
            if let Some(open) = &mut open {
                open.apart += call.begin - open.end;
                open.end = call.end;
            }
        } else if let Some(one) = open.take() {
            let last = &calls[one.last];
            let is_found =
                |sent: &&Place| only_looks(last.function) && sent.of(trace).begin <= last.end;
            let sent = taken.0.get(&place).filter(is_found);
            loops.extend(sent.and_then(|sent| one.closed(*sent)));
        }
    }
    loops
}

#[cfg(test)]
mod tests {
    use mpi_facts::FunctionId::{
        MPI_Barrier, MPI_Finalize, MPI_Init, MPI_Iprobe, MPI_Irecv, MPI_Recv, MPI_Send, MPI_Test,
        MPI_Wtime,
    };
    use mpi_facts::trace::Way::{Received, Sent};

    use super::super::Found;
    use super::super::path::Idle;
    use super::super::read::made_up::{MadeUp, call, process, trace};
    use super::super::text;
    use super::*;

    const MS: i64 = 1_000_000;

    /// Rank 0 computes for a second and sends. Rank 1 polls until the message is there, so many nanoseconds apart, and both go on
    /// to a barrier. A poll takes 10 ns.
    fn polled(apart: i64, ends: &dyn Fn(i64, MadeUp) -> Vec<MadeUp>, poll: FunctionId) -> Trace {
        let end = 1001 * MS;
        let rank = |rank: u32, mut calls: Vec<MadeUp>| {
            calls.insert(0, call(MPI_Init, 0, 100));
            calls.push(call(MPI_Barrier, end + 2000, end + 3000).on_world());
            calls.push(call(MPI_Finalize, end + 3000, end + 4000));
            process(rank, calls)
        };
        let sender = vec![call(MPI_Send, 1000 * MS, 1000 * MS + 10).with(Sent, 1, 8)];
        let mut polls = vec![call(MPI_Irecv, 100, 110)];
        let mut time = 110;
        while time < 1000 * MS {
            polls.push(call(poll, time, time + 10));
            polls.push(call(MPI_Wtime, time + 10, time + 12));
            time += 10 + apart;
        }
        polls.extend(ends(time, call(poll, time, time + 10)));
        trace(vec![rank(0, sender), rank(1, polls)])
    }

    fn found(mut trace: Trace) -> (Trace, Messages, Found) {
        let messages = Messages::of(&trace);
        find(&mut trace, &messages);
        let found = Found::of(&trace, &messages);
        (trace, messages, found)
    }

    /// The loop waits from its beginning at 110 until the message is sent at 1 s, and rank 1 does nothing of its own.
    fn assert_waits(function: &str, (trace, messages, found): (Trace, Messages, Found)) {
        let text = text::of(&trace, &messages, &found, 20);
        let waits: Vec<_> =
            found.waits.iter().map(|wait| (wait.call.process(), wait.culprit, wait.time)).collect();
        assert_eq!(waits, [(1, 0, 1000 * MS - 110)], "{text}");
        let who = format!("rank 1, in 1 loop of {function}, waits for rank 0 to send\n");
        assert!(text.contains(&who), "{text}");
        assert!(text.contains("of waiting by rank 1: rank 0 computes too long between"), "{text}");
        assert!(text.contains("100.0 %        rank 0 computes\n"), "{text}");
        let factors = found.efficiency.unwrap().factors;
        // Rank 0 computes for all but the poll's last interval; rank 1 for none of the time until then.
        assert_eq!(factors.most, 1000 * MS - 100 + MS + 2000 - 10, "{text}");
        assert!(factors.mean < factors.most as f64 * 0.51, "{text}");
        let idle = &Idle::of(&trace, &found.waits)[1];
        assert!(idle.other() >= 0, "{idle:?}");
    }

    #[test]
    fn a_loop_of_tests_waits_for_the_message() {
        let ends = |_, last: MadeUp| vec![last.completing(1, 0, 8)];
        assert_waits("MPI_Test", found(polled(MS, &ends, MPI_Test)));
    }

    /// The message that a loop has found is received behind it.
    #[test]
    fn a_loop_of_probes_waits_for_the_message() {
        let ends = |time: i64, last: MadeUp| {
            vec![last, call(MPI_Recv, time + 20, time + 30).with(Received, 0, 8)]
        };
        assert_waits("MPI_Iprobe", found(polled(MS, &ends, MPI_Iprobe)));
    }

    /// Who computes for 5 ms between polls does not only poll. Nor does who never gets a message by it: it may wait for
    /// something, and nobody is said to be there.
    #[test]
    fn work_between_polls_is_work() {
        let gets = |_, last: MadeUp| vec![last.completing(1, 0, 8)];
        let (_, _, found) = found(polled(5 * MS, &gets, MPI_Test));
        assert!(found.waits.iter().all(|wait| wait.time < 10 * MS), "{:?}", found.waits);
        let useful = found.efficiency.unwrap().factors;
        assert!(useful.mean > 0.99 * useful.most as f64, "{useful:?}");
    }

    #[test]
    fn nobody_is_said_to_be_there_who_may_be_polled_for() {
        let never = |_, last: MadeUp| vec![last];
        // Rank 0 comes early to the barrier.
        let mut trace = polled(MS, &never, MPI_Test);
        let calls = &mut trace.processes[0].threads[0].calls;
        calls[1].arguments_mut().function = FunctionId::MPI_Comm_rank;
        (calls[1].begin, calls[1].end, calls[2].begin) = (150, 160, 200);
        let (trace, messages, found) = found(trace);
        let text = text::of(&trace, &messages, &found, 20);
        assert!(text.contains("rank 1 polls, or computes too long, between"), "{text}");
    }
}
