//! Which receive has got which send: exactly, by MPI's own rules.
//!
//! Messages with one communicator, sender, receiver and tag arrive in the order in which they were sent, and MPI gives
//! them to receives in the order in which these were started. So the n-th send is the n-th receive that has got such a
//! message, whatever it had asked for.
//!
//! A receive of what `MPI_Mprobe` has matched counts from that call on. Where calls are missing (`gaps.rs`), messages that
//! have no numbers by that are left alone.

use core::num::NonZeroU64;
use std::collections::{HashMap, HashSet};

use mpi_facts::trace::{Moved, Way, is_synchronous, receives_taken};
use mpi_facts::{FunctionClass, FunctionId, NONE, Shape};

use super::gaps::{self, Gaps, Span};
use super::read::{Call, Process, Trace};

/// A message whose send and receive are both in the trace.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) sent: Place,
    /// The call in which it arrived: the receive, or the call that has completed it.
    pub(super) received: Place,
    /// The call that has started the receive, if that is another one.
    pub(super) asked: Place,
    /// The call that has waited until the send was complete, if that is another one.
    pub(super) completed: Option<Completion>,
    /// The call that has found it before, if one has: the first one.
    pub(super) probed: Option<Place>,
    pub(super) tag: i64,
    /// As many bytes as have arrived.
    pub(super) bytes: u64,
    /// As many as were sent: the same, unless somebody is wrong.
    pub(super) sent_bytes: u64,
    /// The send is complete only when the receive has begun.
    pub(super) is_synchronous: bool,
    communicator: Option<NonZeroU64>,
}

/// A call that has waited until a send was complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Completion {
    pub(super) call: Place,
    /// It waits for this send: for no other one, or one that is synchronous. Otherwise, it waits for several sends, of which
    /// some may have been complete before.
    pub(super) is_sure: bool,
}

impl Message {
    /// The sender's number of the communicator.
    pub(super) fn communicator(&self) -> Option<u64> {
        self.communicator.map(NonZeroU64::get)
    }

    /// The probe that has waited until the message was there.
    pub(super) fn waiting_probe(&self, trace: &Trace) -> Option<Place> {
        self.probed.filter(|probe| {
            let probe = probe.of(trace);
            let is_blocking = Shape::looked_up(probe.function).flag == NONE;
            is_blocking && self.sent.of(trace).begin <= probe.end
        })
    }
}

/// A call: its process, its thread, and its place there. There are several for each message, so that they are small.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place {
    process: u32,
    thread: u32,
    call: u32,
}

impl Place {
    /// Of numbers below 2^32: that many calls of one thread find no room in memory.
    pub(super) fn new(process: usize, thread: usize, call: usize) -> Self {
        let [process, thread, call] =
            [process, thread, call].map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        Self { process, thread, call }
    }

    pub(super) const fn process(self) -> usize {
        self.process as usize
    }

    pub(super) const fn thread(self) -> usize {
        self.thread as usize
    }

    pub(super) const fn call(self) -> usize {
        self.call as usize
    }

    pub(super) fn of(self, trace: &Trace) -> &Call {
        &trace.processes[self.process()].threads[self.thread()].calls[self.call()]
    }
}

/// All messages of a trace.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// By the time when they were sent.
    pub(super) matched: Vec<Message>,
    /// Sends without a receive in the trace, and receives without a send.
    pub(super) unmatched: [u64; 2],
    /// Calls that wait for the other side of such a message: they receive it, or have sent it synchronously.
    pub(super) lone: Vec<Place>,
}

/// What messages have in common that MPI keeps in order: world, communicator, sender, receiver, tag.
type Envelope = (usize, u64, u32, u32, i64);

/// One side of a message.
#[derive(Debug, Clone)]
struct End {
    call: Place,
    asked: Place,
    /// Of a send, the call that has waited for it.
    completed: Option<Completion>,
    /// The call that has matched it before.
    probed: Option<Place>,
    bytes: u64,
    is_synchronous: bool,
    communicator: Option<NonZeroU64>,
}

impl End {
    /// The call that waits for the other side, whenever that begins. `None` of a send that does not.
    fn waiting(&self, is_received: bool) -> Option<Place> {
        let completed = || self.completed.map_or(self.call, |completion| completion.call);
        match is_received {
            true => Some(self.call),
            false => self.is_synchronous.then(completed),
        }
    }

