//! A trace as OTF2 has it, which Vampir, ViTE, pipit and Score-P's tools read. OTF2's own library writes it.
//!
//! * `library.rs`: the library's functions.
//!
//! A process is a group of locations, one for each of its threads, below its host. Functions are regions. A message is a
//! record at its send and another one at the end of the call in which it arrived; of messages, only those are written
//! of which both sides are in the trace, so that there are as many sends as receives. The trace does not tell which call has
//! completed a send, so there is no record of that. A communicator has its processes in the order of their ranks in the
//! world, since the trace does not tell another one.

mod library;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use mpi_facts::{FunctionClass, FunctionId, Pattern, Shape, Timing};

use super::csv;
use super::messages::{Messages, Place};
use super::read::{Call, Thread, Trace};
use super::waits;
use library::{Archive, Collective, Definitions, Envelope, Events, GroupType, NONE};

/// `OTF2_REGION_ROLE_*`
mod role {
    pub(super) const FUNCTION: u8 = 1;
    pub(super) const BARRIER: u8 = 15;
    pub(super) const ONE_TO_ALL: u8 = 23;
    pub(super) const ALL_TO_ONE: u8 = 24;
    pub(super) const ALL_TO_ALL: u8 = 25;
    pub(super) const COLLECTIVE: u8 = 26;
    pub(super) const FILE: u8 = 27;
    pub(super) const POINT_TO_POINT: u8 = 28;
    pub(super) const ONE_SIDED: u8 = 29;
}

fn role_of(function: FunctionId) -> u8 {
    match (function.class(), Shape::looked_up(function).pattern) {
        (FunctionClass::PointToPoint | FunctionClass::Partitioned, _) => role::POINT_TO_POINT,
        (FunctionClass::OneSided, _) => role::ONE_SIDED,
        (FunctionClass::Io, _) => role::FILE,
        (FunctionClass::Collective, Pattern::Nothing) => role::BARRIER,
        (FunctionClass::Collective, Pattern::Broadcast | Pattern::Scatter) => role::ONE_TO_ALL,
        (FunctionClass::Collective, Pattern::Gather | Pattern::Reduce) => role::ALL_TO_ONE,
        (FunctionClass::Collective, Pattern::Exscan) => role::COLLECTIVE,
        (FunctionClass::Collective, _) => role::ALL_TO_ALL,
        _ => role::FUNCTION,
    }
}

/// `OTF2_COLLECTIVE_OP_*` of a blocking collective operation.
fn operation_of(function: FunctionId) -> Option<u8> {
    let name = function.name();
    let name = name.strip_suffix("_c").unwrap_or(name);
    let known = [
        ("MPI_Barrier", 0),
        ("MPI_Bcast", 1),
        ("MPI_Gather", 2),
        ("MPI_Gatherv", 3),
        ("MPI_Scatter", 4),
        ("MPI_Scatterv", 5),
        ("MPI_Allgather", 6),
        ("MPI_Allgatherv", 7),
        ("MPI_Alltoall", 8),
        ("MPI_Alltoallv", 9),
        ("MPI_Alltoallw", 10),
        ("MPI_Allreduce", 11),
        ("MPI_Reduce", 12),
        ("MPI_Reduce_scatter", 13),
        ("MPI_Scan", 14),
        ("MPI_Exscan", 15),
        ("MPI_Reduce_scatter_block", 16),
    ];
    known.iter().find(|(known, _)| *known == name).map(|(_, operation)| *operation)
}

/// A location: a thread of a process.
fn location(process: usize, thread: usize) -> u64 {
    (thread as u64) << 32 | process as u64
}

/// The processes of a communicator, and OTF2's number of it.
struct Comm {
    name: String,
    /// By their places in the trace, in order.
    members: Vec<usize>,
}

/// All communicators, by world and identity. Identity 0 is the world itself, also where nothing else is known.
struct Comms {
    all: Vec<Comm>,
    numbers: BTreeMap<(usize, u64), u32>,
}

