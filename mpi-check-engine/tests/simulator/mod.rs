//! A small MPI of some ranks with programs: what can happen in it is what the standard allows, one step after the other. It knows
//! nothing of how the engine judges. What `mpi-check` would note of the calls is written down besides ([`Notes`]).

use std::collections::{BTreeMap, BTreeSet, HashSet};

use mpi_check_engine::{Channel, Lock, Need, Operation, Picture, Rank, State, Wanted};

/// Numbers without a pattern (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(crate) fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// A collective operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All need all: a barrier, `MPI_Allreduce`.
    All,
    /// All need the root.
    Bcast,
    /// The root needs all.
    Reduce,
    /// Each needs those before it.
    Scan,
}

/// A step of a program. Ranks are those of the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Op {
    Send {
        comm: usize,
        to: usize,
        tag: i64,
        is_buffered: bool,
    },
    Recv {
        comm: usize,
        from: Option<usize>,
        tag: Option<i64>,
    },
    Sendrecv {
        comm: usize,
        to: usize,
        tag: i64,
        from: Option<usize>,
        is_buffered: bool,
    },
    Probe {
        comm: usize,
        from: Option<usize>,
        tag: Option<i64>,
    },
    /// `MPI_Iprobe`, until something is there.
    Poll {
        comm: usize,
        from: Option<usize>,
        tag: Option<i64>,
    },
    Isend {
        comm: usize,
        to: usize,
        tag: i64,
        is_buffered: bool,
    },
    Irecv {
        comm: usize,
        from: Option<usize>,
        tag: Option<i64>,
    },
    Ibarrier {
        comm: usize,
    },
    /// For the requests that these steps of the program have made.
    Wait {
        requests: Vec<usize>,
        is_any: bool,
    },
    /// `MPI_Testall` or `MPI_Testany`, until it says yes.
    Test {
        requests: Vec<usize>,
        is_any: bool,
    },
    Collective {
        comm: usize,
        kind: Kind,
        root: usize,
    },
    Lock(Lock),
    Unlock(Lock),
    Post {
        to: usize,
    },
    Start {
        to: usize,
    },
    Complete {
        to: usize,
    },
    WaitForCompletion {
        of: usize,
    },
    /// It computes, and calls nothing any more.
    Forever,
}

/// Programs, and the communicators that they use.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    pub(crate) comms: Vec<Vec<usize>>,
    pub(crate) of_ranks: Vec<Vec<Op>>,
    /// This MPI lets nobody leave an operation before all have come, nor start an epoch that was not posted.
    pub(crate) is_synchronizing: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Message {
    /// Who has sent it, by which step.
    by: (usize, usize),
    to: usize,
    comm: usize,
    tag: i64,
    /// The step of its receiver that has got it.
    given: Option<usize>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Receive {
    rank: usize,
    step: usize,
    comm: usize,
    from: Option<usize>,
    tag: Option<i64>,
    is_given: bool,
}

impl Receive {
    fn fits(&self, message: &Message) -> bool {
        self.rank == message.to && fits(message, self.comm, self.from, self.tag)
    }
}

fn fits(message: &Message, comm: usize, from: Option<usize>, tag: Option<i64>) -> bool {
    message.comm == comm
        && from.is_none_or(|from| from == message.by.0)
        && tag.is_none_or(|tag| tag == message.tag)
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Process {
    step: usize,
    is_in_call: bool,
    /// Requests that are not complete, by the steps that have made them.
    requests: BTreeSet<usize>,
    /// The number of the last collective operation on each communicator.
    numbers: BTreeMap<usize, u64>,
    /// The numbers of those that requests are of.
    started: BTreeMap<usize, u64>,
    /// How often it has posted for others, started with them, and completed.
    posts: BTreeMap<usize, u64>,
    starts: BTreeMap<usize, u64>,
    completions: BTreeMap<usize, u64>,
    locks: Vec<(u64, Option<u32>, bool)>,
}

/// All that MPI knows. Messages of one rank and receives of one rank are in their order; which of two ranks was first makes no
/// difference.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct World {
    processes: Vec<Process>,
    messages: Vec<Message>,
    receives: Vec<Receive>,
    come: BTreeMap<(usize, u64), BTreeSet<usize>>,
}

/// Something that can happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A rank begins its next call.
    Begin(usize),
    /// A receive gets a message: their places.
    Give(usize, usize),
    /// A rank's call returns, with one of its requests if one is enough.
    Return(usize, Option<usize>),
}