    /// By when MPI orders it, and the call's number if that is equal.
    fn order(&self, trace: &Trace) -> (i64, u64) {
        let call = self.probed.unwrap_or(self.asked).of(trace);
        (call.begin, call.number)
    }
}

/// The two sides of all messages of an envelope.
#[derive(Default)]
struct Sides {
    sends: Vec<End>,
    receives: Vec<End>,
    /// Calls of `MPI_Probe` that have found one of them.
    probes: Vec<Place>,
}

impl Messages {
    pub(super) fn of(trace: &Trace) -> Self {
        let mut envelopes: HashMap<Envelope, Sides> = HashMap::new();
        let mut gaps: HashMap<(usize, u32), Gaps> = HashMap::new();
        let mut messages = Self::default();
        for (at, process) in trace.processes.iter().enumerate() {
            let Some(rank) = process.rank else { continue };
            let restarts = Restarts::of(process, at);
            let completions = completions(process, at, &restarts);
            let mut complete = HashSet::new();
            for (number, thread) in process.threads.iter().enumerate() {
                for (index, call) in thread.calls.iter().enumerate() {
                    let place = Place::new(at, number, index);
                    if call.function == FunctionId::MPI_Probe
                        && let Some((peer, tag)) = thread.found.get(&index)
                        && let Some(peer) = gaps::rank_of(rank, *peer)
                        && let Some(identity) = process.identity(call.communicator)
                    {
                        let envelope = (process.world, identity, peer, rank, *tag);
                        envelopes.entry(envelope).or_default().probes.push(place);
                    }
                    for moved in thread.data(call) {
                        let asked = started(process, place, moved);
                        let begun = asked.map_or(call, |place| place.of(trace));
                        // Other data than messages have peers, too.
                        if begun.function.class() != FunctionClass::PointToPoint {
                            continue;
                        }
                        let received = moved.way == Way::Received;
                        let Some(prepared) = asked else {
                            messages.unmatched[usize::from(received)] += 1;
                            messages.lone.extend(received.then_some(place));
                            continue;
                        };
                        let probed = matched(process, prepared);
                        let asked = restarts.last(prepared, call).unwrap_or(prepared);
                        if received {
                            complete
                                .insert(probed.map_or((prepared, asked), |probe| (probe, probe)));
                        }
                        let number = begun
                            .communicator
                            .or_else(|| probed.and_then(|probe| probe.of(trace).communicator));
                        // Nobody knows of which communicator the message is, or when its receive was matched.
                        let is_known = probed.is_some() || !receives_taken(begun.function);
                        let identity = process.identity(number).filter(|_| is_known);
                        let peer = gaps::rank_of(rank, moved.peer);
                        let (asked, probed) =
                            if received { (asked, probed) } else { (place, None) };
                        let completed = completions.get(&place).copied().filter(|_| !received);
                        let communicator = number.and_then(NonZeroU64::new);
                        let (call, bytes) = (place, moved.bytes);
                        let is_synchronous = !received && is_synchronous(begun.function);
                        let end = End {
                            call,
                            asked,
                            completed,
                            probed,
                            bytes,
                            is_synchronous,
                            communicator,
                        };
                        let (Some(identity), Some(peer)) = (identity, peer) else {
                            messages.unmatched[usize::from(received)] += 1;
                            messages.lone.extend(end.waiting(received));
                            continue;
                        };
                        let tag = match (received, moved.tag) {
                            (true, Some(tag)) => tag,
                            (true, None) => begun.received_tag.or(begun.tag).unwrap_or(0),
                            (false, _) => begun.tag.unwrap_or(0),
                        };
                        let (from, to) = if received { (peer, rank) } else { (rank, peer) };
                        let sides: &mut Sides =
                            envelopes.entry((process.world, identity, from, to, tag)).or_default();
                        if received { &mut sides.receives } else { &mut sides.sends }.push(end);
                    }
                }
            }
            let mut own = Gaps::of(process);
            own.add_single(process, at, &restarts, &complete);
            gaps.insert((process.world, rank), own);
        }
        for (envelope, sides) in envelopes {
            messages.pair(trace, envelope, sides, &gaps);
        }
        messages.sort(trace);
        messages
    }

