//! Random programs, run in a small MPI step by step: at any moment, what the engine says is compared with all ways in which the ranks
//! could still go on.
//!
//! `MPI_CHECK_ENGINE_PROGRAMS=1000000 cargo test --release -p mpi-check-engine` looks at a million programs; `MPI_CHECK_ENGINE_SEED`
//! has other ones.

mod simulator;

use std::env;

use mpi_check_engine::{How, Lock, Need, State};
use simulator::{Event, Kind, Op, Programs, Random, Simulation};

/// How many ways in which ranks may go on are looked at. A program with more is left out.
const MOST: usize = 1_000;

/// A step that is not in its place yet.
#[derive(Debug, Clone)]
enum Draft {
    Op(Op),
    /// It makes a request of a number.
    Request(usize, Op),
    Wait {
        requests: Vec<usize>,
        is_any: bool,
        is_test: bool,
    },
    Collective(usize),
}

/// What all communicators' operations are, in their order.
#[derive(Debug, Clone, Copy)]
enum Planned {
    Blocking(Kind, usize),
    Ibarrier,
}

struct Maker<'a> {
    random: &'a mut Random,
    comms: Vec<Vec<usize>>,
    drafts: Vec<Vec<Draft>>,
    requests: usize,
    /// Those of each rank that nobody waits for yet.
    open: Vec<Vec<usize>>,
    buffers: bool,
}