/// Communicator, source, target and tag.
type Line = (usize, usize, usize, i64);

/// A receive that is pending, as `mpi-check` has it.
#[derive(Debug, Clone)]
struct Pending {
    rank: usize,
    step: usize,
    comm: usize,
    from: Option<usize>,
    tag: Option<i64>,
    /// The message's on its channel; `None` if it may get any that fits.
    number: Option<u64>,
}

impl Pending {
    fn may_get(&self, (comm, source, target, tag): Line) -> bool {
        self.rank == target
            && self.comm == comm
            && self.from.is_none_or(|from| from == source)
            && self.tag.is_none_or(|of| of == tag)
    }
}

/// What `mpi-check` writes down.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notes {
    sent: BTreeMap<Line, u64>,
    received: BTreeMap<Line, u64>,
    loose: BTreeSet<Line>,
    /// In their order.
    pending: Vec<Pending>,
    /// By keys: whose, sent, asked for.
    slots: BTreeMap<u64, (Channel, bool, bool)>,
    /// The keys of messages of sends that are told to be synchronous.
    synchronous: BTreeSet<u64>,
    /// The keys of messages, by who has sent them.
    keys: BTreeMap<(usize, usize), u64>,
}

fn identity(comm: usize) -> u64 {
    comm as u64 + 100
}

fn channel((comm, source, target, tag): Line) -> Channel {
    Channel { identity: identity(comm), source: source as u32, target: target as u32, tag }
}

fn key((comm, source, target, tag): Line, number: u64) -> u64 {
    let all = [comm as u64, source as u64, target as u64, tag as u64, number];
    all.into_iter().fold(1, |key, part| key << 8 | part)
}

impl Notes {
    fn sends(&mut self, by: (usize, usize), line: Line) {
        let number = self.sent.entry(line).or_default();
        *number += 1;
        let key = key(line, *number);
        self.keys.insert(by, key);
        self.slots.entry(key).or_insert((channel(line), false, false)).1 = true;
    }

    fn posts(&mut self, receive: &Receive) {
        let Receive { rank, step, comm, from, tag, .. } = *receive;
        let line = from.zip(tag).map(|(from, tag)| (comm, from, rank, tag));
        let number = line.filter(|line| {
            let is_open = |of: &Pending| of.number.is_none() && of.may_get(*line);
            !self.loose.contains(line) && !self.pending.iter().any(is_open)
        });
        let number = number.map(|line| {
            let number = self.received.entry(line).or_default();
            *number += 1;
            let number = *number;
            let slot = self.slots.entry(key(line, number));
            slot.or_insert((channel(line), false, false)).2 = true;
            number
        });
        self.pending.push(Pending { rank, step, comm, from, tag, number });
    }

    fn receives(&mut self, rank: usize, step: usize, message: &Message) {
        let line = (message.comm, message.by.0, rank, message.tag);
        let at = self.pending.iter().position(|of| (of.rank, of.step) == (rank, step)).unwrap();
        let of = self.pending.remove(at);
        let is_loose = self.loose.contains(&line);
        let number = match of.number {
            Some(number) => (!is_loose).then_some(number),
            None => {
                let number = self.received.entry(line).or_default();
                *number += 1;
                let number = *number;
                if is_loose || self.pending[..at].iter().any(|of| of.may_get(line)) {
                    self.loose.insert(line);
                    None
                } else {
                    Some(number)
                }
            }
        };
        match number {
            Some(number) => _ = self.slots.remove(&key(line, number)),
            None => {
                let is_it = |slot: &(Channel, bool, bool)| slot.0 == channel(line) && slot.1;
                let known = self.slots.iter().find(|(_, slot)| is_it(slot)).map(|(key, _)| *key);
                known.map(|key| self.slots.remove(&key));
            }
        }
    }

