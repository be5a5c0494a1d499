//! What each thread did when: computing, calls, and waits for others.

use std::collections::HashMap;
use std::rc::Rc;

use mpi_facts::{
    FunctionClass, FunctionId, NONE, Pattern, Shape, Timing, is_collective, is_collective_on_object,
};

use super::super::messages::{Messages, Place};
use super::super::path::outer;
use super::super::read::{Process, Site, Trace};
use super::super::waits::{Operation, Wait};

/// A call by its function and its call site, as a number: equal on all ranks.
pub(in crate::trace) type SpotNumber = u32;

/// A function, and where it is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::trace) struct Spot {
    pub(in crate::trace) function: FunctionId,
    pub(in crate::trace) site: Option<Rc<Site>>,
}

/// What a rank does in a part of its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::trace) enum Activity {
    /// It computes, between two calls. `before` is `None` before the thread's first call, and `after` behind its last one.
    Computing { before: Option<SpotNumber>, after: Option<SpotNumber> },
    /// It is in a call, and does not wait for anybody.
    Transfer(SpotNumber),
    /// It reads or writes files.
    Files(SpotNumber),
    /// `MPI_Init` has not returned.
    StartUp,
    /// It is in a call of which the trace does not tell whether it waits.
    Unjudged(SpotNumber),
    /// Calls are missing.
    Missing(Reason),
}

/// An activity as other programs read it.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::trace) struct Described {
    pub(in crate::trace) kind: &'static str,
    /// Computing: the calls that it is between.
    pub(in crate::trace) before: Option<SpotNumber>,
    pub(in crate::trace) after: Option<SpotNumber>,
    /// The call that the rank is in.
    pub(in crate::trace) call: Option<SpotNumber>,
    /// Why the cause is not known.
    pub(in crate::trace) why: Option<&'static str>,
}

impl Activity {
    pub(in crate::trace) fn described(self) -> Described {
        let none = Described::default();
        match self {
            Self::Computing { before, after } => {
                Described { kind: "computing", before, after, ..none }
            }
            Self::Transfer(call) => Described { kind: "transfer", call: Some(call), ..none },
            Self::Files(call) => Described { kind: "files", call: Some(call), ..none },
            Self::StartUp => Described { kind: "start-up", ..none },
            Self::Unjudged(call) => {
                let why = Some("the trace does not say for whom the call waits");
                Described { kind: "unknown", call: Some(call), why, ..none }
            }
            Self::Missing(reason) => {
                Described { kind: "unknown", why: Some(reason.text()), ..none }
            }
        }
    }
}

/// Why nobody knows what a rank does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::trace) enum Reason {
    /// A ring has lost its first calls.
    Overwritten,
    /// There was no room for calls.
    NoRoom,
    /// Tracing was switched off.
    Off,
    /// Ranks seem to wait for each other in a circle, as clocks differ.
    Clocks,
}

/// A call that no other call is around.
#[derive(Debug, Clone, Copy)]
struct Outer {
    begin: i64,
    end: i64,
    spot: SpotNumber,
    kind: CallKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CallKind {
    Init,
    Files,
    Transfer,
    Unjudged,
}

/// A wait as a part of a thread's time.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    begin: i64,
    end: i64,
    /// The thread that is waited for.
    until: u32,
}

/// A part of a thread's time in which calls are missing.
#[derive(Debug, Clone, Copy)]
struct Hole {
    begin: i64,
    end: i64,
    reason: Reason,
}

/// A thread.
#[derive(Debug)]
struct Line {
    process: u32,
    /// When the process's `MPI_Init` has returned, if the trace has it.
    started: i64,
    calls: Vec<Outer>,
    waits: Vec<Waiting>,
    holes: Vec<Hole>,
}

/// One step back in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Back {
    /// The thread has waited until this moment, for this thread, since so long.
    Waited { until: u32, since: i64 },
    /// It has done this since then.
    Did { begin: i64, activity: Activity },
}

/// All threads of a trace.
#[derive(Debug)]
pub(super) struct Lines {
    lines: Vec<Line>,
    /// By process: the number of its first thread.
    first: Vec<u32>,
    pub(super) spots: Vec<Spot>,
}

/// Numbers of spots.
#[derive(Default)]
struct Spots {
    all: Vec<Spot>,
    /// By function and text of the call site.
    known: HashMap<(FunctionId, Option<Rc<str>>), SpotNumber>,
}