impl Comms {
    fn of(trace: &Trace) -> Self {
        let mut found: BTreeMap<(usize, u64), (String, BTreeSet<usize>)> = BTreeMap::new();
        for (at, process) in trace.processes.iter().enumerate() {
            let name = match process.world {
                0 => "MPI_COMM_WORLD".to_owned(),
                world => format!("MPI_COMM_WORLD of world {world}"),
            };
            let world = found.entry((process.world, 0)).or_insert((name, BTreeSet::new()));
            world.1.insert(at);
            for communicator in process.communicators.values() {
                let key = (process.world, communicator.identity);
                let entry = found.entry(key).or_default();
                if !communicator.name.is_empty() {
                    entry.0.clone_from(&communicator.name);
                }
                entry.1.insert(at);
            }
        }
        let (mut all, mut numbers) = (Vec::new(), BTreeMap::new());
        for (number, (key, (name, members))) in (0..).zip(found) {
            numbers.insert(key, number);
            all.push(Comm { name, members: members.into_iter().collect() });
        }
        Self { all, numbers }
    }

    /// OTF2's number of a process's communicator, and a process's rank in it: in the world if it is not there.
    fn rank(&self, trace: &Trace, own: usize, communicator: Option<u64>, peer: usize) -> [u32; 2] {
        let process = &trace.processes[own];
        let identity = communicator
            .and_then(|number| process.communicators.get(&number))
            .map_or(0, |communicator| communicator.identity);
        for identity in [identity, 0] {
            if let Some(number) = self.numbers.get(&(process.world, identity))
                && let Ok(rank) = self.all[*number as usize].members.binary_search(&peer)
            {
                return [*number, u32::try_from(rank).unwrap_or(NONE)];
            }
        }
        [0, NONE]
    }
}

/// What messages and operations have to do with a call.
#[derive(Default)]
struct Parts {
    /// By the messages' numbers.
    sent: Vec<usize>,
    asked: Vec<usize>,
    received: Vec<usize>,
    /// The root of the collective operation, by its place in the trace.
    root: Option<usize>,
}

/// Writes the folder.
pub(super) fn write(folder: &Path, trace: &Trace, messages: &Messages) -> Result<()> {
    let is_used = fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some());
    if is_used || folder.is_file() {
        bail!("{}: something is there already; name a new folder with -o", folder.display());
    }
    let archive = Archive::open(folder)?;
    let mut parts: HashMap<Place, Parts> = HashMap::new();
    for (number, message) in messages.matched.iter().enumerate() {
        parts.entry(message.sent).or_default().sent.push(number);
        parts.entry(message.received).or_default().received.push(number);
        if message.asked != message.received {
            parts.entry(message.asked).or_default().asked.push(number);
        }
    }
    for operation in waits::operations(trace) {
        if let Some(root) = operation.root(trace) {
            for call in &operation.calls {
                parts.entry(*call).or_default().root = Some(root.process());
            }
        }
    }
    let functions: BTreeSet<FunctionId> = trace.calls().map(|(.., call)| call.function).collect();
    let functions = functions.into_iter().zip(0..).collect();
    let writer = Writer { trace, messages, parts, functions, comms: Comms::of(trace) };
    let mut locations = Vec::new();
    for (process, one) in trace.processes.iter().enumerate() {
        for (thread, calls) in one.threads.iter().enumerate() {
            let mut count = 0;
            archive.events(location(process, thread), |events| {
                count = writer.thread(events, process, thread, calls)?;
                Ok(())
            })?;
            locations.push((process, thread, count));
        }
    }
    let ids: Vec<u64> =
        locations.iter().map(|(process, thread, _)| location(*process, *thread)).collect();
    archive
        .finish(&ids, |definitions| writer.definitions(definitions, &locations))
        .with_context(|| format!("{}: cannot write it", folder.display()))
}