    /// Are the receives of a rank that are pending all in its call?
    fn has_other(&self, rank: usize, steps: &[usize]) -> bool {
        self.pending.iter().any(|of| of.rank == rank && !steps.contains(&of.step))
    }
}

/// Programs under way.
#[derive(Debug, Clone)]
pub(crate) struct Simulation<'a> {
    pub(crate) programs: &'a Programs,
    pub(crate) world: World,
    pub(crate) notes: Notes,
}

impl<'a> Simulation<'a> {
    pub(crate) fn new(programs: &'a Programs) -> Self {
        let processes = vec![Process::default(); programs.of_ranks.len()];
        let world = World { processes, ..World::default() };
        Self { programs, world, notes: Notes::default() }
    }

    fn op(&self, rank: usize) -> Option<&'a Op> {
        self.programs.of_ranks[rank].get(self.world.processes[rank].step)
    }

    /// All that can happen next.
    pub(crate) fn events(&self) -> Vec<Event> {
        let world = &self.world;
        let mut events = Vec::new();
        for (rank, process) in world.processes.iter().enumerate() {
            match self.op(rank) {
                None | Some(Op::Forever) => {}
                Some(_) if !process.is_in_call => events.push(Event::Begin(rank)),
                Some(op) => self.returns(rank, op, &mut events),
            }
        }
        for (at, receive) in world.receives.iter().enumerate() {
            for (of, message) in world.messages.iter().enumerate() {
                // MPI-5.0, 3.5: messages of one process are received in their order, and receives get them in theirs.
                let has_earlier = world.messages[..of]
                    .iter()
                    .any(|it| it.by.0 == message.by.0 && it.given.is_none() && receive.fits(it));
                let is_later =
                    world.receives[..at].iter().any(|it| !it.is_given && it.fits(message));
                if !receive.is_given
                    && message.given.is_none()
                    && receive.fits(message)
                    && !has_earlier
                    && !is_later
                {
                    events.push(Event::Give(at, of));
                }
            }
        }
        events
    }

    fn is_sent(&self, rank: usize, step: usize) -> bool {
        let of = self.world.messages.iter().find(|message| message.by == (rank, step));
        of.is_none_or(|message| message.given.is_some())
    }

    fn is_received(&self, rank: usize, step: usize) -> bool {
        let is_it = |it: &&Receive| (it.rank, it.step) == (rank, step);
        self.world.receives.iter().find(is_it).is_some_and(|it| it.is_given)
    }

    fn have_come(&self, comm: usize, number: u64, mut whom: impl Iterator<Item = usize>) -> bool {
        let come = self.world.come.get(&(comm, number));
        whom.all(|rank| come.is_some_and(|come| come.contains(&rank)))
    }

    /// Is a request complete?
    fn is_complete(&self, rank: usize, step: usize) -> bool {
        match &self.programs.of_ranks[rank][step] {
            Op::Isend { is_buffered, .. } => *is_buffered || self.is_sent(rank, step),
            Op::Irecv { .. } => self.is_received(rank, step),
            Op::Ibarrier { comm } => {
                let number = self.world.processes[rank].started[&step];
                self.have_come(*comm, number, self.programs.comms[*comm].iter().copied())
            }
            _ => unreachable!("no request is made by this step"),
        }
    }

    /// Is there a message that nobody has asked for?
    fn is_probed(&self, rank: usize, comm: usize, from: Option<usize>, tag: Option<i64>) -> bool {
        let is_asked =
            |it: &Message| self.world.receives.iter().any(|of| !of.is_given && of.fits(it));
        self.world.messages.iter().any(|it| {
            it.to == rank && it.given.is_none() && fits(it, comm, from, tag) && !is_asked(it)
        })
    }

    fn excludes(&self, rank: usize, lock: Lock) -> bool {
        self.world.processes.iter().enumerate().any(|(other, process)| {
            let of = |(window, target, alone): &(u64, Option<u32>, bool)| {
                Lock::new(*window, *target, *alone).excludes(lock)
            };
            other != rank && process.locks.iter().any(of)
        })
    }

    fn count(of: &BTreeMap<usize, u64>, whom: usize) -> u64 {
        of.get(&whom).copied().unwrap_or(0)
    }

    fn returns(&self, rank: usize, op: &Op, events: &mut Vec<Event>) {
        let process = &self.world.processes[rank];
        let step = process.step;
        let open: Vec<usize> = match op {
            Op::Wait { requests, .. } | Op::Test { requests, .. } => {
                requests.iter().copied().filter(|it| process.requests.contains(it)).collect()
            }
            _ => Vec::new(),
        };
        let is_possible = match op {
            Op::Wait { is_any: true, .. } | Op::Test { is_any: true, .. } if !open.is_empty() => {
                let complete = open.iter().filter(|it| self.is_complete(rank, **it));
                events.extend(complete.map(|it| Event::Return(rank, Some(*it))));
                return;
            }
            Op::Wait { .. } | Op::Test { .. } => open.iter().all(|it| self.is_complete(rank, *it)),
            Op::Send { is_buffered, .. } => *is_buffered || self.is_sent(rank, step),
            Op::Recv { .. } => self.is_received(rank, step),
            Op::Sendrecv { is_buffered, .. } => {
                (*is_buffered || self.is_sent(rank, step)) && self.is_received(rank, step)
            }
            Op::Probe { comm, from, tag } | Op::Poll { comm, from, tag } => {
                self.is_probed(rank, *comm, *from, *tag)
            }
            Op::Collective { comm, kind, root } => {
                let number = process.numbers[comm];
                let members = || self.programs.comms[*comm].iter().copied();
                let is_root = *root == rank;
                let all = self.have_come(*comm, number, members());
                match kind {
                    _ if all => true,
                    _ if self.programs.is_synchronizing => false,
                    Kind::All => false,
                    Kind::Bcast => is_root || self.have_come(*comm, number, [*root].into_iter()),
                    Kind::Reduce => !is_root,
                    Kind::Scan => {
                        self.have_come(*comm, number, members().take_while(|it| *it != rank))
                    }
                }
            }
            Op::Lock(lock) => !self.excludes(rank, *lock),
            Op::Start { to } => {
                !self.programs.is_synchronizing
                    || Self::count(&self.world.processes[*to].posts, rank)
                        > Self::count(&process.starts, *to)
            }
            Op::Complete { to } => {
                Self::count(&self.world.processes[*to].posts, rank)
                    >= Self::count(&process.starts, *to)
            }
            Op::WaitForCompletion { of } => {
                Self::count(&self.world.processes[*of].completions, rank)
                    >= Self::count(&process.posts, *of)
            }
            Op::Isend { .. }
            | Op::Irecv { .. }
            | Op::Ibarrier { .. }
            | Op::Unlock(_)
            | Op::Post { .. } => true,
            Op::Forever => false,
        };
        if is_possible {
            events.push(Event::Return(rank, None));
        }
    }

    /// Lets something happen.
    pub(crate) fn happen(&mut self, event: Event, writes: bool) {
        match event {
            Event::Begin(rank) => self.begin(rank, writes),
            Event::Give(receive, message) => {
                self.world.receives[receive].is_given = true;
                self.world.messages[message].given = Some(self.world.receives[receive].step);
            }
            Event::Return(rank, one) => self.finish(rank, one, writes),
        }
    }

    fn begin(&mut self, rank: usize, writes: bool) {
        let op = self.op(rank).unwrap();
        let step = self.world.processes[rank].step;
        match op {
            Op::Send { comm, to, tag, .. }
            | Op::Isend { comm, to, tag, .. }
            | Op::Sendrecv { comm, to, tag, .. } => {
                let (by, comm, tag) = ((rank, step), *comm, *tag);
                let message = Message { by, to: *to, comm, tag, given: None };
                let at = self.world.messages.partition_point(|it| it.by < by);
                self.world.messages.insert(at, message);
                if writes {
                    self.notes.sends(by, (comm, rank, *to, tag));
                }
                // Some of those that are not buffered are synchronous.
                let is_synchronous = (rank + step).is_multiple_of(2)
                    && matches!(
                        op,
                        Op::Send { is_buffered: false, .. } | Op::Isend { is_buffered: false, .. }
                    );
                if writes && is_synchronous {
                    self.notes.synchronous.insert(self.notes.keys[&by]);
                }
            }
            _ => {}
        }
        let receive = match op {
            Op::Recv { comm, from, tag } | Op::Irecv { comm, from, tag } => {
                Some((*comm, *from, *tag))
            }
            Op::Sendrecv { comm, from, tag, .. } => Some((*comm, *from, Some(*tag))),
            _ => None,
        };
        if let Some((comm, from, tag)) = receive {
            let receive = Receive { rank, step, comm, from, tag, is_given: false };
            if writes {
                self.notes.posts(&receive);
            }
            let is_before = |it: &Receive| (it.rank, it.step) < (rank, step);
            let at = self.world.receives.partition_point(is_before);
            self.world.receives.insert(at, receive);
        }
        let process = &mut self.world.processes[rank];
        process.is_in_call = true;
        match op {
            Op::Isend { .. } | Op::Irecv { .. } => _ = process.requests.insert(step),
            Op::Ibarrier { comm } | Op::Collective { comm, .. } => {
                let number = process.numbers.entry(*comm).or_default();
                *number += 1;
                let number = *number;
                if matches!(op, Op::Ibarrier { .. }) {
                    process.requests.insert(step);
                    process.started.insert(step, number);
                }
                self.world.come.entry((*comm, number)).or_default().insert(rank);
            }
            Op::Unlock(lock) => {
                let gone = process.locks.iter().position(|it| Lock::new(it.0, it.1, it.2) == *lock);
                process.locks.remove(gone.unwrap());
            }
            Op::Post { to } => *process.posts.entry(*to).or_default() += 1,
            Op::Complete { to } => *process.completions.entry(*to).or_default() += 1,
            _ => {}
        }
        // Who need not stand in its call does not: nobody has seen it there.
        let need_not = match op {
            Op::Collective { kind, root, .. } => {
                !self.programs.is_synchronizing
                    && match kind {
                        Kind::Bcast => *root == rank,
                        Kind::Reduce => *root != rank,
                        Kind::All | Kind::Scan => false,
                    }
            }
            Op::Send { is_buffered, .. } => *is_buffered,
            Op::Start { .. } => !self.programs.is_synchronizing,
            Op::Isend { .. }
            | Op::Irecv { .. }
            | Op::Ibarrier { .. }
            | Op::Unlock(_)
            | Op::Post { .. } => true,
            _ => false,
        };
        if need_not {
            self.finish(rank, None, writes);
        }
    }

    /// What a receive has got is gone.
    fn take(&mut self, rank: usize, step: usize, writes: bool) {
        let world = &mut self.world;
        world.receives.retain(|it| (it.rank, it.step) != (rank, step));
        let is_it = |it: &Message| it.to == rank && it.given == Some(step);
        let at = world.messages.iter().position(is_it).unwrap();
        let message = world.messages.remove(at);
        if writes {
            self.notes.receives(rank, step, &message);
        }
    }

    fn finish(&mut self, rank: usize, one: Option<usize>, writes: bool) {
        let op = self.op(rank).unwrap();
        let step = self.world.processes[rank].step;
        match op {
            Op::Recv { .. } | Op::Sendrecv { .. } => self.take(rank, step, writes),
            Op::Wait { requests, .. } | Op::Test { requests, .. } => {
                let open = requests.iter().filter(|it| one.is_none_or(|one| one == **it));
                for request in open {
                    if self.world.processes[rank].requests.remove(request)
                        && matches!(self.programs.of_ranks[rank][*request], Op::Irecv { .. })
                    {
                        self.take(rank, *request, writes);
                    }
                }
            }
            Op::Lock(lock) => {
                let [_, target, alone] = lock.to_words();
                let target = (target != u64::MAX).then_some(target as u32);
                self.world.processes[rank].locks.push((lock.window, target, alone != 0));
            }
            Op::Start { to } => {
                *self.world.processes[rank].starts.entry(*to).or_default() += 1;
            }
            _ => {}
        }
        let process = &mut self.world.processes[rank];
        process.step += 1;
        process.is_in_call = false;
    }

    /// The ranks that are in a call.
    pub(crate) fn in_calls(&self) -> Vec<usize> {
        let all = self.world.processes.iter().enumerate();
        all.filter(|(_, process)| process.is_in_call).map(|(rank, _)| rank).collect()
    }

    /// Is there somebody whose call may end now, and who only waits besides for what MPI has a copy of? That it stands for a while
    /// shows that it has none, so that such a moment is not judged. Nor is one at which a sender's message was received and the notes may
    /// have taken another one of its channel for it: the call returns by itself.
    pub(crate) fn is_about_to_return(&self) -> bool {
        let is_buffered = |rank: usize| match self.op(rank) {
            Some(Op::Sendrecv { is_buffered, .. }) => *is_buffered,
            Some(Op::Wait { requests, .. } | Op::Test { requests, .. }) => {
                requests.iter().any(|request| {
                    let op = &self.programs.of_ranks[rank][*request];
                    self.world.processes[rank].requests.contains(request)
                        && matches!(op, Op::Isend { is_buffered: true, .. })
                })
            }
            _ => false,
        };
        self.events().into_iter().any(|event| match event {
            Event::Begin(_) => false,
            Event::Return(rank, _) => is_buffered(rank) || !self.notes.loose.is_empty(),
            Event::Give(receive, _) => {
                let rank = self.world.receives[receive].rank;
                self.world.processes[rank].is_in_call && is_buffered(rank)
            }
        })
    }

    /// Does anybody compute for ever?
    pub(crate) fn has_forever(&self) -> bool {
        let all = 0..self.world.processes.len();
        all.into_iter().any(|rank| matches!(self.op(rank), Some(Op::Forever)))
    }

    /// Is it known of each message and receive whether they belong together?
    pub(crate) fn is_clear(&self) -> bool {
        let is_clear = |rank: usize| {
            let process = &self.world.processes[rank];
            let steps: Vec<usize> = match self.op(rank) {
                Some(Op::Wait { requests, .. } | Op::Test { requests, .. }) => requests.clone(),
                _ => vec![process.step],
            };
            // Several sends that MPI may have copies of: nobody knows for which one it waits.
            let (needs, is_any) = match self.op(rank).filter(|_| process.is_in_call) {
                Some(op) => self.needs(rank, op),
                None => (Vec::new(), true),
            };
            let may_be_buffered = |need: &Need| matches!(need, Need::Receiver { key, .. } if !self.notes.synchronous.contains(key));
            let are_known = is_any || needs.len() < 2 || !needs.iter().any(may_be_buffered);
            // Who polls may ask for anything by receives that are not known.
            let is_polling = matches!(self.op(rank), Some(Op::Test { .. }));
            // In which order receives were posted is not in the picture.
            let is_open = |need: &&Need| matches!(need, Need::Message(wanted) if wanted.is_open());
            let have_order = is_any || needs.len() < 2 || !needs.iter().any(|need| is_open(&need));
            are_known && have_order && !is_polling && !self.notes.has_other(rank, &steps)
        };
        self.notes.loose.is_empty() && (0..self.world.processes.len()).all(is_clear)
    }

    /// The first of some ranks whose call returns in some way in which all may go on; `Err` if there are more ways than that.
    pub(crate) fn who_returns(&self, ranks: &[usize], most: usize) -> Result<Option<usize>, ()> {
        let begin =
            Self { programs: self.programs, world: self.world.clone(), notes: Notes::default() };
        let mut known = HashSet::from([begin.world.clone()]);
        let mut rest = vec![begin];
        while let Some(now) = rest.pop() {
            let events = now.events();
            for event in &events {
                if let Event::Return(rank, _) = event
                    && ranks.contains(rank)
                {
                    return Ok(Some(*rank));
                }
            }
            // That a call begins takes nothing from anybody and changes nothing for others that they could do before: whatever
            // can happen without it can happen after it.
            let begins = events.iter().position(|event| matches!(event, Event::Begin(_)));
            let events = begins.map_or(&events[..], |at| &events[at..=at]);
            for event in events.iter().copied() {
                let mut next = now.clone();
                next.happen(event, false);
                if known.insert(next.world.clone()) {
                    rest.push(next);
                }
            }
            if known.len() > most {
                return Err(());
            }
        }
        Ok(None)
    }

    fn need_of_send(&self, rank: usize, step: usize, to: usize) -> Need {
        Need::Receiver { key: self.notes.keys[&(rank, step)], target: to as u32 }
    }

    fn need_of_request(&self, rank: usize, step: usize) -> Need {
        match &self.programs.of_ranks[rank][step] {
            Op::Isend { to, .. } => self.need_of_send(rank, step, *to),
            Op::Irecv { comm, from, tag } => need_of_message(*comm, *from, *tag),
            Op::Ibarrier { comm } => Need::Collective {
                identity: identity(*comm),
                number: self.world.processes[rank].started[&step],
                root: None,
            },
            _ => unreachable!("no request is made by this step"),
        }
    }

    fn needs(&self, rank: usize, op: &Op) -> (Vec<Need>, bool) {
        let process = &self.world.processes[rank];
        let step = process.step;
        let needs = match op {
            Op::Send { to, .. } => vec![self.need_of_send(rank, step, *to)],
            Op::Recv { comm, from, tag }
            | Op::Probe { comm, from, tag }
            | Op::Poll { comm, from, tag } => vec![need_of_message(*comm, *from, *tag)],
            Op::Sendrecv { comm, to, tag, from, .. } => {
                vec![self.need_of_send(rank, step, *to), need_of_message(*comm, *from, Some(*tag))]
            }
            Op::Wait { requests, is_any } | Op::Test { requests, is_any } => {
                let open = requests.iter().filter(|it| process.requests.contains(it));
                let needs = open.map(|it| self.need_of_request(rank, *it)).collect();
                return (needs, *is_any);
            }
            Op::Collective { comm, kind, root } => {
                let (identity, number) = (identity(*comm), process.numbers[comm]);
                let all = Need::Collective { identity, number, root: None };
                let attendance = Need::Attendance { identity, number };
                match kind {
                    Kind::All => vec![all],
                    Kind::Bcast if *root == rank => vec![attendance],
                    Kind::Bcast => {
                        vec![Need::Collective { identity, number, root: Some(*root as u32) }]
                    }
                    Kind::Reduce if *root == rank => vec![all],
                    Kind::Reduce => vec![attendance],
                    Kind::Scan => {
                        let members = self.programs.comms[*comm].iter();
                        let before = members.take_while(|it| **it != rank);
                        let before = before.map(|it| *it as u32);
                        let entered = before.map(|rank| Need::Entered { identity, number, rank });
                        entered.chain([attendance]).collect()
                    }
                }
            }
            Op::Lock(lock) => vec![Need::Unlocked(*lock)],
            Op::Start { to } => {
                let count = Self::count(&process.starts, *to) + 1;
                vec![Need::Post { key: pair(1, *to, rank), count, rank: *to as u32 }]
            }
            Op::Complete { to } => {
                let count = Self::count(&process.starts, *to);
                vec![Need::Post { key: pair(1, *to, rank), count, rank: *to as u32 }]
            }
            Op::WaitForCompletion { of } => {
                let count = Self::count(&process.posts, *of);
                vec![Need::Completion { key: pair(2, *of, rank), count, rank: *of as u32 }]
            }
            _ => Vec::new(),
        };
        (needs, matches!(op, Op::Poll { .. }))
    }

    fn rank(&self, rank: usize) -> Rank {
        let process = &self.world.processes[rank];
        let open = self.notes.pending.iter().filter(|of| of.rank == rank && of.number.is_none());
        let lock = |it: &(u64, Option<u32>, bool)| Lock::new(it.0, it.1, it.2);
        let entered = process.numbers.iter().map(|(comm, number)| mpi_check_engine::Entered {
            identity: identity(*comm),
            number: *number,
            size: self.programs.comms[*comm].len() as u64,
        });
        let of = Rank {
            open: open.count() as u32,
            locks: process.locks.iter().map(lock).collect(),
            entered: entered.collect(),
            ..Rank::default()
        };
        let Some(op) = self.op(rank) else { return Rank { state: State::Over, ..of } };
        if !process.is_in_call {
            return of;
        }
        let (needs, is_any) = self.needs(rank, op);
        let state = match op {
            _ if needs.is_empty() => State::Running,
            Op::Poll { .. } | Op::Test { .. } => State::Polling,
            _ => State::Blocked,
        };
        Rank { state, needs, is_any, has_posted: !matches!(op, Op::Probe { .. }), ..of }
    }

    /// What `mpi-check` sees.
    pub(crate) fn picture(&self) -> Picture {
        let ranks = (0..self.world.processes.len()).map(|rank| self.rank(rank)).collect();
        let slots = || self.notes.slots.iter();
        let is_unasked = |slot: &(Channel, bool, bool)| slot.1 && !slot.2;
        let mut picture = Picture {
            ranks,
            under_way: slots().filter(|(_, slot)| slot.1).map(|(_, slot)| slot.0).collect(),
            unasked: slots().filter(|(_, it)| is_unasked(it)).map(|(key, _)| *key).collect(),
            asked: slots().filter(|(_, it)| !is_unasked(it)).map(|(key, _)| *key).collect(),
            unsent: slots().filter(|(_, it)| !it.1).map(|(_, it)| it.0).collect(),
            synchronous: self.notes.synchronous.clone(),
            channels: slots().filter(|(_, it)| it.1).map(|(key, it)| (*key, it.0)).collect(),
            ..Picture::default()
        };
        for (comm, members) in self.programs.comms.iter().enumerate() {
            let members = members.iter().map(|rank| *rank as u32).collect();
            picture.members.insert(identity(comm), members);
        }
        for ((comm, number), come) in &self.world.come {
            let expected = self.programs.comms[*comm].len();
            if come.len() < expected {
                let root_is_here = come.iter().any(|rank| self.is_root(*rank, *comm, *number));
                let come = come.iter().map(|rank| *rank as u32).collect();
                let expected = expected as u32;
                let operation = Operation { root_is_here, expected, come };
                picture.operations.insert((identity(*comm), *number), operation);
            }
        }
        let mut exposures = BTreeMap::new();
        for (rank, process) in self.world.processes.iter().enumerate() {
            let posts = process.posts.iter().map(|(to, count)| (pair(1, rank, *to), *count));
            exposures.extend(posts);
            let all = process.completions.iter();
            exposures.extend(all.map(|(to, count)| (pair(2, rank, *to), *count)));
        }
        picture.exposures = Some(exposures);
        picture
    }

    /// Is a rank the root of an operation, by its own program?
    fn is_root(&self, rank: usize, comm: usize, number: u64) -> bool {
        let mut of_comm = self.programs.of_ranks[rank].iter().filter_map(|op| match op {
            Op::Collective { comm: of, kind, root } if *of == comm => {
                Some(matches!(kind, Kind::Bcast | Kind::Reduce) && *root == rank)
            }
            Op::Ibarrier { comm: of } if *of == comm => Some(false),
            _ => None,
        });
        of_comm.nth(number as usize - 1) == Some(true)
    }
}

fn pair(what: u64, from: usize, to: usize) -> u64 {
    what << 32 | (from as u64) << 16 | to as u64
}

fn need_of_message(comm: usize, from: Option<usize>, tag: Option<i64>) -> Need {
    let source = from.map(|from| from as u32);
    Need::Message(Wanted { identity: identity(comm), source, tag })
}