    /// Pairs the messages of an envelope: those before all calls that are missing by their numbers from the first one on,
    /// and those behind these by their numbers from the last one back.
    fn pair(
        &mut self,
        trace: &Trace,
        (world, communicator, from, to, tag): Envelope,
        mut sides: Sides,
        gaps: &HashMap<(usize, u32), Gaps>,
    ) {
        let Sides { sends, receives, probes } = &mut sides;
        sends.sort_by_key(|end| end.order(trace));
        receives.sort_by_key(|end| end.order(trace));
        probes.sort_by_key(|probe| probe.of(trace).begin);
        let (mut first, mut last) = (0, 0);
        if let (Some(sender), Some(receiver)) = (gaps.get(&(world, from)), gaps.get(&(world, to))) {
            let spans = [
                sender.of_messages(0, communicator, to, tag),
                receiver.of_messages(1, communicator, from, tag),
            ];
            let known = |is_known: fn(Span, i64) -> bool| {
                let count = |ends: &[End], span| {
                    ends.iter().filter(|end| is_known(span, end.order(trace).0)).count()
                };
                count(sends, spans[0]).min(count(receives, spans[1]))
            };
            first = known(Span::is_behind);
            if !spans.iter().all(|span| span.is_none()) && have_arrived([sender, receiver]) {
                last = known(Span::is_over);
            }
        }
        // If not all has arrived after all, these are no pairs.
        let mut back = sends.iter().rev().zip(receives.iter().rev()).take(last);
        let fits = back.all(|(sent, received)| may_be_one(trace, sent, received));
        if !fits || first + last > sends.len().min(receives.len()) {
            last = 0;
        }
        self.unmatched[0] += (sends.len() - first - last) as u64;
        self.unmatched[1] += (receives.len() - first - last) as u64;
        for (is_received, ends) in [(false, &*sends), (true, &*receives)] {
            let lone = &ends[first..ends.len() - last];
            self.lone.extend(lone.iter().filter_map(|end| end.waiting(is_received)));
        }
        let offset = receives.len() - last;
        let pairs = (0..first).map(|at| (at, at));
        let pairs = pairs.chain((0..last).map(|at| (sends.len() - last + at, offset + at)));
        for (send, receive) in pairs {
            let (sent, received) = (&sends[send], &receives[receive]);
            // What `MPI_Probe` has found, the next receive gets.
            let begin = |at: usize| receives[at].order(trace).0;
            let is_of_this = |probe: &&Place| {
                let end = probe.of(trace).end;
                end <= begin(receive) && (receive == 0 || begin(receive - 1) < end)
            };
            let from = probes
                .partition_point(|probe| receive > 0 && probe.of(trace).end <= begin(receive - 1));
            let probe = probes.get(from).filter(is_of_this).copied();
            self.matched.push(Message {
                sent: sent.call,
                received: received.call,
                asked: received.asked,
                completed: sent.completed,
                probed: received.probed.or(probe),
                tag,
                bytes: received.bytes,
                sent_bytes: sent.bytes,
                is_synchronous: sent.is_synchronous,
                communicator: sent.communicator,
            });
        }
    }

    /// Puts messages into the order of their sending.
    pub(super) fn sort(&mut self, trace: &Trace) {
        self.matched.sort_by_key(|message| {
            let sent = message.sent.of(trace);
            (sent.begin, message.sent.process(), sent.number)
        });
    }

    /// Messages that have arrived before they were sent, and by how many nanoseconds at most: clocks that differ.
    pub(super) fn violations(&self, trace: &Trace) -> (usize, i64) {
        let early = self.matched.iter().filter_map(|message| {
            let by = message.sent.of(trace).begin - message.received.of(trace).end;
            (by > 0).then_some(by)
        });
        early.fold((0, 0), |(count, most), by| (count + 1, most.max(by)))
    }
}

/// The calls that have started persistent operations, by the calls that have prepared these, in their order.
pub(super) struct Restarts(HashMap<Place, Vec<(i64, Place)>>);

