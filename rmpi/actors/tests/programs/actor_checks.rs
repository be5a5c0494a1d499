//! What actors promise, on as many processes as there are. The first argument names the check.

#[path = "../../examples/common/mod.rs"]
mod common;

use common::{Random, mix};
use rmpi::{Communicator, MpiDatatype, MpiOp};
use rmpi_actors::{Actor, Context, Domain, Error, Handler, Selector, Settings};

/// A message that is sent on `hops` times.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Walk {
    id: u64,
    hops: u64,
}

/// What a walk sends beside itself, now and then.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Echo(u64);

#[derive(Clone)]
struct Walker {
    random: Random,
    /// Messages that were given to `send`, and messages handled.
    sent: u64,
    handled: u64,
    /// Sums over the walks that ended, and their number.
    ended: u64,
    ids: u64,
    echoes: u64,
}

impl Walker {
    fn new(seed: usize) -> Self {
        Self { random: Random::new(seed), sent: 0, handled: 0, ended: 0, ids: 0, echoes: 0 }
    }
}

impl Actor for Walker {
    type Mailboxes = (Walk, Echo);
    type Error = Error;
}

impl Handler<Walk> for Walker {
    fn handle(&mut self, walk: Walk, context: &mut Context<'_, '_, Self>) -> Result<(), Error> {
        self.handled += 1;
        if walk.hops == 0 {
            self.ended = self.ended.wrapping_add(1);
            self.ids = self.ids.wrapping_add(mix(walk.id));
            return Ok(());
        }
        let next = self.random.below(context.size());
        self.sent += 1;
        context.send(next, Walk { id: walk.id, hops: walk.hops - 1 })?;
        if self.random.below(8) == 0 {
            self.sent += 1;
            context.send(context.sender(), Echo(walk.id))?;
        }
        Ok(())
    }
}

impl Handler<Echo> for Walker {
    fn handle(&mut self, echo: Echo, context: &mut Context<'_, '_, Self>) -> Result<(), Error> {
        self.handled += 1;
        self.echoes += 1;
        // The mailboxes are a cycle: an echo begins another walk, now and then.
        if self.random.below(4) == 0 {
            self.sent += 1;
            context.send(self.random.below(context.size()), Walk { id: echo.0, hops: 0 })?;
            self.ended = self.ended.wrapping_sub(1);
            self.ids = self.ids.wrapping_sub(mix(echo.0));
        }
        Ok(())
    }
}

fn sum(world: &Communicator<'_>, mine: u64) -> u64 {
    common::sum(world, mine).unwrap()
}

/// Random settings, walks and flush points, often: what came is what was sent, when `finish` returns.
fn walks(world: &Communicator<'_>) -> Result<(), Error> {
    // All processes choose the same settings.
    let mut settings_of = Random::new(4711);
    let domain = Domain::new(world)?;
    let (rank, size) = (domain.rank(), domain.size());
    for round in 0..40 {
        let settings = Settings::default()
            .buffer(1 + settings_of.below(40))
            .away(1 + settings_of.below(4))
            .receives(1 + settings_of.below(3));
        let (most, hops) = (settings_of.below(2000), settings_of.below(20) as u64);
        let everybody_to_one = settings_of.below(4) == 0;
        let mut selector = Selector::new(&domain, Walker::new(round * size + rank), settings)?;
        let mut random = Random::new(1000 * round + rank);
        let mine = random.below(most + 1) as u64;
        for scope in 0..3 {
            selector.finish(|scope_of| {
                for n in 0..mine {
                    let to = if everybody_to_one { 0 } else { random.below(size) };
                    scope_of.state_mut().sent += 1;
                    let id = (scope * size as u64 + rank as u64) << 32 | n;
                    scope_of.send(to, Walk { id, hops })?;
                    match random.below(50) {
                        0 => scope_of.flush()?,
                        1 => drop(scope_of.advance()?),
                        _ => {}
                    }
                    // A scope in the scope, once on each process.
                    if n == 0 && mine > 0 && size == 1 {
                        scope_of.finish(|inner| inner.send(0, Echo(5)))?;
                        scope_of.state_mut().sent += 1;
                    }
                }
                if random.below(2) == 0 {
                    scope_of.done::<Walk, _>()?;
                }
                Ok(())
            })?;
            // As it is when `finish` returns here: nothing may be on its way anywhere.
            let at_end = selector.state().clone();
            assert_eq!(sum(world, at_end.sent), sum(world, at_end.handled), "round {round}");
            assert_eq!(sum(world, at_end.ended), sum(world, (scope + 1) * mine), "round {round}");
            let expected = (0..=scope).flat_map(|scope| {
                (0..mine).map(move |n| mix((scope * size as u64 + rank as u64) << 32 | n))
            });
            let ids = expected.fold(0, u64::wrapping_add);
            let (mut all, mut came) = (0_u64, 0_u64);
            // Sums wrap.
            world.allreduce(&ids, &mut all, MpiOp::SUM)?;
            world.allreduce(&at_end.ids, &mut came, MpiOp::SUM)?;
            assert_eq!(all, came, "round {round}");
        }
    }
    Ok(())
}

