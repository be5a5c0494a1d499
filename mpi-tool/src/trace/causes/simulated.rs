//! Programs whose times are computed, so that the causes of their waits are known.

use std::collections::BTreeMap;

use mpi_facts::FunctionId::{
    self, MPI_Allreduce, MPI_Barrier, MPI_Bcast, MPI_Comm_size, MPI_Finalize, MPI_Gather, MPI_Init,
    MPI_Irecv, MPI_Isend, MPI_Recv, MPI_Send, MPI_Ssend, MPI_Waitall,
};
use mpi_facts::trace::Way::{Received, Reduced, Sent};

use super::super::read::made_up::{MadeUp, call, process, trace};
use super::super::read::{Communicator, Trace};

/// What a rank does next.
#[derive(Debug, Clone)]
pub(in crate::trace) enum Step {
    Compute(i64),
    /// A call that needs nobody, in a line.
    Local(u32),
    Send {
        line: u32,
        to: usize,
        synchronous: bool,
    },
    Receive {
        line: u32,
        from: usize,
    },
    StartSend {
        line: u32,
        to: usize,
    },
    StartReceive {
        line: u32,
        from: usize,
    },
    /// Completes what is started.
    Complete {
        line: u32,
    },
    /// A collective operation of a group, with its root.
    Collective {
        line: u32,
        function: FunctionId,
        group: usize,
        root: usize,
    },
}

/// A program: what each rank does, and the groups of ranks that it has. The first group is all ranks.
#[derive(Debug, Clone)]
pub(in crate::trace) struct Program {
    pub(in crate::trace) ranks: Vec<Vec<Step>>,
    pub(in crate::trace) groups: Vec<Vec<usize>>,
    /// How long `MPI_Init` takes.
    pub(in crate::trace) start_up: Vec<i64>,
    /// How long a message takes, and how long an operation takes behind the last one's beginning.
    pub(in crate::trace) latency: i64,
    /// How long each call takes besides.
    pub(in crate::trace) overhead: i64,
}

const BYTES: u64 = 8;

/// A rank under way.
#[derive(Default)]
struct Running {
    at: usize,
    time: i64,
    calls: Vec<MadeUp>,
    /// Receives that are started: the number of the call, of whom, and of which message.
    started: Vec<(u64, usize, usize)>,
    /// Of which message the call is in which it is.
    number: Option<usize>,
}

/// Messages from one rank to another: when they were sent, and when their receives began.
#[derive(Default)]
struct Channel {
    sent: Vec<i64>,
    asked: Vec<i64>,
}

type Channels = BTreeMap<(usize, usize), Channel>;

impl Program {
    pub(in crate::trace) fn new(ranks: usize) -> Self {
        Self {
            ranks: vec![Vec::new(); ranks],
            groups: vec![(0..ranks).collect()],
            start_up: vec![1000; ranks],
            latency: 0,
            overhead: 1,
        }
    }

    /// Adds a step for each rank.
    pub(in crate::trace) fn all(&mut self, step: impl Fn(usize) -> Step) -> &mut Self {
        for (rank, steps) in self.ranks.iter_mut().enumerate() {
            steps.push(step(rank));
        }
        self
    }

    pub(in crate::trace) fn one(&mut self, rank: usize, step: Step) -> &mut Self {
        self.ranks[rank].push(step);
        self
    }

    /// An operation of all ranks, without a root.
    pub(in crate::trace) fn together(&mut self, line: u32, function: FunctionId) -> &mut Self {
        self.all(|_| Step::Collective { line, function, group: 0, root: 0 })
    }