struct Writer<'a> {
    trace: &'a Trace,
    messages: &'a Messages,
    parts: HashMap<Place, Parts>,
    /// OTF2's numbers of functions.
    functions: BTreeMap<FunctionId, u32>,
    comms: Comms,
}

impl Writer<'_> {
    /// Writes a thread's events. Returns how many these are.
    fn thread(
        &self,
        events: &Events<'_>,
        process: usize,
        thread: usize,
        calls: &Thread,
    ) -> Result<u64> {
        let mut order: Vec<usize> = (0..calls.calls.len()).collect();
        order.sort_by_key(|at| {
            let call = &calls.calls[*at];
            (call.begin, core::cmp::Reverse(call.number))
        });
        let mut written = Written { events, time: 0, count: 0 };
        let mut open: Vec<usize> = Vec::new();
        for at in order {
            let begin = calls.calls[at].begin;
            while let Some(last) = open.pop_if(|last| calls.calls[*last].end <= begin) {
                self.leave(&mut written, Place::new(process, thread, last))?;
            }
            self.enter(&mut written, Place::new(process, thread, at))?;
            open.push(at);
        }
        while let Some(last) = open.pop() {
            self.leave(&mut written, Place::new(process, thread, last))?;
        }
        Ok(written.count)
    }

    /// The beginning of a call, and what begins with it.
    fn enter(&self, written: &mut Written<'_, '_>, place: Place) -> Result<()> {
        let call = place.of(self.trace);
        let region = self.functions[&call.function];
        written.add(call.begin, |events, time| events.enter(time, region))?;
        if is_collective(call) {
            written.add(call.begin, Events::collective_begin)?;
        }
        let Some(parts) = self.parts.get(&place) else { return Ok(()) };
        // Not a call that starts persistent requests.
        let shape = Shape::looked_up(call.function);
        let sends = matches!(shape.pattern, Pattern::Send | Pattern::SendReceive);
        let is_blocking = sends && shape.timing == Timing::Blocking;
        for number in &parts.sent {
            let message = &self.messages.matched[*number];
            let to = self.envelope(place, message.received.process(), *number);
            let request = (!is_blocking).then_some(*number as u64);
            written.add(call.begin, |events, time| events.send(time, to, request))?;
        }
        for number in &parts.asked {
            let request = *number as u64;
            written.add(call.begin, |events, time| events.receive_request(time, request))?;
        }
        Ok(())
    }

    /// The end of a call, and what ends with it.
    fn leave(&self, written: &mut Written<'_, '_>, place: Place) -> Result<()> {
        let call = place.of(self.trace);
        let parts = self.parts.get(&place);
        for number in parts.map_or(&[][..], |parts| &parts.received) {
            let message = &self.messages.matched[*number];
            let from = self.envelope(place, message.sent.process(), *number);
            let request = (message.asked != message.received).then_some(*number as u64);
            written.add(call.end, |events, time| events.receive(time, from, request))?;
        }
        if let Some(operation) = operation_of(call.function).filter(|_| is_collective(call)) {
            let process = &self.trace.processes[place.process()];
            let [sent, received, reduced] = csv::bytes(process, place.thread(), call);
            let root = parts.and_then(|parts| parts.root);
            let peer = root.unwrap_or(place.process());
            let [comm, rank] =
                self.comms.rank(self.trace, place.process(), call.communicator, peer);
            let root = if root.is_some() { rank } else { NONE };
            let sent = sent.saturating_add(reduced);
            let what = Collective { operation, comm, root, sent, received };
            written.add(call.end, |events, time| events.collective_end(time, what))?;
        }
        let region = self.functions[&call.function];
        written.add(call.end, |events, time| events.leave(time, region))
    }

    /// A message, as one of its sides says it.
    fn envelope(&self, own: Place, peer: usize, number: usize) -> Envelope {
        let message = &self.messages.matched[number];
        // The number of its communicator is the sender's.
        let sender = message.sent.process();
        let [mut comm, mut rank] =
            self.comms.rank(self.trace, sender, message.communicator(), peer);
        let [other, _] = self.comms.rank(self.trace, sender, message.communicator(), own.process());
        if other != comm {
            // One of both has never used it by itself: both say the world then.
            [comm, rank] = self.comms.rank(self.trace, sender, None, peer);
        }
        let tag = message.tag.try_into().unwrap_or(NONE);
        Envelope { peer: rank, comm, tag, bytes: message.bytes }
    }

    fn definitions(
        &self,
        definitions: &Definitions<'_>,
        locations: &[(usize, usize, u64)],
    ) -> Result<()> {
        let processes = &self.trace.processes;
        definitions.clock(self.trace.end().max(0).cast_unsigned() + 1)?;
        let mut names = Names { definitions, numbers: HashMap::new() };
        let [empty, machine, host_class] =
            [names.number("")?, names.number("machine")?, names.number("node")?];
        definitions.node(0, machine, machine, NONE)?;
        let mut hosts: Vec<&str> = processes.iter().map(|process| &*process.host).collect();
        hosts.sort_unstable();
        hosts.dedup();
        for (number, host) in (1..).zip(&hosts) {
            definitions.node(number, names.number(host)?, host_class, 0)?;
        }
        for (number, process) in (0..).zip(processes) {
            let host = hosts.binary_search(&&*process.host).unwrap_or(0) + 1;
            let rank = process.rank.map_or_else(|| "?".to_owned(), |rank| rank.to_string());
            let name = match process.world {
                0 => format!("MPI Rank {rank}"),
                world => format!("MPI Rank {rank} of world {world}"),
            };
            definitions.process(number, names.number(&name)?, u32::try_from(host)?)?;
        }
        for (process, thread, events) in locations {
            let name = match thread {
                0 => "Master thread".to_owned(),
                thread => format!("thread {thread}"),
            };
            let (id, name) = (location(*process, *thread), names.number(&name)?);
            definitions.location(id, name, *events, u32::try_from(*process)?)?;
        }
        for (function, number) in &self.functions {
            let name = names.number(function.name())?;
            definitions.region(*number, name, role_of(*function))?;
        }
        let all: Vec<u64> = (0..processes.len()).map(|process| location(process, 0)).collect();
        definitions.group(0, empty, GroupType::Locations, &all)?;
        for (number, comm) in (0..).zip(&self.comms.all) {
            let members: Vec<u64> = comm.members.iter().map(|member| *member as u64).collect();
            definitions.group(number + 1, empty, GroupType::Ranks, &members)?;
            definitions.comm(number, names.number(&comm.name)?, number + 1)?;
        }
        Ok(())
    }
}