#[derive(Clone, Copy, Default, MpiDatatype)]
struct Numbered {
    number: u64,
    from: u64,
}

struct Once {
    count: u64,
    hashes: u64,
    squares: u64,
}

impl Actor for Once {
    type Mailboxes = (Numbered,);
    type Error = Error;
}

impl Handler<Numbered> for Once {
    #[inline]
    fn handle(&mut self, m: Numbered, context: &mut Context<'_, '_, Self>) -> Result<(), Error> {
        assert_eq!(m.from, context.sender() as u64);
        let hash = mix(m.number << 8 | m.from);
        self.count += 1;
        self.hashes = self.hashes.wrapping_add(hash);
        self.squares = self.squares.wrapping_add(hash.wrapping_mul(hash));
        Ok(())
    }
}

/// Many messages to random processes, with random flush points: none lost, none twice, none elsewhere.
fn once(world: &Communicator<'_>, messages: u64) -> Result<(), Error> {
    let domain = Domain::new(world)?;
    let (rank, size) = (domain.rank(), domain.size());
    let state = Once { count: 0, hashes: 0, squares: 0 };
    let mut selector = Selector::new(&domain, state, Settings::default())?;
    let mut random = Random::new(rank);
    // Count, sum of hashes and sum of their squares, by process.
    let mut expected = vec![[0_u64; 3]; size];
    selector.finish(|scope| {
        for number in 0..messages / size as u64 {
            let to = random.below(size);
            let hash = mix(number << 8 | rank as u64);
            let sums = &mut expected[to];
            *sums = [
                sums[0] + 1,
                sums[1].wrapping_add(hash),
                sums[2].wrapping_add(hash.wrapping_mul(hash)),
            ];
            scope.send(to, Numbered { number, from: rank as u64 })?;
            if random.next() >> 50 == 0 {
                scope.flush()?;
            }
        }
        Ok(())
    })?;
    let mut all: Vec<u64> = expected.iter().flatten().copied().collect();
    world.allreduce_in_place(&mut all[..], MpiOp::SUM)?;
    let state = selector.into_state();
    assert_eq!(all[3 * rank..][..3], [state.count, state.hashes, state.squares]);
    Ok(())
}

struct Refusing {
    seen: u64,
}

impl Actor for Refusing {
    type Mailboxes = (u64,);
    type Error = Error;
}

impl Handler<u64> for Refusing {
    fn handle(&mut self, message: u64, context: &mut Context<'_, '_, Self>) -> Result<(), Error> {
        self.seen += 1;
        match message {
            1 => context.send(context.size(), 0),
            2 => panic!("no twos here"),
            _ => Ok(()),
        }
    }
}