    /// Runs it. Each rank finalizes at its end.
    pub(in crate::trace) fn run(&self) -> Trace {
        let mut running: Vec<Running> = self
            .start_up
            .iter()
            .map(|time| Running {
                time: *time,
                calls: vec![call(MPI_Init, 0, *time)],
                ..Running::default()
            })
            .collect();
        let mut channels = Channels::new();
        loop {
            let mut has_moved = false;
            for rank in 0..running.len() {
                while self.step(rank, &mut running, &mut channels) {
                    has_moved = true;
                }
            }
            if !has_moved {
                break;
            }
        }
        for (rank, (steps, one)) in self.ranks.iter().zip(&mut running).enumerate() {
            assert_eq!(one.at, steps.len(), "rank {rank} is stuck: {:?}", steps.get(one.at));
            one.calls.push(call(MPI_Finalize, one.time, one.time + 10));
        }
        let mut trace =
            trace((0..).zip(running).map(|(rank, running)| process(rank, running.calls)).collect());
        for (number, group) in self.groups.iter().enumerate().skip(1) {
            for rank in group {
                let known = Communicator {
                    identity: 100 + number as u64,
                    sizes: [group.len() as u64, 0],
                    name: format!("group {number}"),
                };
                trace.processes[*rank].communicators.insert(1 + number as u64, known);
            }
        }
        trace
    }

    /// Lets a rank take its next step. `false` if it cannot yet.
    fn step(&self, rank: usize, running: &mut [Running], channels: &mut Channels) -> bool {
        let Some(step) = self.ranks[rank].get(running[rank].at) else { return false };
        let (now, overhead) = (running[rank].time, self.overhead);
        let own = &mut running[rank];
        match *step {
            Step::Compute(time) => own.time += time,
            Step::Local(line) => {
                own.calls.push(call(MPI_Comm_size, now, now + overhead).in_line(line));
                own.time += overhead;
            }
            Step::Send { line, to, synchronous } => {
                let channel = channels.entry((rank, to)).or_default();
                let number = *own.number.get_or_insert_with(|| {
                    channel.sent.push(now);
                    channel.sent.len() - 1
                });
                let mut end = now + overhead;
                if synchronous {
                    let Some(asked) = channel.asked.get(number) else { return false };
                    end = end.max(asked + overhead);
                }
                let function = if synchronous { MPI_Ssend } else { MPI_Send };
                let made = call(function, now, end).with(Sent, to as i64, BYTES).in_line(line);
                own.calls.push(made);
                (own.time, own.number) = (end, None);
            }
            Step::Receive { line, from } => {
                let channel = channels.entry((from, rank)).or_default();
                let number = *own.number.get_or_insert_with(|| {
                    channel.asked.push(now);
                    channel.asked.len() - 1
                });
                let Some(sent) = channel.sent.get(number) else { return false };
                let end = now.max(sent + self.latency) + overhead;
                let made = call(MPI_Recv, now, end).with(Received, from as i64, BYTES);
                own.calls.push(made.in_line(line));
                (own.time, own.number) = (end, None);
            }
            Step::StartSend { line, to } => {
                channels.entry((rank, to)).or_default().sent.push(now);
                let made = call(MPI_Isend, now, now + overhead).with(Sent, to as i64, BYTES);
                own.calls.push(made.in_line(line));
                own.time += overhead;
            }
            Step::StartReceive { line, from } => {
                let asked = &mut channels.entry((from, rank)).or_default().asked;
                own.started.push((own.calls.len() as u64, from, asked.len()));
                asked.push(now);
                own.calls.push(call(MPI_Irecv, now, now + overhead).in_line(line));
                own.time += overhead;
            }
            Step::Complete { line } => {
                let sent = |(_, from, number): &(u64, usize, usize)| {
                    channels.get(&(*from, rank)).and_then(|one| one.sent.get(*number)).copied()
                };
                let Some(sent) = own.started.iter().map(sent).collect::<Option<Vec<i64>>>() else {
                    return false;
                };
                let end =
                    sent.iter().map(|sent| sent + self.latency).fold(now, i64::max) + overhead;
                let mut made = call(MPI_Waitall, now, end).in_line(line);
                for (number, from, _) in own.started.drain(..) {
                    made = made.completing(number, from as i64, BYTES);
                }
                own.calls.push(made);
                own.time = end;
            }
            Step::Collective { line, function, group, root } => {
                let members = &self.groups[group];
                let is_there = |member: &usize| {
                    let step = self.ranks[*member].get(running[*member].at);
                    matches!(step, Some(Step::Collective { group: of, .. }) if *of == group)
                };
                if !members.iter().all(is_there) {
                    return false;
                }
                let last = members.iter().map(|member| running[*member].time).max().unwrap_or(0);
                let of_root = running[root].time;
                for member in members {
                    let one = &mut running[*member];
                    let begin = one.time;
                    let until = match function {
                        MPI_Bcast => begin.max(of_root),
                        MPI_Gather if *member != root => begin,
                        _ => last,
                    };
                    let end = until + self.latency + overhead;
                    let made = call(function, begin, end).on(1 + group as u64).in_line(line);
                    one.calls.push(match function {
                        MPI_Barrier => made,
                        MPI_Allreduce => made.moving(Reduced, BYTES),
                        MPI_Bcast if *member == root => made.moving(Sent, BYTES),
                        MPI_Gather if *member != root => made.moving(Sent, BYTES),
                        _ => made.moving(Received, BYTES),
                    });
                    one.time = end;
                    one.at += 1;
                }
                return true;
            }
        }
        running[rank].at += 1;
        true
    }
}

