//! Traces for tests, whose answers are known by hand.

use std::collections::HashMap;
use std::rc::Rc;

use mpi_facts::FunctionId;
use mpi_facts::trace::{Moved, Partner, Way};

use super::call::Arguments;
use super::{Call, Clock, Clocks, Communicator, Process, Site, Special, Thread, Trace};

/// A call, and with whom it moves data.
pub(in crate::trace) struct MadeUp {
    pub(in crate::trace) call: Call,
    /// Which way, with which rank, how many bytes, and the number of the call that has started it.
    data: Vec<(Way, Option<i64>, u64, Option<u64>)>,
    /// The numbers of calls whose sends it completes, and how many requests it was given.
    ended: (Vec<u64>, u64),
}

pub(in crate::trace) fn call(function: FunctionId, begin: i64, end: i64) -> MadeUp {
    let arguments = Arguments {
        function,
        communicator: Some(1),
        tag: Some(0),
        received_tag: None,
        source: None,
        destination: None,
        root: None,
        site: 0,
    };
    let call = Call::made_up(arguments, [begin, end]);
    MadeUp { call, data: Vec::new(), ended: (Vec::new(), 0) }
}

impl MadeUp {
    /// With a rank, whichever way.
    pub(in crate::trace) fn with(mut self, way: Way, rank: i64, bytes: u64) -> Self {
        self.data.push((way, Some(rank), bytes, None));
        self
    }

    /// Completes what the call of a number has started to receive from a rank.
    pub(in crate::trace) fn completing(mut self, number: u64, rank: i64, bytes: u64) -> Self {
        self.data.push((Way::Received, Some(rank), bytes, Some(number)));
        self
    }

    /// On another communicator than `MPI_COMM_WORLD`.
    pub(in crate::trace) fn on(mut self, communicator: u64) -> Self {
        self.call.arguments_mut().communicator = Some(communicator);
        self
    }

    /// Called in a line of the program.
    pub(in crate::trace) fn in_line(mut self, line: u32) -> Self {
        self.call.arguments_mut().site = line;
        self
    }

    /// Completes the sends that calls of these numbers have started, of so many requests.
    pub(in crate::trace) fn ending(mut self, sends: &[u64], requests: u64) -> Self {
        self.ended = (sends.to_vec(), requests);
        self
    }

    /// With nobody in particular.
    pub(in crate::trace) fn moving(mut self, way: Way, bytes: u64) -> Self {
        self.data.push((way, None, bytes, None));
        self
    }

    /// On `MPI_COMM_WORLD`, as all calls are here.
    pub(in crate::trace) fn on_world(self) -> Self {
        self
    }

    pub(in crate::trace) fn tagged(mut self, tag: i64) -> Self {
        self.call.arguments_mut().tag = Some(tag);
        self
    }
}

/// A process of one thread.
pub(in crate::trace) fn process(rank: u32, calls: Vec<MadeUp>) -> Process {
    let mut thread = Thread::default();
    let mut sites = HashMap::new();
    for (number, MadeUp { mut call, data, ended: (sends, requests) }) in (0..).zip(calls) {
        let begin = thread.data.len();
        for (way, with, bytes, of) in data {
            let peer = with.map_or(Partner::Nobody, |with| Partner::At(with - i64::from(rank)));
            thread.data.push(Moved {
                way,
                of: of.map(|number| (0, number)),
                peer,
                tag: None,
                bytes,
            });
        }
        call.number = number;
        if call.site > 0 {
            let path = format!("made-up.c:{}", call.site);
            sites.insert(call.site, Rc::new(Site { path, frames: Vec::new() }));
        }
        call.set_data(begin, thread.data.len() - begin);
        let at = thread.calls.len();
        thread.ended.extend(sends.into_iter().map(|send| (at, (0, send), requests)));
        thread.calls.push(call);
    }
    Process {
        path: "made-up.trace".into(),
        rank: Some(rank),
        size: None,
        pid: rank.into(),
        host: "host".into(),
        program: "program".into(),
        world: 0,
        world_name: String::new(),
        threads: vec![thread],
        communicators: HashMap::new(),
        lost: 0,
        overwritten: 0,
        bytes: 0,
        is_over: true,
        filter: 0,
        left_out: Vec::new(),
        off: None,
        special: Special { any_source: -2, any_tag: -1, proc_null: -1 },
        has_sites: false,
        sites,
        clock: Clock { shift: 0, rate: 1.0, ticks: 0, created: 0, end_ticks: 0, ended: 0 },
    }
}

/// Of all ranks of a world, on one host.
pub(in crate::trace) fn trace(mut processes: Vec<Process>) -> Trace {
    let size = processes.len() as u64;
    for process in &mut processes {
        let name = "MPI_COMM_WORLD".to_owned();
        let world = Communicator { identity: 7, sizes: [size, 0], name };
        process.communicators.insert(1, world);
        process.size = u32::try_from(size).ok();
    }
    Trace { processes, hosts: 1, clocks: Clocks::Unknown, are_chosen: true }
}