/// Errors are where they belong, and a selector goes on after them.
fn errors(world: &Communicator<'_>) -> Result<(), Error> {
    let domain = Domain::new(world)?;
    let (rank, size) = (domain.rank(), domain.size());
    let last = size - 1;
    let mut selector = Selector::new(&domain, Refusing { seen: 0 }, Settings::default().buffer(3))?;
    // A wrong destination: an error before anything is sent.
    selector.finish(|scope| {
        for wrong in [size, size + 1, usize::MAX] {
            let error = scope.send(wrong, 0_u64).unwrap_err();
            assert_eq!(error, Error::NoSuchProcess { rank: wrong, processes: size });
        }
        Ok(())
    })?;
    assert_eq!(selector.state().seen, 0);
    // No message after `done`, and again in the next scope.
    selector.finish(|scope| {
        scope.send(last, 0_u64)?;
        scope.done::<u64, _>()?;
        let error = scope.send(last, 0_u64).unwrap_err();
        assert_eq!(error, Error::Done { mailbox: "u64" });
        Ok(())
    })?;
    assert_eq!(selector.state().seen, if rank == last { size as u64 } else { 0 });
    // A handler's error comes out there, and others hear of it.
    let result = selector.finish(|scope| {
        if scope.rank() == 0 {
            (0..10).try_for_each(|n| scope.send(last, u64::from(n == 4)))?;
        }
        Ok(())
    });
    let expected = if rank == last {
        Error::NoSuchProcess { rank: size, processes: size }
    } else {
        Error::Elsewhere { processes: 1 }
    };
    assert_eq!(result, Err(expected));
    assert_eq!(selector.state().seen, if rank == last { size as u64 + 10 } else { 0 });
    // The main program's error, too, and its result.
    let result: Result<(), _> = selector
        .finish(|scope| if scope.rank() == 0 { Err(Error::Settings("mine")) } else { Ok(()) });
    let expected =
        if rank == 0 { Error::Settings("mine") } else { Error::Elsewhere { processes: 1 } };
    assert_eq!(result, Err(expected));
    assert_eq!(selector.finish(|scope| Ok(scope.rank()))?, rank);
    // Settings that differ, or cannot be.
    let bad = Selector::new(&domain, Refusing { seen: 0 }, Settings::default().buffer(0));
    assert!(matches!(bad, Err(Error::Settings(_))));
    if size > 1 {
        let differs = Settings::default().buffer(1 + rank);
        let bad = Selector::new(&domain, Refusing { seen: 0 }, differs);
        assert!(matches!(bad, Err(Error::Settings(_))));
    }
    Ok(())
}

/// Requests at random, each answered once, by its process, in the place where it was asked.
fn asked(world: &Communicator<'_>) -> Result<(), Error> {
    let domain = Domain::new(world)?;
    let (rank, size) = (domain.rank(), domain.size());
    let answer_of = |of: usize, request: u32| mix(u64::from(request) + ((of as u64) << 32));
    let mut random = Random::new(rank);
    for round in 0..12 {
        let settings = Settings::default()
            .buffer([1, 3, 64, 1024][round % 4])
            .away([1, 2, 16][round % 3])
            .receives([1, 4][round % 2]);
        // Now and then a process asks nothing, and one is asked by all.
        let number = if round % 5 == rank { 0 } else { random.below(4000) };
        let busiest = if round % 3 == 0 { 1 } else { size };
        let requests: Vec<(usize, u32)> =
            (0..number).map(|_| (random.below(busiest), random.next() as u32)).collect();
        let mut answered = 0;
        let found = domain.ask(settings, requests.iter().copied(), |request: u32, from| {
            assert!(from < size);
            answered += 1;
            answer_of(rank, request)
        })?;
        let expected: Vec<u64> =
            requests.iter().map(|&(to, request)| answer_of(to, request)).collect();
        assert_eq!(found, expected, "round {round}");
        assert_eq!(sum(world, answered), sum(world, number as u64));
    }
    // A wrong process: those before are answered, others go on, and the next time all is well.
    for _ in 0..2 {
        let to = |n| if rank == 0 && n == 7 { size } else { n % size };
        let mut answered = 0;
        let result = domain.ask(Settings::default(), (0..20).map(|n| (to(n), n as u32)), |n, _| {
            answered += 1;
            n
        });
        let expected = match rank {
            0 => Error::NoSuchProcess { rank: size, processes: size },
            _ => Error::Elsewhere { processes: 1 },
        };
        assert_eq!(result, Err(expected));
        assert_eq!(sum(world, answered), 20 * (size as u64 - 1) + 7);
        let found = domain.ask(Settings::default(), [(rank, 5_u32)], |n, _| 2 * n)?;
        assert_eq!(found, [10]);
    }
    Ok(())
}

