//! Where calls are missing in a trace, so that nobody knows any more which of the others are the first ones, and which the
//! second.
//!
//! Messages and collective operations are told apart by their numbers: the n-th one here is the n-th one there. Before the
//! first call that is missing, numbers are right, and so are those behind the last one, if they are counted from the end
//! back. What lies between has none.

use std::collections::{HashMap, HashSet};

use mpi_facts::trace::{Hidden, Partner, receives_taken, takes};
use mpi_facts::{FunctionClass, FunctionId, Pattern, Shape, Timing};

use super::messages::{Place, Restarts};
use super::read::{Call, Process};

/// From the first missing call until the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    first: i64,
    last: i64,
}

impl Span {
    /// Nothing is missing.
    const NONE: Self = Self { first: i64::MAX, last: i64::MIN };
    /// Anything may be.
    const ALL: Self = Self { first: i64::MIN, last: i64::MAX };

    pub(super) const fn is_none(self) -> bool {
        self.first > self.last
    }

    /// Is a time before all that is missing?
    pub(super) const fn is_behind(self, time: i64) -> bool {
        time < self.first
    }

    /// Is it after all that is missing?
    pub(super) const fn is_over(self, time: i64) -> bool {
        time > self.last
    }

    fn add(&mut self, first: i64, last: i64) {
        *self = Self { first: self.first.min(first), last: self.last.max(last) };
    }
}

/// What is missing of a process.
#[derive(Debug, Clone)]
pub(super) struct Gaps {
    /// Messages that it sends, and that it receives.
    messages: [Span; 2],
    pub(super) collective: Span,
    /// The same of single messages, of which something is known.
    single: [HashMap<Single, Span>; 2],
    /// It has called `MPI_Finalize`, so that all of its messages have arrived.
    pub(super) is_finished: bool,
    /// Its file keeps the last calls only, and others are gone.
    pub(super) is_ring: bool,
}

/// A call that has sent or received a message, or has not. Another one of these messages has its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Single {
    communicator: u64,
    /// The other process's rank, if it is known.
    peer: Option<u32>,
    /// `None` of any.
    tag: Option<i64>,
}

impl Gaps {
    /// Of all but single messages.
    pub(super) fn of(process: &Process) -> Self {
        let mut all = Span::NONE;
        if let Some((from, to)) = process.off {
            all.add(from, to.unwrap_or(i64::MAX));
        }
        for thread in &process.threads {
            if let Some(first) = thread.calls.first().filter(|call| call.number > 0) {
                all.add(i64::MIN, first.begin);
            }
            for two in thread.calls.windows(2) {
                if two[1].number != two[0].number.wrapping_add(1) {
                    all.add(two[0].end.min(two[1].begin), two[0].end.max(two[1].begin));
                }
            }
            if process.lost > 0 {
                all.add(thread.calls.last().map_or(i64::MIN, |call| call.end), i64::MAX);
            }
        }
        let mut gaps = Self {
            messages: [all; 2],
            collective: all,
            single: [HashMap::new(), HashMap::new()],
            is_finished: is_finished(process),
            is_ring: process.overwritten > 0,
        };
        for hidden in process.left_out.iter().map(|function| Hidden::by(*function)) {
            let Self { messages: [sends, receives], collective, .. } = &mut gaps;
            let spans = [
                (hidden.sends, sends),
                (hidden.receives, receives),
                (hidden.collective, collective),
            ];
            for (_, span) in spans.into_iter().filter(|(is_hidden, _)| *is_hidden) {
                *span = Span::ALL;
            }
        }
        for call in process.threads.iter().flat_map(|thread| &thread.calls) {
            if call.has_failed && call.function.class() == FunctionClass::Collective {
                gaps.collective.add(call.begin, call.begin);
            }
        }
        gaps
    }

    /// With single messages: those of calls that have failed, and receives of which nothing tells that they are complete.
    /// `complete` are the others, by the calls that have prepared and started them.
    pub(super) fn add_single(
        &mut self,
        process: &Process,
        at: usize,
        restarts: &Restarts,
        complete: &HashSet<(Place, Place)>,
    ) {
        for (number, thread) in process.threads.iter().enumerate() {
            for (index, call) in thread.calls.iter().enumerate() {
                let shape = Shape::looked_up(call.function);
                let place = Place::new(at, number, index);
                if takes(call.function) {
                    if let Some((peer, tag)) = thread.found.get(&index)
                        && !complete.contains(&(place, place))
                    {
                        let peer = process.rank.and_then(|rank| rank_of(rank, *peer));
                        self.add(1, process, call, peer, Some(*tag), call.begin);
                    }
                    continue;
                }
                if shape.class != FunctionClass::PointToPoint {
                    let hidden = Hidden::by(call.function);
                    for (side, is_hidden) in [hidden.sends, hidden.receives].into_iter().enumerate()
                    {
                        if call.has_failed && is_hidden {
                            self.messages[side].add(call.begin, call.begin);
                        }
                    }
                    continue;
                }
                let sends = matches!(shape.pattern, Pattern::Send | Pattern::SendReceive);
                if sends && call.has_failed && !process.special.is_nobody(call.destination) {
                    self.add(0, process, call, None, call.tag, call.begin);
                }
                let receives = matches!(shape.pattern, Pattern::Receive | Pattern::SendReceive);
                if !receives
                    || receives_taken(call.function)
                    || process.special.is_nobody(call.source)
                {
                    continue;
                }
                let tag = process.special.named_tag(call.received_tag.or(call.tag));
                let mut add = |begin| self.add(1, process, call, None, tag, begin);
                match shape.timing {
                    Timing::Persistent => {
                        for (begin, start) in restarts.of_prepared(place) {
                            if !complete.contains(&(place, *start)) {
                                add(*begin);
                            }
                        }
                    }
                    Timing::Started if !complete.contains(&(place, place)) => add(call.begin),
                    _ if call.has_failed => add(call.begin),
                    _ => {}
                }
            }
        }
    }

    fn add(
        &mut self,
        side: usize,
        process: &Process,
        call: &Call,
        peer: Option<u32>,
        tag: Option<i64>,
        begin: i64,
    ) {
        // Messages on other communicators have no numbers at all.
        if let Some(communicator) = process.identity(call.communicator) {
            let single = Single { communicator, peer, tag };
            self.single[side].entry(single).or_insert(Span::NONE).add(begin, begin);
        }
    }

    /// What is missing of messages that it sends (0) or receives (1), on a communicator, with a peer and a tag.
    pub(super) fn of_messages(&self, side: usize, communicator: u64, peer: u32, tag: i64) -> Span {
        let mut span = self.messages[side];
        for peer in [None, Some(peer)] {
            for tag in [None, Some(tag)] {
                if let Some(one) = self.single[side].get(&Single { communicator, peer, tag }) {
                    span.add(one.first, one.last);
                }
            }
        }
        span
    }
}

/// Has a process called `MPI_Finalize`?
fn is_finished(process: &Process) -> bool {
    let calls = process.threads.iter().flat_map(|thread| &thread.calls);
    calls.rev().any(|call| call.function == FunctionId::MPI_Finalize && !call.has_failed)
}

/// The rank in the world of a process that a process with a rank communicates with.
pub(super) fn rank_of(own: u32, partner: Partner) -> Option<u32> {
    match partner {
        Partner::At(distance) => i64::from(own).checked_add(distance)?.try_into().ok(),
        Partner::Nobody | Partner::Outside | Partner::Unknown => None,
    }
}