impl Spots {
    fn number(&mut self, function: FunctionId, site: Option<&Rc<Site>>) -> SpotNumber {
        let key = (function, site.map(|site| Rc::from(site.path.as_str())));
        *self.known.entry(key).or_insert_with(|| {
            self.all.push(Spot { function, site: site.cloned() });
            self.all.len() as SpotNumber - 1
        })
    }
}

impl Lines {
    pub(super) fn of(
        trace: &Trace,
        messages: &Messages,
        operations: &[Operation],
        waits: &[Wait],
    ) -> Self {
        let mut first = Vec::new();
        let mut threads = 0;
        for process in &trace.processes {
            first.push(threads);
            threads += process.threads.len() as u32;
        }
        let mut spots = Spots::default();
        let mut lines = Self { lines: Vec::new(), first, spots: Vec::new() };
        let mut judged: Vec<Vec<bool>> = trace
            .processes
            .iter()
            .flat_map(|process| &process.threads)
            .map(|thread| vec![false; thread.calls.len()])
            .collect();
        let mut judge = |place: Place| {
            judged[lines.number(place.process(), place.thread())][place.call()] = true;
        };
        for message in &messages.matched {
            [message.sent, message.received, message.asked].into_iter().for_each(&mut judge);
            message.completed.iter().for_each(|completion| judge(completion.call));
            message.probed.into_iter().for_each(&mut judge);
        }
        operations
            .iter()
            .filter(|operation| operation.tells_waits())
            .flat_map(|operation| &operation.calls)
            .for_each(|place| judge(*place));
        waits.iter().for_each(|wait| judge(wait.call));
        let mut judged = judged.into_iter();
        for (at, process) in trace.processes.iter().enumerate() {
            let started = started(process);
            // Of functions by their call sites: the number, and whether it may wait.
            let mut numbers: HashMap<(FunctionId, u32), (SpotNumber, bool)> = HashMap::new();
            for thread in &process.threads {
                let judged = judged.next().unwrap_or_default();
                let calls = outer(thread).into_iter().map(|one| {
                    let call = &thread.calls[one.at];
                    let key = (call.function, call.site);
                    let number = || {
                        let number = spots.number(call.function, process.site(call));
                        (number, may_wait(call.function))
                    };
                    let (spot, may_wait) = *numbers.entry(key).or_insert_with(number);
                    let kind = CallKind::of(call.function, may_wait && !judged[one.at]);
                    Outer { begin: one.begin, end: one.end, spot, kind }
                });
                let calls = calls.collect();
                let holes = holes(process, thread);
                let waits = Vec::new();
                lines.lines.push(Line { process: at as u32, started, calls, waits, holes });
            }
        }
        for wait in waits {
            let until = lines.number(wait.until.process(), wait.until.thread()) as u32;
            let waiting = Waiting { begin: wait.begin, end: wait.begin + wait.time, until };
            let line = lines.number(wait.call.process(), wait.call.thread());
            lines.lines[line].waits.push(waiting);
        }
        for line in &mut lines.lines {
            line.waits.sort_by_key(|wait| (wait.begin, wait.end));
            // A call inside of another one may wait, too.
            let mut end = i64::MIN;
            for wait in &mut line.waits {
                wait.begin = wait.begin.max(end);
                end = end.max(wait.end);
            }
            line.waits.retain(|wait| wait.begin < wait.end);
        }
        lines.spots = spots.all;
        lines
    }

    /// The number of a process's thread.
    pub(super) fn number(&self, process: usize, thread: usize) -> usize {
        self.first[process] as usize + thread
    }

