//! What each call waits for, on whatever machine: so much as the trace tells.
//!
//! * A receive, a call that completes one, and a probe that blocks: until the send has begun.
//! * A loop of polls (`polls.rs`): until the message is sent that it ends with.
//! * A synchronous send, or the call that waits for one: until the receive has begun. Other sends wait for nobody: whether
//!   MPI lets them wait is the machine's.
//! * A collective operation, or the call that completes one that does not block: until all have begun it; until the root
//!   has (of a broadcast or scatter), or at the root only until all have (of a gather or reduction); of a scan, until the ranks
//!   before the own one have.
//!
//! A completed request is known by its data, and of a collective operation without any that arrive (`MPI_Ibarrier`, for example)
//! in a call of `MPI_Wait` that can have waited for no other one.

use std::collections::{HashMap, HashSet};

use mpi_facts::trace::is_synchronous;
use mpi_facts::{FunctionClass, FunctionId, NONE, Pattern, Shape, Timing};

use super::super::causes::may_wait;
use super::super::messages::{self, Messages, Place};
use super::super::polls::Loop;
use super::super::read::{Call, Process, Trace};
use super::super::waits::Operation;
use super::{Rank, Ranks};

/// How long a call takes on the ideal machine besides waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Length {
    Nothing,
    /// As long as it has taken: it reads or writes files, for which that machine is not better.
    Files,
    /// As long as it has taken: nobody knows what it waits for.
    Kept,
    /// The same of an access to files of several ranks.
    KeptFiles,
}

/// Of all calls of all ranks, by their numbers. What is waited for is a call's beginning, or a *meeting* that several calls must
/// have begun; meetings have the numbers behind those of calls.
#[derive(Debug, Clone)]
pub(super) struct Needs {
    /// A call, and what it waits for.
    pub(super) waits: Vec<(u32, u32)>,
    /// A call or a meeting, and the meeting that needs it.
    pub(super) feeds: Vec<(u32, u32)>,
    pub(super) meetings: u32,
    /// By call.
    pub(super) lengths: Vec<Length>,
}

/// What a rank's part of a collective operation waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    Nobody,
    One(u32),
    Unknown,
}

struct Finder<'a> {
    trace: &'a Trace,
    ranks: &'a Ranks,
    needs: Needs,
    /// By call: the trace tells what it waits for, and it does not of a part of that.
    told: Vec<bool>,
    untold: Vec<bool>,
    /// Collective operations that do not block.
    started: HashMap<Place, After>,
}

impl Needs {
    pub(super) fn of(
        trace: &Trace,
        messages: &Messages,
        operations: &[Operation],
        ranks: &Ranks,
    ) -> Self {
        let calls = ranks.calls as usize;
        let lengths = vec![Length::Nothing; calls];
        let needs = Self { waits: Vec::new(), feeds: Vec::new(), meetings: 0, lengths };
        let (told, untold, started) = (vec![false; calls], vec![false; calls], HashMap::new());
        let mut finder = Finder { trace, ranks, needs, told, untold, started };
        finder.messages(messages);
        let in_requests = InRequests::of(trace);
        for operation in operations {
            finder.operation(operation, &in_requests);
        }
        for rank in &ranks.all {
            finder.completions(rank, &in_requests);
            finder.lengths(rank);
        }
        let mut needs = finder.needs;
        needs.waits.sort_unstable();
        needs.waits.dedup();
        needs.feeds.sort_unstable();
        needs
    }
}

impl Needs {
    /// The same if files took no time; `None` if there are none.
    pub(super) fn without_files(&self) -> Option<Self> {
        let is_file = |length: &Length| matches!(length, Length::Files | Length::KeptFiles);
        self.lengths.iter().any(is_file).then(|| {
            let mut needs = self.clone();
            for length in needs.lengths.iter_mut().filter(|length| is_file(length)) {
                *length = Length::Nothing;
            }
            needs
        })
    }
}