/// Numbers at random, by a seed (splitmix64).
pub(in crate::trace) struct Dice(pub(in crate::trace) u64);

impl Dice {
    /// A number below another one.
    pub(in crate::trace) fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }
}

/// A program at random. If it is `even`, all ranks compute as long as each other, and communicate in ways in which nobody
/// waits for that.
pub(in crate::trace) fn at_random(seed: u64, even: bool) -> (Program, usize) {
    let mut dice = Dice(seed);
    let ranks = 2 + dice.below(15);
    let mut program = Program::new(ranks);
    program.latency = dice.below(20) as i64;
    program.groups.push((0..ranks / 2).collect());
    program.groups.push((ranks / 2..ranks).collect());
    if !even {
        program.start_up.iter_mut().for_each(|time| *time += dice.below(5000) as i64);
    }
    program.together(1, MPI_Barrier);
    let rounds = 5 + dice.below(30);
    for round in 0..rounds {
        // A round has lines of its own, so that a test can name it.
        let line = 10 + 10 * round as u32;
        let time = dice.below(5000) as i64;
        for rank in 0..ranks {
            let time = if even { time } else { dice.below(5000) as i64 };
            program.one(rank, Step::Compute(time)).one(rank, Step::Local(line));
        }
        let time = dice.below(5000) as i64;
        for rank in 0..ranks {
            let time = if even { time } else { dice.below(5000) as i64 };
            program.one(rank, Step::Compute(time));
        }
        let root = dice.below(ranks);
        match dice.below(if even { 3 } else { 7 }) {
            0 => {
                program.together(line + 1, MPI_Allreduce);
            }
            1 => {
                program.all(|rank| Step::Collective {
                    line: line + 2,
                    function: MPI_Barrier,
                    group: 1 + usize::from(rank >= ranks / 2),
                    root: 0,
                });
            }
            2 => {
                for side in [1, ranks - 1] {
                    program.all(|rank| Step::StartReceive {
                        line: line + 3,
                        from: (rank + side) % ranks,
                    });
                }
                for side in [1, ranks - 1] {
                    program
                        .all(|rank| Step::StartSend { line: line + 4, to: (rank + side) % ranks });
                }
                program.all(|_| Step::Complete { line: line + 5 });
            }
            3 => {
                for rank in 0..ranks {
                    if rank > 0 {
                        program.one(rank, Step::Receive { line: line + 6, from: rank - 1 });
                    }
                    if rank + 1 < ranks {
                        let synchronous = dice.below(2) == 1;
                        program.one(rank, Step::Send { line: line + 7, to: rank + 1, synchronous });
                    }
                }
            }
            4 => {
                let to = (root + 1 + dice.below(ranks - 1)) % ranks;
                let synchronous = dice.below(2) == 1;
                program.one(root, Step::Send { line: line + 7, to, synchronous });
                program.one(to, Step::Receive { line: line + 6, from: root });
            }
            other => {
                let function = if other == 5 { MPI_Bcast } else { MPI_Gather };
                program.all(|_| Step::Collective { line: line + 8, function, group: 0, root });
            }
        }
    }
    (program, rounds)
}