impl Restarts {
    fn of(process: &Process, at: usize) -> Self {
        let mut all: HashMap<Place, Vec<(i64, Place)>> = HashMap::new();
        for (number, thread) in process.threads.iter().enumerate() {
            for (index, prepared) in &thread.starts {
                let Some(call) = thread.calls.get(*index) else { continue };
                let place = Place::new(at, number, *index);
                if let Some(prepared) = find(process, at, *prepared) {
                    all.entry(prepared).or_default().push((call.begin, place));
                }
            }
        }
        all.values_mut().for_each(|starts| starts.sort_by_key(|(begin, _)| *begin));
        Self(all)
    }

    /// All starts of what a call has prepared: when, and the calls.
    pub(super) fn of_prepared(&self, prepared: Place) -> &[(i64, Place)] {
        self.0.get(&prepared).map_or(&[], Vec::as_slice)
    }

    /// The last start of what a call has prepared, before another call, in which it is complete, has ended.
    fn last(&self, prepared: Place, completed: &Call) -> Option<Place> {
        let starts = self.0.get(&prepared)?;
        let before = starts.partition_point(|(begin, _)| *begin < completed.end);
        Some(starts[before.checked_sub(1)?].1)
    }
}

/// The calls that have waited for sends, by the calls that have started these. A call that has waited for other operations, too, may
/// have waited for them, when a send of its was complete long before: it is left out, unless the send is synchronous.
fn completions(process: &Process, at: usize, restarts: &Restarts) -> HashMap<Place, Completion> {
    use FunctionId::{MPI_Wait, MPI_Waitall, MPI_Waitany, MPI_Waitsome};
    let mut completions = HashMap::new();
    for (number, thread) in process.threads.iter().enumerate() {
        for ends in thread.ended.chunk_by(|one, other| one.0 == other.0) {
            let Some(call) = thread.calls.get(ends[0].0) else { continue };
            let [is_alone, has_sends_only] = match call.function {
                MPI_Wait | MPI_Waitany => [true; 2],
                MPI_Waitall | MPI_Waitsome => {
                    let requests = ends[0].2;
                    [requests == 1, requests == ends.len() as u64]
                }
                _ => continue,
            };
            for (index, started, _) in ends {
                let Some(prepared) = find(process, at, *started) else { continue };
                let function = process.threads[prepared.thread()].calls[prepared.call()].function;
                let is_sure = is_alone || is_synchronous(function);
                if is_sure || has_sends_only {
                    let start = restarts.last(prepared, call).unwrap_or(prepared);
                    let call = Place::new(at, number, *index);
                    completions.insert(start, Completion { call, is_sure });
                }
            }
        }
    }
    completions
}

/// The call of a process with this thread and this number.
fn find(process: &Process, at: usize, (thread, number): (u64, u64)) -> Option<Place> {
    let thread = usize::try_from(thread).ok()?;
    let call = process.threads.get(thread)?.place(number)?;
    Some(Place::new(at, thread, call))
}

/// The call that has started the operation whose data have moved; `None` if it is not in the trace.
pub(super) fn started(process: &Process, call: Place, moved: &Moved) -> Option<Place> {
    moved.of.map_or(Some(call), |of| find(process, call.process(), of))
}

/// The call that has matched what a call receives, if it is in the trace.
fn matched(process: &Process, call: Place) -> Option<Place> {
    let of = process.threads[call.thread()].matched.get(&call.call())?;
    find(process, call.process(), *of)
}

/// Have all messages between two processes arrived? So it is if both have called `MPI_Finalize`. Of files that keep the last
/// calls only, it is what one has to assume.
fn have_arrived(ends: [&Gaps; 2]) -> bool {
    ends.iter().all(|one| one.is_finished) || ends.iter().any(|one| one.is_ring)
}

/// May a send and a receive be those of one message? Not if lengths differ, or if it would have arrived before it was sent.
fn may_be_one(trace: &Trace, sent: &End, received: &End) -> bool {
    let host = |end: &End| &trace.processes[end.call.process()].host;
    let is_early = received.call.of(trace).end < sent.call.of(trace).begin;
    sent.bytes == received.bytes && !(is_early && host(sent) == host(received))
}

#[cfg(test)]
mod tests;