impl Maker<'_> {
    fn request(&mut self, rank: usize, op: Op) {
        self.requests += 1;
        self.open[rank].push(self.requests);
        self.drafts[rank].push(Draft::Request(self.requests, op));
    }

    fn wait(&mut self, rank: usize) {
        let requests = match self.random.one_in(3) {
            true => self.open[rank].clone(),
            false => std::mem::take(&mut self.open[rank]),
        };
        if requests.is_empty() {
            return;
        }
        let (is_any, is_test) = (self.random.one_in(3), self.random.one_in(5));
        self.drafts[rank].push(Draft::Wait { requests, is_any, is_test });
    }

    fn message(&mut self) {
        let comm = self.random.below(self.comms.len());
        let members = self.comms[comm].clone();
        let from = *self.random.pick(&members);
        let to = *self.random.pick(&members);
        if from == to {
            return;
        }
        let tag = self.random.below(2) as i64;
        let is_buffered = self.buffers && self.random.one_in(2);
        let asked = (!self.random.one_in(4)).then_some(from);
        let any = (!self.random.one_in(4)).then_some(tag);
        // The two sides in either order would do in one program only.
        match self.random.below(4) {
            0 => self.request(from, Op::Isend { comm, to, tag, is_buffered }),
            _ => self.drafts[from].push(Draft::Op(Op::Send { comm, to, tag, is_buffered })),
        }
        match self.random.below(8) {
            0 => self.drafts[to].push(Draft::Op(Op::Probe { comm, from: asked, tag: any })),
            1 => self.drafts[to].push(Draft::Op(Op::Poll { comm, from: asked, tag: any })),
            _ => {}
        }
        match self.random.below(3) {
            0 => self.request(to, Op::Irecv { comm, from: asked, tag: any }),
            _ => self.drafts[to].push(Draft::Op(Op::Recv { comm, from: asked, tag: any })),
        }
    }

    fn shift(&mut self) {
        let comm = self.random.below(self.comms.len());
        let members = self.comms[comm].clone();
        for (at, rank) in members.iter().enumerate() {
            let to = members[(at + 1) % members.len()];
            let from = members[(at + members.len() - 1) % members.len()];
            let op = Op::Sendrecv { comm, to, tag: 0, from: Some(from), is_buffered: self.buffers };
            self.drafts[*rank].push(Draft::Op(op));
        }
    }

    fn locks(&mut self) {
        let rank = self.random.below(self.drafts.len());
        let size = self.drafts.len();
        let mut held = Vec::new();
        for _ in 0..1 + self.random.below(2) {
            let target = (!self.random.one_in(5)).then(|| self.random.below(size) as u32);
            let is_exclusive = target.is_some() && !self.random.one_in(3);
            let lock = Lock::new(self.random.below(2) as u64 + 1, target, is_exclusive);
            held.push(lock);
            self.drafts[rank].push(Draft::Op(Op::Lock(lock)));
        }
        if self.random.one_in(3) {
            self.message();
        }
        let unlocks = held.into_iter().rev().map(|lock| Draft::Op(Op::Unlock(lock)));
        self.drafts[rank].extend(unlocks);
    }

    fn epoch(&mut self) {
        let (from, to) =
            (self.random.below(self.drafts.len()), self.random.below(self.drafts.len()));
        if from != to {
            self.drafts[to].push(Draft::Op(Op::Post { to: from }));
            self.drafts[from].push(Draft::Op(Op::Start { to }));
            self.drafts[from].push(Draft::Op(Op::Complete { to }));
            self.drafts[to].push(Draft::Op(Op::WaitForCompletion { of: from }));
        }
    }

    /// What makes a right program wrong, if it does.
    fn disturb(&mut self) {
        let rank = self.random.below(self.drafts.len());
        let length = self.drafts[rank].len();
        if length == 0 {
            return;
        }
        let at = self.random.below(length);
        match self.random.below(5) {
            0 => _ = self.drafts[rank].remove(at),
            1 => {
                let other = self.random.below(length);
                self.drafts[rank].swap(at, other);
            }
            2 => {
                let step = self.drafts[rank].remove(at);
                self.drafts[rank].push(step);
            }
            3 => {
                if let Draft::Op(Op::Send { tag, .. }) | Draft::Request(_, Op::Isend { tag, .. }) =
                    &mut self.drafts[rank][at]
                {
                    *tag = 1 - *tag;
                }
            }
            _ if self.random.one_in(3) => {
                self.drafts[rank].truncate(at);
                self.drafts[rank].push(Draft::Op(Op::Forever));
            }
            _ => self.drafts[rank].truncate(at),
        }
    }

    /// The steps of a rank, without those that would be wrong in themselves.
    fn finish(&self, rank: usize, planned: &[Vec<Planned>]) -> Vec<Op> {
        let mut all = Vec::new();
        let mut steps = std::collections::BTreeMap::new();
        let mut numbers = vec![0; self.comms.len()];
        let mut held: Vec<Lock> = Vec::new();
        let mut posted = Vec::new();
        let mut started = Vec::new();
        let remove = |of: &mut Vec<usize>, what: usize| {
            let at = of.iter().position(|it| *it == what);
            at.map(|at| of.remove(at)).is_some()
        };
        for draft in &self.drafts[rank] {
            let op = match draft.clone() {
                Draft::Request(number, op) => {
                    steps.insert(number, all.len());
                    op
                }
                Draft::Wait { requests, is_any, is_test } => {
                    let requests: Vec<usize> =
                        requests.iter().filter_map(|it| steps.get(it)).copied().collect();
                    match is_test {
                        _ if requests.is_empty() => continue,
                        true => Op::Test { requests, is_any },
                        false => Op::Wait { requests, is_any },
                    }
                }
                Draft::Collective(comm) => {
                    numbers[comm] += 1;
                    match planned[comm][numbers[comm] - 1] {
                        Planned::Blocking(kind, root) => Op::Collective { comm, kind, root },
                        Planned::Ibarrier => {
                            all.push(Op::Ibarrier { comm });
                            Op::Wait { requests: vec![all.len() - 1], is_any: false }
                        }
                    }
                }
                Draft::Op(op) => op,
            };
            let is_valid = match &op {
                Op::Lock(lock) => {
                    let is_new = held.iter().all(|it| it.window != lock.window);
                    if is_new {
                        held.push(*lock);
                    }
                    is_new
                }
                Op::Unlock(lock) => {
                    let at = held.iter().position(|it| it == lock);
                    at.map(|at| held.remove(at)).is_some()
                }
                Op::Post { to } if posted.contains(to) => false,
                Op::Post { to } => {
                    posted.push(*to);
                    true
                }
                Op::Start { to } if started.contains(to) => false,
                Op::Start { to } => {
                    started.push(*to);
                    true
                }
                Op::Complete { to } => remove(&mut started, *to),
                Op::WaitForCompletion { of } => remove(&mut posted, *of),
                _ => true,
            };
            if is_valid {
                all.push(op);
            }
        }
        all
    }
}

fn programs(random: &mut Random) -> Programs {
    let size = 2 + random.below(7);
    let mut comms = vec![(0..size).collect::<Vec<_>>()];
    for _ in 0..random.below(3) {
        let members: Vec<usize> = (0..size).filter(|_| !random.one_in(3)).collect();
        if members.len() > 1 {
            comms.push(members);
        }
    }
    let buffers = random.one_in(3);
    let (drafts, open) = (vec![Vec::new(); size], vec![Vec::new(); size]);
    let mut maker = Maker { random, comms, drafts, requests: 0, open, buffers };
    let many = 1 + maker.random.below(6);
    for _ in 0..many {
        match maker.random.below(12) {
            0..5 => maker.message(),
            5 => maker.shift(),
            6..9 => {
                let comm = maker.random.below(maker.comms.len());
                for rank in maker.comms[comm].clone() {
                    maker.drafts[rank].push(Draft::Collective(comm));
                }
            }
            9 => maker.locks(),
            10 => maker.epoch(),
            _ => {
                let rank = maker.random.below(size);
                maker.wait(rank);
            }
        }
    }
    (0..size).for_each(|rank| maker.wait(rank));
    for _ in 0..maker.random.below(4) {
        maker.disturb();
    }
    let kinds = [Kind::All, Kind::Bcast, Kind::Reduce, Kind::Scan];
    let mut planned = Vec::new();
    for members in maker.comms.clone() {
        let one = |_| match maker.random.below(5) {
            4 => Planned::Ibarrier,
            kind => Planned::Blocking(kinds[kind], *maker.random.pick(&members)),
        };
        planned.push((0..16).map(one).collect::<Vec<_>>());
    }
    let of_ranks = (0..size).map(|rank| maker.finish(rank, &planned)).collect();
    let is_synchronizing = maker.random.one_in(2);
    Programs { comms: maker.comms, of_ranks, is_synchronizing }
}