/// Is a call a collective operation that blocks, of those that OTF2 knows?
fn is_collective(call: &Call) -> bool {
    let known = call.communicator.is_some_and(|number| number > 0);
    known && !call.has_failed && operation_of(call.function).is_some()
}

/// Events of a location, in the order of their times.
struct Written<'a, 'b> {
    events: &'a Events<'b>,
    time: i64,
    count: u64,
}

impl<'b> Written<'_, 'b> {
    fn add(&mut self, time: i64, event: impl FnOnce(&Events<'b>, u64) -> Result<()>) -> Result<()> {
        // Times in the file are rounded, so a call inside of another one may seem to end behind it.
        self.time = self.time.max(time);
        self.count += 1;
        event(self.events, self.time.cast_unsigned())
    }
}

/// Texts and their numbers, each defined once.
struct Names<'a, 'b> {
    definitions: &'a Definitions<'b>,
    numbers: HashMap<String, u32>,
}

impl Names<'_, '_> {
    fn number(&mut self, text: &str) -> Result<u32> {
        if let Some(number) = self.numbers.get(text) {
            return Ok(*number);
        }
        let number = u32::try_from(self.numbers.len())?;
        self.definitions.string(number, text)?;
        self.numbers.insert(text.to_owned(), number);
        Ok(number)
    }
}