/// A selector that lives while thousands of others come and go keeps its tags to itself.
fn tags(world: &Communicator<'_>) -> Result<(), Error> {
    let domain = Domain::new(world)?;
    let new = || Selector::new(&domain, Refusing { seen: 0 }, Settings::default().buffer(2));
    let mut kept = new()?;
    let ask = |n| {
        let request = (n % domain.size(), 7_u32);
        assert_eq!(domain.ask(Settings::default().buffer(2), [request], |n, _| n), Ok(vec![7]));
    };
    let mut others = Vec::new();
    for n in 0..17_000 {
        ask(n);
        if n % 1000 == 0 {
            others.push(new()?);
        }
        if n % 4000 == 3999 {
            let mut leaving = others.split_off(1);
            // In another order on each process.
            leaving.rotate_left(domain.rank());
            for selector in leaving {
                drop(selector);
                ask(n);
            }
        }
    }
    for selector in others.iter_mut().chain([&mut kept]) {
        selector.finish(|scope| (0..scope.size()).try_for_each(|to| scope.send(to, 0_u64)))?;
        assert_eq!(selector.state().seen, domain.size() as u64);
    }
    Ok(())
}

/// Half of the processes each have actors of their own, and several selectors of one domain.
fn communicators(world: &Communicator<'_>) -> Result<(), Error> {
    let rank = world.rank()?;
    let half = world.split(Some(rank as u32 % 2), 0)?.unwrap();
    let domain = Domain::new(&half)?;
    let new = |seen| Selector::new(&domain, Refusing { seen }, Settings::default());
    let (mut one, mut other) = (new(0)?, new(100)?);
    one.finish(|scope| (0..scope.size()).try_for_each(|to| scope.send(to, 0_u64)))?;
    other.finish(|scope| (0..scope.size()).try_for_each(|to| scope.send(to, 0_u64)))?;
    let size = domain.size() as u64;
    assert_eq!((one.into_state().seen, other.into_state().seen), (size, 100 + size));
    Ok(())
}

/// Scopes in scopes, again and again: at the end of each, exactly its messages have been handled on each process,
/// and none that others send afterwards.
fn nested(world: &Communicator<'_>) -> Result<(), Error> {
    let domain = Domain::new(world)?;
    let size = domain.size() as u64;
    let mut selector = Selector::new(&domain, Refusing { seen: 0 }, Settings::default().buffer(2))?;
    for round in 0..200 {
        selector.finish(|scope| {
            (0..scope.size()).try_for_each(|to| scope.send(to, 0_u64))?;
            scope.finish(|inner| {
                (0..inner.size()).try_for_each(|to| inner.send(to, 0_u64))?;
                inner.finish(|innermost| innermost.send(0, 0_u64))
            })?;
            let innermost = if scope.rank() == 0 { size } else { 0 };
            assert_eq!(scope.state().seen, 2 * size + innermost, "round {round}");
            (0..scope.size()).try_for_each(|to| scope.send(to, 0_u64))
        })?;
        let innermost = if domain.rank() == 0 { size } else { 0 };
        assert_eq!(selector.state().seen, 3 * size + innermost, "round {round}");
        selector.state_mut().seen = 0;
    }
    Ok(())
}

#[derive(Clone, Copy, Default, MpiDatatype)]
struct Large([u64; 32]);

struct Sink {
    came: u64,
}

impl Actor for Sink {
    type Mailboxes = (Large,);
    type Error = Error;
}

impl Handler<Large> for Sink {
    fn handle(&mut self, message: Large, _: &mut Context<'_, '_, Self>) -> Result<(), Error> {
        self.came += message.0[0];
        Ok(())
    }
}

