//! Random permutation, by darts: each process throws its numbers at random places of a target that all processes
//! share, again and again until each has found an empty place. What stuck, in order, is the permutation.

mod common;

use rmpi::{MpiDatatype, MpiOp};
use rmpi_actors::{Actor, Context, Domain, Error, Handler, Selector, Settings};

/// Throws a number at a place of this process's part of the target.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Dart {
    number: u64,
    place: u64,
}

/// The place was taken: throw the number again.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Missed(u64);

const EMPTY: u64 = u64::MAX;

struct Board {
    target: Vec<u64>,
    random: common::Random,
}

impl Board {
    /// A dart at a random place of all.
    #[inline]
    fn throw(&mut self, number: u64, size: usize) -> (usize, Dart) {
        let place = self.random.below(self.target.len() * size);
        let length = self.target.len();
        (place / length, Dart { number, place: (place % length) as u64 })
    }
}

impl Actor for Board {
    type Mailboxes = (Dart, Missed);
    type Error = Error;
}

impl Handler<Dart> for Board {
    #[inline]
    fn handle(&mut self, dart: Dart, context: &mut Context<'_, '_, Self>) -> Result<(), Error> {
        let place = &mut self.target[dart.place as usize];
        if *place == EMPTY {
            *place = dart.number;
            return Ok(());
        }
        context.send(context.sender(), Missed(dart.number))
    }
}

impl Handler<Missed> for Board {
    #[inline]
    fn handle(&mut self, missed: Missed, context: &mut Context<'_, '_, Self>) -> Result<(), Error> {
        let (process, dart) = self.throw(missed.0, context.size());
        context.send(process, dart)
    }
}

pub(crate) fn main() -> Result<(), Error> {
    // The numbers are those of the table: bale throws at a target of twice as many places.
    let options = common::Options::read(0, 100_000);
    let numbers = if options.updates == 0 { options.table } else { options.updates };
    let context = rmpi::init()?;
    let world = context.world();
    let domain = Domain::new(world)?;
    let (rank, size) = (domain.rank(), domain.size());
    let state = Board { target: vec![EMPTY; 2 * numbers], random: common::Random::new(rank) };
    let settings = Settings::default().buffer(options.buffer);
    let mut selector = Selector::new(&domain, state, settings)?;

    let began = common::start(world)?;
    selector.finish(|scope| {
        let size = scope.size();
        for number in rank * numbers..(rank + 1) * numbers {
            let (process, dart) = scope.state_mut().throw(number as u64, size);
            scope.send(process, dart)?;
        }
        Ok(())
    })?;
    let permutation: Vec<u64> =
        selector.state().target.iter().copied().filter(|&number| number != EMPTY).collect();

    common::report(world, "random_permutation", numbers as u64, began, || {
        // Each number is there once.
        let mut times = vec![0_u64; size * numbers];
        permutation.iter().for_each(|&number| times[number as usize] += 1);
        world.allreduce_in_place(&mut times[..], MpiOp::SUM)?;
        Ok(times.iter().all(|&times| times == 1))
    })?;
    Ok(())
}
