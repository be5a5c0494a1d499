//! Programs of actors that chance has written: handlers send on, and what came is what a single process computes.
//!
//! All processes choose the same programs, and agree on whether one is right, so that they also reduce a wrong one
//! together. Meanwhile a counter at the first process, which all processes change by one-sided operations, has the number of
//! messages in flight: it is raised before a message is sent, and lowered when it has been handled. When `finish`
//! returns, on whichever process first, it must be zero.

#[path = "../../examples/common/mod.rs"]
mod common;

use std::time::Duration;

use common::mix;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use rmpi::{
    Assertion, Communicator, Epoch, LockedAll, MpiDatatype, MpiOp, Passive, RmpiResult, Window,
};
use rmpi_actors::{Actor, Context, Domain, Error, Handler, Selector, Settings};

/// A message, and how many of its descendants follow each other at most.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Parent {
    id: u64,
    generations: u64,
}

/// The same in the other mailbox.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Other(Parent);

/// What chance chooses.
#[derive(Clone, Debug)]
struct Program {
    buffer: usize,
    away: usize,
    receives: usize,
    /// How many children a message has at most.
    children: u64,
    generations: u64,
    /// How many messages each process sends in each scope at most.
    scopes: Vec<u64>,
    everybody_to_one: bool,
    /// One in so many messages is followed by a flush, or by an advance.
    flush: u64,
    /// Do some handlers take long? Then others have nothing to do, and could take that for the end.
    has_pauses: bool,
    /// Do the children of some messages come of a task?
    by_task: bool,
    seed: u64,
}

fn programs() -> impl Strategy<Value = Program> {
    let settings = (1..40_usize, 1..4_usize, 1..4_usize);
    // Few messages, so that numbers are the same by chance, or more.
    let most = prop_oneof![0..3_u64, 0..40_u64];
    let scopes = proptest::collection::vec(most, 1..5);
    let family = (0..4_u64, 0..5_u64, any::<bool>());
    let by_task = (any::<bool>(), any::<bool>());
    (settings, family, scopes, 1..30_u64, by_task, any::<u64>()).prop_map(
        |(
            (buffer, away, receives),
            (children, generations, everybody_to_one),
            scopes,
            flush,
            (has_pauses, by_task),
            seed,
        )| Program {
            buffer,
            away,
            receives,
            children,
            generations,
            scopes,
            everybody_to_one,
            flush,
            has_pauses,
            by_task,
            seed,
        },
    )
}

impl Program {
    fn children_of(&self, parent: Parent) -> impl Iterator<Item = Parent> + use<> {
        let count = match parent.generations {
            0 => 0,
            _ => mix(parent.id ^ self.seed) % (self.children + 1),
        };
        (1..=count).map(move |n| Parent {
            id: mix(parent.id.wrapping_add(n << 32)),
            generations: parent.generations - 1,
        })
    }

    fn process_of(&self, message: Parent, size: usize) -> usize {
        if self.everybody_to_one { 0 } else { (mix(!message.id) % size as u64) as usize }
    }

    /// How many messages a process sends in a scope.
    fn messages_of(&self, rank: usize, scope: usize) -> u64 {
        mix(self.seed ^ (rank as u64 + 1) << 20 ^ scope as u64) % (self.scopes[scope] + 1)
    }

    fn root(&self, rank: usize, scope: usize, number: u64) -> Parent {
        let id = mix(self.seed ^ ((rank as u64) << 40 | (scope as u64) << 32 | number));
        Parent { id, generations: self.generations }
    }

    /// What comes to a process in a scope, by one process alone: how many, and a sum over them.
    fn expected(&self, rank: usize, size: usize, scope: usize) -> (u64, u64) {
        let mut left: Vec<Parent> = (0..size)
            .flat_map(|of| (0..self.messages_of(of, scope)).map(move |number| (of, number)))
            .map(|(of, number)| self.root(of, scope, number))
            .collect();
        let (mut count, mut sum) = (0, 0_u64);
        while let Some(message) = left.pop() {
            if self.process_of(message, size) == rank {
                count += 1;
                sum = sum.wrapping_add(mix(message.id));
            }
            left.extend(self.children_of(message));
        }
        (count, sum)
    }
}

/// The number of messages in flight.
trait Flight {
    fn add(&self, number: i64) -> RmpiResult;
    fn now(&self) -> RmpiResult<i64>;
}