/// What was looked at.
#[derive(Debug, Default)]
struct Counts {
    pictures: u64,
    /// Pictures in which somebody was named while others could go on.
    named: u64,
    /// Ends at which nobody waits.
    through: u64,
    /// Ends at which somebody waits, all of whom were named.
    whole: u64,
    /// Ends at which the notes do not tell all.
    unclear: u64,
    /// With too many ways to go on.
    left_out: u64,
}

fn look(now: &Simulation<'_>, counts: &mut Counts) {
    if now.is_about_to_return() {
        return;
    }
    let picture = now.picture();
    let polling: Vec<usize> = (0..picture.ranks.len()).collect();
    // Only an MPI that lets all wait for all keeps them so long.
    let all = [false, true];
    let ways = &all[..1 + usize::from(now.programs.is_synchronizing)];
    for is_strict in ways.iter().copied() {
        let how = How { is_strict, polling: polling.clone() };
        let mut stuck = picture.stuck(&how);
        counts.pictures += 1;
        // Who stands in an operation that all others have missed for good counts as waiting for them, by intention: no right
        // program comes there (MPI-5.0, section 6.1), though an MPI may let it leave.
        let may_leave = |rank: &usize| {
            let needs = &picture.ranks[*rank].needs;
            !now.programs.is_synchronizing
                && needs.iter().any(|need| matches!(need, Need::Attendance { .. }))
                && (0..picture.ranks.len())
                    .all(|other| other == *rank || picture.ranks[other].state == State::Over)
        };
        stuck.retain(|rank| !may_leave(rank));
        if stuck.is_empty() {
            continue;
        }
        counts.named += u64::from(!now.events().is_empty());
        match now.who_returns(&stuck, MOST) {
            Ok(None) => {}
            Ok(Some(rank)) => panic!(
                "false alarm: rank {rank} can go on, of {stuck:?}, strict {is_strict}, in\n{:#?}\nat {:#?}\nof\n{picture:#?}",
                now.programs, now.world
            ),
            Err(()) => counts.left_out += 1,
        }
    }
}

fn run(programs: &Programs, random: &mut Random, counts: &mut Counts) {
    let mut now = Simulation::new(programs);
    loop {
        let events = now.events();
        if events.is_empty() {
            break;
        }
        if random.one_in(4) {
            look(&now, counts);
        }
        // Calls that could return stand for a while, as others go on.
        let event: Event = *random.pick(&events);
        now.happen(event, true);
    }
    look(&now, counts);
    let waiting = now.in_calls();
    let waiting: Vec<usize> =
        waiting.into_iter().filter(|rank| now.picture().ranks[*rank].state.waits()).collect();
    if waiting.is_empty() {
        counts.through += 1;
        return;
    }
    if now.has_forever() {
        return;
    }
    if !now.is_clear() {
        counts.unclear += 1;
        return;
    }
    let polling = (0..programs.of_ranks.len()).collect();
    let stuck = now.picture().stuck(&How { is_strict: true, polling });
    assert_eq!(
        stuck,
        waiting,
        "somebody waits for ever and is not named, in\n{:#?}\nat {:#?}\nof\n{:#?}",
        programs,
        now.world,
        now.picture()
    );
    counts.whole += 1;
}

fn number(name: &str, otherwise: u64) -> u64 {
    env::var(name).ok().map_or(otherwise, |text| text.parse().expect("a number"))
}

/// Nobody is named who can go on in any way, and all are who wait when nothing can happen any more.
#[test]
fn who_is_named_can_never_go_on() {
    let many = number("MPI_CHECK_ENGINE_PROGRAMS", 12_000);
    let seed = number("MPI_CHECK_ENGINE_SEED", 1);
    let mut counts = Counts::default();
    for program in 0..many {
        let mut random = Random(seed << 40 | program);
        // Neighbouring seeds have nothing in common after one step.
        random.0 = random.next();
        let programs = programs(&mut random);
        run(&programs, &mut random, &mut counts);
    }
    println!("{many} programs: {counts:?}");
    assert!(counts.through > many / 10, "too few right programs: {counts:?}");
    assert!(counts.whole > many / 10, "too few that stand still: {counts:?}");
    assert!(counts.named > many / 20, "too few of whom some stand: {counts:?}");
    assert!(counts.left_out < many / 20, "too many left out: {counts:?}");
}