/// The most memory that this process has had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    1024 * line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
}

/// Everybody sends to the first process much more than the settings let a process have: memory stays bounded.
fn memory(world: &Communicator<'_>) -> Result<(), Error> {
    let domain = Domain::new(world)?;
    let (buffer, away, receives) = (256, 4, 2);
    let settings = Settings::default().buffer(buffer).away(away).receives(receives);
    let mut selector = Selector::new(&domain, Sink { came: 0 }, settings)?;
    // What MPI has for itself is there after the first messages.
    let run = |selector: &mut Selector<'_, Sink>, messages: u64| {
        selector.finish(|scope| (0..messages).try_for_each(|_| scope.send(0, Large([1; 32]))))
    };
    run(&mut selector, 10_000)?;
    let before = peak();
    run(&mut selector, 300_000)?;
    let grown = peak() - before;
    let size = domain.size() as u64;
    let all = 300_000 * size * size_of::<Large>() as u64;
    let bound = (size_of::<Large>() * buffer * (domain.size() + away + 2 * receives)) as u64;
    // What is there already does not count, so that this is generous; MPI's own buffers are in it, for all senders.
    assert!(grown < bound * size + (8 << 20) && grown < all / 4, "{grown} bytes of {all}, {bound}");
    let expected = if domain.rank() == 0 { 310_000 * size } else { 0 };
    assert_eq!(selector.state().came, expected);
    Ok(())
}

mod hidden {
    use rmpi_actors::Settings;
    use rmpi_actors::pmpi_mode::{Actor, Context, Domain, Error, Handler, Selector};

    struct Sum(u64);

    impl Actor for Sum {
        type Mailboxes = (u64,);
        type Error = Error;
    }

    impl Handler<u64> for Sum {
        fn handle(&mut self, number: u64, _: &mut Context<'_, '_, Self>) -> Result<(), Error> {
            self.0 += number;
            Ok(())
        }
    }

    /// Actors that no tool sees.
    pub(crate) fn run() -> Result<(), Error> {
        let context = rmpi::pmpi_mode::init()?;
        let domain = Domain::new(context.world())?;
        let mut selector = Selector::new(&domain, Sum(0), Settings::default().buffer(7))?;
        selector.finish(|scope| (1..=100).try_for_each(|n| scope.send(0, n)))?;
        let expected = if domain.rank() == 0 { 5050 * domain.size() as u64 } else { 0 };
        assert_eq!(selector.state().0, expected);
        if domain.rank() == 0 {
            println!("pmpi: right on {} ranks", domain.size());
        }
        Ok(())
    }
}

fn main() -> Result<(), Error> {
    let check = std::env::args().nth(1).expect("the name of a check");
    if check == "pmpi" {
        hidden::run().unwrap();
        return Ok(());
    }
    let context = rmpi::init()?;
    let world = context.world();
    match check.as_str() {
        "walks" => walks(world)?,
        "once" => {
            let messages = std::env::args().nth(2).map_or(1_000_000, |text| text.parse().unwrap());
            once(world, messages)?;
        }
        "errors" => errors(world)?,
        "memory" => memory(world)?,
        "nested" => nested(world)?,
        "communicators" => communicators(world)?,
        "asked" => asked(world)?,
        "tags" => tags(world)?,
        "panic-asked" => {
            let domain = Domain::new(world)?;
            let last = domain.size() - 1;
            let request = if domain.rank() == 0 { 2_u64 } else { 0 };
            domain.ask(Settings::default(), [(last, request)], |request, _| {
                assert!(request != 2, "no twos here");
                request
            })?;
        }
        "panic" => {
            let domain = Domain::new(world)?;
            let mut selector = Selector::new(&domain, Refusing { seen: 0 }, Settings::default())?;
            let last = domain.size() - 1;
            selector.finish(|scope| scope.send(last, if scope.rank() == 0 { 2_u64 } else { 0 }))?;
        }
        _ => panic!("no check {check}"),
    }
    if world.rank()? == 0 {
        println!("{check}: right on {} ranks", world.size()?);
    }
    Ok(())
}