impl Flight for Epoch<'_, '_, i64, LockedAll> {
    fn add(&self, number: i64) -> RmpiResult {
        self.flushed(0, |part| part.target().accumulate(&number, 0, MpiOp::SUM))
    }

    fn now(&self) -> RmpiResult<i64> {
        let (nothing, mut number) = (0, -1);
        self.flushed(0, |part| part.target().fetch_and_op(&nothing, &mut number, 0, MpiOp::NO_OP))?;
        Ok(number)
    }
}

struct Family<'a> {
    program: &'a Program,
    flight: &'a dyn Flight,
    count: u64,
    sum: u64,
}

impl Family<'_> {
    fn came(&mut self, message: Parent) {
        if self.program.has_pauses && mix(message.id + 7).is_multiple_of(4) {
            std::thread::sleep(Duration::from_micros(mix(message.id + 8) % 500));
        }
        self.count += 1;
        self.sum = self.sum.wrapping_add(mix(message.id));
    }

    /// Children of even numbers go to the other mailbox.
    fn send_on(
        &mut self,
        message: Parent,
        context: &mut Context<'_, '_, Self>,
    ) -> Result<(), Error> {
        for child in self.program.children_of(message) {
            self.flight.add(1)?;
            let to = self.program.process_of(child, context.size());
            if child.id % 2 == 0 {
                context.send(to, Other(child))?;
            } else {
                context.send(to, child)?;
            }
        }
        // It was in flight until all that it led to is.
        Ok(self.flight.add(-1)?)
    }
}

impl Actor for Family<'_> {
    type Mailboxes = (Parent, Other);
    type Error = Error;
}

impl Handler<Parent> for Family<'_> {
    fn handle(
        &mut self,
        message: Parent,
        context: &mut Context<'_, '_, Self>,
    ) -> Result<(), Error> {
        self.came(message);
        self.send_on(message, context)
    }
}

impl Handler<Other> for Family<'_> {
    fn handle(&mut self, message: Other, context: &mut Context<'_, '_, Self>) -> Result<(), Error> {
        self.came(message.0);
        if self.program.by_task {
            // As long as the task has not run, the message is in flight.
            context.spawn(move |family, context| family.send_on(message.0, context));
            return Ok(());
        }
        self.send_on(message.0, context)
    }
}

/// Runs a program; says what was wrong on this process.
fn run(
    program: &Program,
    domain: &Domain<'_>,
    flight: &dyn Flight,
) -> Result<Option<String>, Error> {
    let (rank, size) = (domain.rank(), domain.size());
    let settings =
        Settings::default().buffer(program.buffer).away(program.away).receives(program.receives);
    let family = Family { program, flight, count: 0, sum: 0 };
    let mut selector = Selector::new(domain, family, settings)?;
    let mut wrong = None;
    for scope in 0..program.scopes.len() {
        selector.finish(|running| {
            for number in 0..program.messages_of(rank, scope) {
                let message = program.root(rank, scope, number);
                flight.add(1)?;
                running.send(program.process_of(message, size), message)?;
                match mix(message.id + 1) % (2 * program.flush) {
                    0 => running.flush()?,
                    1 => drop(running.advance()?),
                    _ => {}
                }
            }
            Ok(())
        })?;
        // Before any process can begin the next scope.
        let flying = flight.now()?;
        let came = (selector.state().count, selector.state().sum);
        let expected = program.expected(rank, size, scope);
        if flying != 0 {
            wrong.get_or_insert(format!("{flying} messages in flight after scope {scope}"));
        }
        if came != expected {
            wrong.get_or_insert(format!("scope {scope}: {came:?} came, not {expected:?}"));
        }
        (selector.state_mut().count, selector.state_mut().sum) = (0, 0);
        domain.communicator().barrier()?;
    }
    Ok(wrong)
}

/// Is the program right everywhere? All processes return the same.
fn right(program: &Program, domain: &Domain<'_>, flight: &dyn Flight) -> Result<(), TestCaseError> {
    let wrong = run(program, domain, flight).unwrap_or_else(|error| Some(error.to_string()));
    if let Some(wrong) = &wrong {
        eprintln!("rank {}: {wrong}", domain.rank());
    }
    let (mine, mut all) = (u32::from(wrong.is_some()), 0_u32);
    domain.communicator().allreduce(&mine, &mut all, MpiOp::SUM).expect("MPI works");
    if all == 0 { Ok(()) } else { Err(TestCaseError::fail(format!("on {all} processes"))) }
}