impl Finder<'_> {
    fn unknown(&mut self, call: Place) {
        if let Some(number) = self.ranks.number(call) {
            self.untold[number as usize] = true;
        }
    }

    fn waits(&mut self, call: Place, after: After) {
        let Some(number) = self.ranks.number(call) else { return };
        match after {
            After::Unknown => return self.untold[number as usize] = true,
            After::Nobody => {}
            // What is inside of a call does not wait for itself.
            After::One(other) if other == number => {}
            After::One(other) => self.needs.waits.push((number, other)),
        }
        self.told[number as usize] = true;
    }

    fn begun(&self, call: Place) -> After {
        self.ranks.number(call).map_or(After::Unknown, After::One)
    }

    fn messages(&mut self, messages: &Messages) {
        for message in &messages.matched {
            let sent = self.begun(message.sent);
            self.waits(message.received, sent);
            if let Some(probe) = message.waiting_probe(self.trace) {
                self.waits(probe, sent);
            }
            let shape = Shape::looked_up(message.sent.of(self.trace).function);
            let is_blocking =
                shape.class == FunctionClass::PointToPoint && shape.timing == Timing::Blocking;
            let completed = message.completed.map(|completion| completion.call);
            let waiting = if is_blocking { Some(message.sent) } else { completed };
            if let Some(waiting) = waiting.filter(|_| message.is_synchronous) {
                self.waits(waiting, self.begun(message.asked));
            }
        }
        for rank in &self.ranks.all {
            let loops = &self.trace.processes[rank.process].threads[rank.thread].loops;
            for Loop { last, sent, .. } in loops {
                let sent = self.begun(*sent);
                self.waits(Place::new(rank.process, rank.thread, *last), sent);
            }
        }
        messages.lone.iter().for_each(|call| self.unknown(*call));
    }

    /// A moment when all of these have begun, or have come.
    fn meeting(&mut self, of: impl IntoIterator<Item = u32>) -> u32 {
        let number = self.ranks.calls + self.needs.meetings;
        self.needs.meetings += 1;
        self.needs.feeds.extend(of.into_iter().map(|one| (one, number)));
        number
    }

    fn operation(&mut self, operation: &Operation, in_requests: &InRequests) {
        let shape = Shape::looked_up(operation.function);
        if shape.timing == Timing::Persistent {
            return;
        }
        for (call, after) in operation.calls.iter().zip(self.after(operation, in_requests)) {
            if shape.timing == Timing::Blocking {
                self.waits(*call, after);
            } else {
                self.started.insert(*call, after);
            }
        }
    }

    /// What each rank's part waits for.
    fn after(&mut self, operation: &Operation, in_requests: &InRequests) -> Vec<After> {
        let Operation { function, calls } = operation;
        let unknown = vec![After::Unknown; calls.len()];
        let communicator = |call: &Place| {
            let number = call.of(self.trace).communicator?;
            self.trace.processes[call.process()].communicators.get(&number)
        };
        let numbers = calls.iter().map(|call| self.ranks.number(*call)).collect::<Option<_>>();
        let (Some(known), Some(numbers)) = (calls.first().and_then(communicator), numbers) else {
            return unknown;
        };
        let numbers: Vec<u32> = numbers;
        // Of two groups, each waits for the other one, in ways of its own.
        if known.sizes[1] > 0 {
            return unknown;
        }
        if operation.is_scan() {
            // Of other communicators, the trace does not tell the order of ranks.
            if known.name != "MPI_COMM_WORLD" {
                return unknown;
            }
            let rank = |at: &usize| self.trace.processes[calls[*at].process()].rank;
            let mut order: Vec<usize> = (0..calls.len()).collect();
            order.sort_by_key(rank);
            let mut after = vec![After::Nobody; calls.len()];
            let mut last = None;
            for at in order {
                after[at] = last.map_or(After::Nobody, After::One);
                last = Some(self.meeting([numbers[at]].into_iter().chain(last)));
            }
            return after;
        }
        let root = || {
            let root = operation.root(self.trace).or_else(|| in_requests.root(self.trace, calls));
            calls.iter().position(|call| Some(*call) == root)
        };
        match Shape::looked_up(*function).pattern {
            Pattern::Broadcast | Pattern::Scatter => root().map_or(unknown, |root| {
                let mut after = vec![After::One(numbers[root]); calls.len()];
                after[root] = After::Nobody;
                after
            }),
            Pattern::Gather | Pattern::Reduce => match root() {
                None => unknown,
                Some(root) => {
                    let mut after = vec![After::Nobody; calls.len()];
                    after[root] = After::One(self.meeting(numbers));
                    after
                }
            },
            _ => vec![After::One(self.meeting(numbers)); calls.len()],
        }
    }

    /// What calls wait for that complete other operations than messages.
    fn completions(&mut self, rank: &Rank, in_requests: &InRequests) {
        let process = &self.trace.processes[rank.process];
        let Some(of) = in_requests.processes.get(&rank.process) else { return };
        let after = |started: &HashMap<Place, After>, place: &Place| {
            started.get(place).copied().unwrap_or(After::Unknown)
        };
        // Those of which nothing arrives, and that are waited for.
        let mut silent = of.silent.iter().copied().peekable();
        let mut open: Vec<Place> = Vec::new();
        // Another thread may have waited for them.
        let mut is_clear = process.threads.iter().all(|thread| {
            core::ptr::eq(thread, &process.threads[rank.thread]) || thread.calls.is_empty()
        });
        for (at, call) in process.threads[rank.thread].calls.iter().enumerate() {
            let place = Place::new(rank.process, rank.thread, at);
            while let Some((_, start)) = silent.next_if(|(begin, _)| *begin < call.end) {
                if after(&self.started, &start) != After::Nobody {
                    open.push(start);
                }
            }
            let mut tells = false;
            for moved in
                process.threads[rank.thread].data(call).iter().filter(|one| one.of.is_some())
            {
                tells = true;
                let start = messages::started(process, place, moved);
                let class = start.map(|start| start.of(self.trace).function.class());
                if let Some(start) = start
                    && class != Some(FunctionClass::PointToPoint)
                {
                    self.waits(place, after(&self.started, &start));
                }
            }
            if open.is_empty() || call.function.class() != FunctionClass::Completion {
                continue;
            }
            if call.function == FunctionId::MPI_Wait {
                if tells || of.ended.contains(&(rank.thread, at)) {
                    continue;
                }
                // It may have waited for a message of which the trace does not tell.
                let is_alone = open.len() == 1 && of.other.is_none_or(|begin| begin >= call.begin);
                if is_alone && is_clear {
                    self.waits(place, after(&self.started, &open[0]));
                    // What is persistent may be started and waited for again.
                    let function = open[0].of(self.trace).function;
                    open.retain(|_| Shape::looked_up(function).timing == Timing::Persistent);
                    continue;
                }
            }
            is_clear = false;
            if may_wait(call.function) {
                self.unknown(place);
            }
        }
    }

    fn lengths(&mut self, rank: &Rank) {
        let process = &self.trace.processes[rank.process];
        for (number, outer) in (rank.first as usize..).zip(&rank.calls) {
            let call = &process.threads[rank.thread].calls[outer.at];
            let may_wait = may_wait(call.function);
            let is_unknown = self.untold[number]
                || may_wait && !self.told[number] && !waits_for_nobody(process, call);
            let is_file = call.function.class() == FunctionClass::Io;
            self.needs.lengths[number] = match (is_unknown, is_file) {
                (true, true) => Length::KeptFiles,
                (true, false) => Length::Kept,
                (false, true) => Length::Files,
                (false, false) => Length::Nothing,
            };
        }
    }
}

