//! Random permutation, by darts: each process throws its numbers at random places of a distributed target until each
//! has found an empty one, by compare-exchange on an array or by active messages (`--form am`). What stuck, in order,
//! is the permutation.

mod common;

use rmpi::{MpiDatatype, MpiOp};
use rmpi_actors::Settings;
use rmpi_pgas::{ActiveMessage, Array, Atomic, Error, Here, Layout, Team};

const EMPTY: u64 = u64::MAX;

/// Throws a number at a place of a process's part of the target; 1 if it stuck.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Dart {
    place: u64,
    number: u64,
}

impl ActiveMessage<[u64]> for Dart {
    type Answer = u64;
    #[inline]
    fn run(self, target: &mut [u64], _: Here) -> u64 {
        let place = &mut target[self.place as usize];
        let is_empty = *place == EMPTY;
        if is_empty {
            *place = self.number;
        }
        u64::from(is_empty)
    }
}

pub(crate) fn main() -> Result<(), Error> {
    let (options, form) = common::Options::read_with_form(0, 100_000, &["array", "am"]);
    let mine = if options.updates == 0 { options.table } else { options.updates };
    let context = rmpi::init()?;
    let world = context.world();
    let team = Team::new(world)?;
    team.set_settings(Settings::default().buffer(options.buffer));
    let (rank, size) = (team.rank(), team.size());
    let mut target =
        Array::<u64, Atomic>::from_fn(&team, 2 * mine * size, Layout::Block, |_| EMPTY)?;
    let mut random = common::Random::new(rank);
    let mut numbers: Vec<u64> = (rank * mine..(rank + 1) * mine).map(|n| n as u64).collect();

    let began = common::start(world)?;
    while common::sum(world, numbers.len() as u64)? > 0 {
        let stuck: Vec<bool> = if form == "array" {
            let places: Vec<usize> = numbers.iter().map(|_| random.below(target.len())).collect();
            let thrown = target.batch_compare_exchange(&places, EMPTY, &numbers)?;
            thrown.iter().map(Result::is_ok).collect()
        } else {
            let length = target.len() / size;
            let darts: Vec<_> = numbers
                .iter()
                .map(|&number| (random.below(size * length), number))
                .map(|(at, number)| (at / length, Dart { place: (at % length) as u64, number }))
                .collect();
            team.execute(target.local_mut(), &darts)?.iter().map(|&stuck| stuck == 1).collect()
        };
        let mut stuck = stuck.into_iter();
        numbers.retain(|_| !stuck.next().unwrap_or(false));
    }
    let permutation: Vec<u64> =
        target.local().iter().copied().filter(|&number| number != EMPTY).collect();

    common::report(world, "random_permutation", mine as u64, began, || {
        // Each number is there once.
        let mut times = vec![0_u64; size * mine];
        permutation.iter().for_each(|&number| times[number as usize] += 1);
        world.allreduce_in_place(&mut times[..], MpiOp::SUM)?;
        Ok(times.iter().all(|&times| times == 1))
    })?;
    Ok(())
}