/// Tasks: each runs once, in its turn, and those that wait for what cannot come are told of.
fn tasks(world: &Communicator<'_>) -> Result<(), Error> {
    struct Log(Vec<u64>);
    impl Actor for Log {
        type Mailboxes = (u64,);
        type Error = Error;
    }
    impl Handler<u64> for Log {
        fn handle(&mut self, m: u64, context: &mut Context<'_, '_, Self>) -> Result<(), Error> {
            self.0.push(m);
            if m == 7 {
                // A handler's task, which has a task, which sends.
                context.spawn(|log, context| {
                    log.0.push(70);
                    context.spawn(|log, context| {
                        log.0.push(700);
                        context.send(context.rank(), 8)
                    });
                    Ok(())
                });
            }
            Ok(())
        }
    }
    let domain = Domain::new(world)?;
    let (rank, size) = (domain.rank(), domain.size());
    // A task may borrow what lives longer than the selector.
    let text = String::from("borrowed");
    let mut selector = Selector::new(&domain, Log(Vec::new()), Settings::default().buffer(2))?;
    selector.finish(|scope| {
        // After the answer of the one that waits for the next process's message.
        scope.spawn_when(
            |log| log.0.contains(&8),
            |log, _| {
                log.0.push(9);
                Ok(())
            },
        );
        scope.spawn(|log, context| {
            log.0.push(text.len() as u64 + 1000);
            assert_eq!(context.sender(), context.rank());
            context.send((context.rank() + 1) % context.size(), 7)
        });
        assert!(scope.state().0.is_empty(), "no task runs before the program lets it");
        Ok(())
    })?;
    let mut log = std::mem::take(&mut selector.state_mut().0);
    let at = |wanted| log.iter().position(|&m| m == wanted);
    assert!(at(70) < at(700) && at(700) < at(8) && at(8) < at(9), "{log:?}");
    log.sort_unstable();
    assert_eq!(log, [7, 8, 9, 70, 700, 1008]);
    // A scope in a scope does not wait for what the outer one makes possible.
    selector.finish(|scope| {
        scope.spawn_when(
            |log| log.0.len() == 2,
            |log, _| {
                log.0.push(3);
                Ok(())
            },
        );
        scope.finish(|inner| inner.send(inner.rank(), 1))?;
        assert_eq!(scope.state().0, [1]);
        scope.send(scope.rank(), 2)
    })?;
    assert_eq!(selector.state().0, [1, 2, 3]);
    // One process has tasks that wait for ever: all hear of it, and the next scope is as any other.
    let result = selector.finish(|scope| {
        if scope.rank() == 0 {
            scope.spawn_when(
                |_| false,
                |log, _| {
                    log.0.push(4);
                    Ok(())
                },
            );
        }
        scope.send((scope.rank() + 1) % scope.size(), 5)
    });
    assert_eq!(result, Err(Error::Stuck { tasks: 1 }));
    assert_eq!(selector.state().0, [1, 2, 3, 5]);
    // A task's error is a handler's.
    let result = selector.finish(|scope| {
        if scope.rank() == 0 {
            scope.spawn(|_, context| context.send(context.size(), 0));
        }
        Ok(())
    });
    let expected = match rank {
        0 => Error::NoSuchProcess { rank: size, processes: size },
        _ => Error::Elsewhere { processes: 1 },
    };
    assert_eq!(result, Err(expected));
    selector.finish(|scope| scope.send(0, 6))?;
    assert_eq!(selector.state().0.len(), if rank == 0 { 4 + size } else { 4 });
    Ok(())
}

fn main() -> Result<(), Error> {
    let context = rmpi::init()?;
    let world = context.world();
    let cases = std::env::args().nth(1).map_or(100, |text| text.parse::<u32>().expect("a number"));
    tasks(world)?;
    let domain = Domain::new(world)?;
    let mut window = Window::<i64, _>::allocate(world, 1, None, Passive)?;
    // The same on all processes.
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let seed = [cases.to_le_bytes(); 8].concat();
    let mut runner =
        TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    let result = window.lock_all(Assertion::NONE, |epoch| {
        Ok(runner.run(&programs(), |program| right(&program, &domain, epoch)))
    })?;
    window.free()?;
    if let Err(error) = result {
        eprintln!("rank {}: {error}", domain.rank());
        world.abort(1);
    }
    if domain.rank() == 0 {
        println!("properties: right on {} ranks", domain.size());
    }
    Ok(())
}