/// Does a call wait for nobody of whom the trace would not tell?
fn waits_for_nobody(process: &Process, call: &Call) -> bool {
    match call.function.class() {
        // It waits for messages, of which the trace tells if there is anybody to wait for.
        FunctionClass::Completion => true,
        FunctionClass::PointToPoint => match Shape::looked_up(call.function).pattern {
            Pattern::Send => {
                !is_synchronous(call.function) || process.special.is_nobody(call.destination)
            }
            _ => process.special.is_nobody(call.source),
        },
        _ => false,
    }
}

/// Operations other than messages that do not block, by process, of processes that have any.
struct InRequests {
    processes: HashMap<usize, OfProcess>,
}

#[derive(Default)]
struct OfProcess {
    /// Operations of which something arrives in the call that completes them.
    arrive: HashSet<Place>,
    /// Others, and when they have begun.
    silent: Vec<(i64, Place)>,
    /// When the first message has begun of which the trace does not tell the call that completes it.
    other: Option<i64>,
    /// Calls that complete a send, by thread and place.
    ended: HashSet<(usize, usize)>,
}

fn makes_request(call: &Call) -> bool {
    Shape::looked_up(call.function).new_request != NONE && !call.has_failed
}

fn is_message(call: &Call) -> bool {
    call.function.class() == FunctionClass::PointToPoint
}

