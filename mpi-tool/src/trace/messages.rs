//! Which receive has got which send: exactly, by MPI's own rules.
//!
//! Messages with one communicator, sender, receiver and tag arrive in the order in which they were sent, and MPI gives
//! them to receives in the order in which these were started. So the n-th send is the n-th receive that has got such a
//! message, whatever it had asked for.

use std::collections::HashMap;

use mpi_facts::trace::{Moved, Partner, Way};
use mpi_facts::{FunctionClass, FunctionId};

use super::read::{Call, Process, Trace};

/// A message whose send and receive are both in the trace.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub(super) sent: Place,
    /// The call in which it arrived: the receive, or the call that has completed it.
    pub(super) received: Place,
    /// The call that has started the receive, if that is another one.
    pub(super) asked: Place,
    pub(super) tag: i64,
    /// As many bytes as have arrived.
    pub(super) bytes: u64,
    /// As many as were sent: the same, unless somebody is wrong.
    pub(super) sent_bytes: u64,
    pub(super) communicator: Option<u64>,
}

/// A call: its process, its thread, and its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    pub(super) process: usize,
    pub(super) thread: usize,
    pub(super) call: usize,
}

impl Place {
    pub(super) fn of(self, trace: &Trace) -> &Call {
        &trace.processes[self.process].threads[self.thread].calls[self.call]
    }
}

/// All messages of a trace.
#[derive(Debug, Default)]
pub(super) struct Messages {
    /// By the time when they were sent.
    pub(super) matched: Vec<Message>,
    /// Sends without a receive in the trace, and receives without a send.
    pub(super) unmatched: [u64; 2],
}

/// What messages have in common that MPI keeps in order: world, communicator, sender, receiver, tag.
type Envelope = (usize, u64, u32, u32, i64);

/// One side of a message.
#[derive(Debug, Clone)]
struct End {
    /// By when MPI orders it, and the call's number if that is equal.
    order: (i64, u64),
    call: Place,
    asked: Place,
    bytes: u64,
    communicator: Option<u64>,
}

impl Messages {
    pub(super) fn of(trace: &Trace) -> Self {
        let mut sends: HashMap<Envelope, Vec<End>> = HashMap::new();
        let mut receives: HashMap<Envelope, Vec<End>> = HashMap::new();
        let mut messages = Self::default();
        for (at, process) in trace.processes.iter().enumerate() {
            let Some(rank) = process.rank else { continue };
            let matched = matched_communicators(process, at);
            let restarts = Restarts::of(process, at);
            for (number, thread) in process.threads.iter().enumerate() {
                for (index, call) in thread.calls.iter().enumerate() {
                    let place = Place { process: at, thread: number, call: index };
                    for moved in thread.data(call) {
                        let asked = started(process, place, moved);
                        let begun = asked.map_or(call, |place| place.of(trace));
                        // Other data than messages have peers, too.
                        if begun.function.class() != FunctionClass::PointToPoint {
                            continue;
                        }
                        let side = usize::from(moved.way == Way::Received);
                        let (Some(asked), Partner::At(distance)) = (asked, moved.peer) else {
                            messages.unmatched[side] += 1;
                            continue;
                        };
                        let Ok(peer) = u32::try_from(i64::from(rank) + distance) else { continue };
                        let number = begun.communicator.or_else(|| matched.get(&asked).copied());
                        let identity = number
                            .and_then(|number| process.communicators.get(&number))
                            .map_or(0, |communicator| communicator.identity);
                        let received = moved.way == Way::Received;
                        let tag = match (received, moved.tag) {
                            (true, Some(tag)) => tag,
                            (true, None) => begun.received_tag.or(begun.tag).unwrap_or(0),
                            (false, _) => begun.tag.unwrap_or(0),
                        };
                        let started = restarts.last(asked, call);
                        let asked = started.unwrap_or(asked);
                        let order = if received { asked } else { place }.of(trace);
                        let order = (order.begin, order.number);
                        let end = End {
                            order,
                            call: place,
                            asked,
                            bytes: moved.bytes,
                            communicator: number,
                        };
                        let (ends, envelope) = if received {
                            (&mut receives, (process.world, identity, peer, rank, tag))
                        } else {
                            (&mut sends, (process.world, identity, rank, peer, tag))
                        };
                        ends.entry(envelope).or_default().push(end);
                    }
                }
            }
        }
        let is_whole = trace.processes.iter().all(|process| process.overwritten == 0);
        for (envelope, mut sends) in sends {
            let mut receives = receives.remove(&envelope).unwrap_or_default();
            sends.sort_by_key(|end| end.order);
            receives.sort_by_key(|end| end.order);
            let pairs = sends.len().min(receives.len());
            messages.unmatched[0] += (sends.len() - pairs) as u64;
            messages.unmatched[1] += (receives.len() - pairs) as u64;
            if !is_whole {
                // The first ones are gone, and the last ones belong together.
                sends.drain(..sends.len() - pairs);
                receives.drain(..receives.len() - pairs);
            }
            let tag = envelope.4;
            messages.matched.extend(sends.into_iter().zip(receives).map(|(sent, received)| {
                Message {
                    sent: sent.call,
                    received: received.call,
                    asked: received.asked,
                    tag,
                    bytes: received.bytes,
                    sent_bytes: sent.bytes,
                    communicator: sent.communicator,
                }
            }));
        }
        let left: usize = receives.values().map(Vec::len).sum();
        messages.unmatched[1] += left as u64;
        messages.sort(trace);
        messages
    }