    pub(super) const fn count(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn process(&self, line: u32) -> u32 {
        self.lines[line as usize].process
    }

    /// What a thread did right before a time that is not 0, and since when.
    pub(super) fn back(&self, line: u32, time: i64) -> Back {
        let line = &self.lines[line as usize];
        let before = line.waits.partition_point(|wait| wait.begin < time);
        let wait = before.checked_sub(1).map(|last| line.waits[last]);
        if let Some(wait) = wait
            && time <= wait.end
        {
            return Back::Waited { until: wait.until, since: wait.begin };
        }
        let least = wait.map_or(0, |wait| wait.end.max(0));
        let (begin, activity) = line.activity(time);
        Back::Did { begin: begin.max(least), activity }
    }
}

impl Line {
    /// What the thread did before a time if it did not wait, and since when.
    fn activity(&self, time: i64) -> (i64, Activity) {
        let next = self.calls.partition_point(|call| call.begin < time);
        let before = next.checked_sub(1).map(|last| self.calls[last]);
        if let Some(call) = before
            && time <= call.end
        {
            let activity = match call.kind {
                CallKind::Init => Activity::StartUp,
                CallKind::Files => Activity::Files(call.spot),
                CallKind::Transfer => Activity::Transfer(call.spot),
                CallKind::Unjudged => Activity::Unjudged(call.spot),
            };
            return (call.begin, activity);
        }
        let begin = before.map_or(0, |call| call.end);
        let end = self.calls.get(next).map_or(i64::MAX, |call| call.begin);
        let hole = self.holes.partition_point(|hole| hole.end <= begin);
        if let Some(hole) = self.holes.get(hole)
            && hole.begin < end
        {
            return (begin, Activity::Missing(hole.reason));
        }
        if time <= self.started {
            return (begin, Activity::StartUp);
        }
        let after = self.calls.get(next).map(|call| call.spot);
        (begin, Activity::Computing { before: before.map(|call| call.spot), after })
    }
}

impl CallKind {
    /// `unjudged`: it may have waited, and the trace does not tell.
    fn of(function: FunctionId, unjudged: bool) -> Self {
        match function.class() {
            _ if is_init(function) => Self::Init,
            FunctionClass::Io => Self::Files,
            _ if unjudged => Self::Unjudged,
            _ => Self::Transfer,
        }
    }
}

pub(in crate::trace) const fn is_init(function: FunctionId) -> bool {
    matches!(function, FunctionId::MPI_Init | FunctionId::MPI_Init_thread)
}

/// May a call wait for other processes?
pub(in crate::trace) fn may_wait(function: FunctionId) -> bool {
    let shape = Shape::looked_up(function);
    let is_blocking = matches!(shape.timing, Timing::Blocking | Timing::Epoch);
    let is_collective = is_collective(function, shape.class, shape.new_communicator != NONE)
        || is_collective_on_object(function);
    match shape.class {
        _ if is_blocking && is_collective && shape.new_request == NONE => true,
        FunctionClass::PointToPoint => {
            let is_probe = matches!(function, FunctionId::MPI_Probe | FunctionId::MPI_Mprobe);
            is_probe || is_blocking && shape.pattern != Pattern::Nothing
        }
        FunctionClass::Completion => function.name().starts_with("MPI_Wait"),
        FunctionClass::Process => shape.new_communicator != NONE,
        FunctionClass::OneSided => {
            const WAITING: [&str; 7] =
                ["lock", "unlock", "flush", "start", "complete", "wait", "sync"];
            let name = function.name().strip_prefix("MPI_Win_").unwrap_or_default();
            WAITING.iter().any(|begin| name.starts_with(begin))
        }
        _ => false,
    }
}

/// When a process's `MPI_Init` has returned; 0 if the trace does not have it.
fn started(process: &Process) -> i64 {
    let mut calls = process.threads.iter().flat_map(|thread| &thread.calls);
    calls.find(|call| is_init(call.function)).map_or(0, |call| call.end)
}

/// Where calls of a thread are missing, by time.
fn holes(process: &Process, thread: &super::super::read::Thread) -> Vec<Hole> {
    let reason = if process.overwritten > 0 { Reason::Overwritten } else { Reason::NoRoom };
    let mut holes = Vec::new();
    if let Some(first) = thread.calls.first().filter(|call| call.number > 0) {
        holes.push(Hole { begin: i64::MIN, end: first.begin.max(1), reason });
    }
    for two in thread.calls.windows(2) {
        if two[1].number != two[0].number.wrapping_add(1) {
            let (begin, end) = (two[0].end.min(two[1].begin), two[0].end.max(two[1].begin));
            holes.push(Hole { begin, end: end.max(begin + 1), reason });
        }
    }
    if let Some((begin, end)) = process.off {
        holes.push(Hole { begin, end: end.unwrap_or(i64::MAX), reason: Reason::Off });
    }
    if process.lost > 0 {
        let begin = thread.calls.last().map_or(i64::MIN, |call| call.end);
        holes.push(Hole { begin, end: i64::MAX, reason: Reason::NoRoom });
    }
    // By their ends, which a search needs to come in order: those inside of others go.
    holes.sort_by_key(|hole| (hole.begin, core::cmp::Reverse(hole.end)));
    let mut end = i64::MIN;
    holes.retain(|hole| {
        let is_new = hole.end > end;
        end = end.max(hole.end);
        is_new
    });
    holes
}