/// All calls of a process, by thread and place.
fn calls(process: &Process) -> impl Iterator<Item = (usize, usize, &Call)> {
    process.threads.iter().enumerate().flat_map(|(number, thread)| {
        thread.calls.iter().enumerate().map(move |(at, call)| (number, at, call))
    })
}

impl OfProcess {
    /// `None` of a process that has no such operations.
    fn of(number: usize, process: &Process) -> Option<Self> {
        if !calls(process).any(|(.., call)| makes_request(call) && !is_message(call)) {
            return None;
        }
        let mut of = Self::default();
        // Calls of which the trace tells what completes them.
        let mut told = HashSet::new();
        for (thread, at, call) in calls(process) {
            let place = Place::new(number, thread, at);
            let data = process.threads[thread].data(call).iter().filter(|moved| moved.of.is_some());
            told.extend(data.filter_map(|moved| messages::started(process, place, moved)));
        }
        for (at, thread) in process.threads.iter().enumerate() {
            for (index, (started, call), _) in &thread.ended {
                of.ended.insert((at, *index));
                let started = usize::try_from(*started).ok();
                let call = started.and_then(|it| process.threads.get(it)?.place(*call));
                told.extend(started.zip(call).map(|(it, call)| Place::new(number, it, call)));
            }
        }
        for (thread, at, call) in calls(process).filter(|(.., call)| makes_request(call)) {
            let place = Place::new(number, thread, at);
            match (told.contains(&place), is_message(call)) {
                (true, true) => {}
                (true, false) => _ = of.arrive.insert(place),
                (false, false) => of.silent.push((call.begin, place)),
                (false, true) => {
                    let first = of.other.unwrap_or(call.begin);
                    of.other = Some(first.min(call.begin));
                }
            }
        }
        of.silent.sort_unstable();
        Some(of)
    }
}

impl InRequests {
    fn of(trace: &Trace) -> Self {
        let of = |(at, process)| Some((at, OfProcess::of(at, process)?));
        Self { processes: trace.processes.iter().enumerate().filter_map(of).collect() }
    }

    /// The one of an operation's calls at which something arrives: the root of a gather or reduction.
    fn root(&self, trace: &Trace, calls: &[Place]) -> Option<Place> {
        let pattern = Shape::looked_up(calls.first()?.of(trace).function).pattern;
        if !matches!(pattern, Pattern::Gather | Pattern::Reduce) {
            return None;
        }
        let arrives = |call: &&Place| {
            self.processes.get(&call.process()).is_some_and(|of| of.arrive.contains(call))
        };
        let mut roots = calls.iter().filter(arrives);
        let root = roots.next()?;
        roots.next().is_none().then_some(*root)
    }
}