    /// Puts messages into the order of their sending.
    pub(super) fn sort(&mut self, trace: &Trace) {
        self.matched.sort_by_key(|message| {
            let sent = message.sent.of(trace);
            (sent.begin, message.sent.process, sent.number)
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
struct Restarts(HashMap<Place, Vec<(i64, Place)>>);

impl Restarts {
    fn of(process: &Process, at: usize) -> Self {
        let mut all: HashMap<Place, Vec<(i64, Place)>> = HashMap::new();
        for (number, thread) in process.threads.iter().enumerate() {
            for (index, prepared) in &thread.starts {
                let Some(call) = thread.calls.get(*index) else { continue };
                let place = Place { process: at, thread: number, call: *index };
                if let Some(prepared) = find(process, at, *prepared) {
                    all.entry(prepared).or_default().push((call.begin, place));
                }
            }
        }
        all.values_mut().for_each(|starts| starts.sort_by_key(|(begin, _)| *begin));
        Self(all)
    }

    /// The last start of what a call has prepared, before another call, in which it is complete, has ended.
    fn last(&self, prepared: Place, completed: &Call) -> Option<Place> {
        let starts = self.0.get(&prepared)?;
        let before = starts.partition_point(|(begin, _)| *begin < completed.end);
        Some(starts[before.checked_sub(1)?].1)
    }
}

/// The call of a process with this thread and this number.
fn find(process: &Process, at: usize, (thread, number): (u64, u64)) -> Option<Place> {
    let thread = usize::try_from(thread).ok()?;
    let call = process.threads.get(thread)?.place(number)?;
    Some(Place { process: at, thread, call })
}

/// The call that has started the operation whose data have moved; `None` if it is not in the trace.
fn started(process: &Process, call: Place, moved: &Moved) -> Option<Place> {
    moved.of.map_or(Some(call), |of| find(process, call.process, of))
}

/// In which communicators receives of matched messages are: that of the thread's last probe before.
fn matched_communicators(process: &Process, at: usize) -> HashMap<Place, u64> {
    let mut found = HashMap::new();
    for (thread, calls) in process.threads.iter().enumerate() {
        let mut last = None;
        for (call, one) in calls.calls.iter().enumerate() {
            match one.function {
                FunctionId::MPI_Mprobe | FunctionId::MPI_Improbe => last = one.communicator,
                FunctionId::MPI_Mrecv | FunctionId::MPI_Imrecv => {
                    if let Some(communicator) = last {
                        found.insert(Place { process: at, thread, call }, communicator);
                    }
                }
                _ => {}
            }
        }
    }
    found
}
