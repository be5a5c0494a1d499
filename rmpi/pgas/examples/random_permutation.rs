//! Random permutation, by darts: each process throws its numbers at random places of a distributed target until each
//! has found an empty one. On an array, by compare-exchanges that try another place when they fail; by active messages
//! (`--form am`), a dart that misses flies on from where it missed; in plain MPI (`--form plain`), in rounds, in which all
//! darts travel at once, and then those that missed. What stuck, in order, is the permutation.

mod common;

use rmpi::{MpiDatatype, MpiOp};
use rmpi_actors::Settings;
use rmpi_pgas::{Array, Atomic, Error, Here, Layout, Relay, Team};

const EMPTY: u64 = u64::MAX;

/// A process's part of the target, and where it throws darts next.
struct Board<'a> {
    target: &'a mut [u64],
    random: &'a mut common::Random,
}

/// Throws a number at a place of a process's part of the target.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Dart {
    place: u64,
    number: u64,
}

impl Dart {
    /// At a random place of all.
    #[inline]
    fn thrown(
        number: u64,
        random: &mut common::Random,
        length: usize,
        size: usize,
    ) -> (usize, Self) {
        let place = random.below(size * length);
        (place / length, Self { place: (place % length) as u64, number })
    }
}

impl Relay<Board<'_>> for Dart {
    #[inline]
    fn run(self, board: &mut Board<'_>, here: Here) -> Option<(usize, Self)> {
        let place = &mut board.target[self.place as usize];
        if *place == EMPTY {
            *place = self.number;
            return None;
        }
        Some(Self::thrown(self.number, board.random, board.target.len(), here.size))
    }
}

pub(crate) fn main() -> Result<(), Error> {
    let (options, form) = common::Options::read_with_form(0, 100_000, &["array", "am", "plain"]);
    let mine = if options.updates == 0 { options.table } else { options.updates };
    let context = rmpi::init()?;
    let world = context.world();
    let team = Team::new(world)?;
    team.set_settings(Settings::default().buffer(options.buffer));
    let (rank, size) = (team.rank(), team.size());
    let mut target =
        Array::<u64, Atomic>::from_fn(&team, 2 * mine * size, Layout::Block, |_| EMPTY)?;
    let mut random = common::Random::new(rank);
    let numbers = (rank * mine) as u64..((rank + 1) * mine) as u64;
    // Where they are thrown first: memory of this process, which it has before the time begins.
    let mut places = vec![1; mine];
    // And what MPI makes for the first messages, as with the mailboxes of the C program.
    target.batch_compare_exchange_retry(&[], EMPTY, 0, |_, _| None)?;
    team.relay(
        &mut Board { target: target.local_mut(), random: &mut random },
        core::iter::empty::<(usize, Dart)>(),
    )?;

    let began = common::start(world)?;
    if form == "array" {
        let length = target.len();
        places.fill_with(|| random.below(length));
        let again = |_position, _taken_by| Some(random.below(length));
        target.batch_compare_exchange_retry(&places, EMPTY, numbers, again)?;
    } else if form == "plain" {
        let length = 2 * mine;
        let mut numbers: Vec<u64> = numbers.collect();
        while common::sum(world, numbers.len() as u64)? > 0 {
            let thrown: Vec<(usize, (u64, u64))> = numbers
                .iter()
                .map(|&number| (random.below(size * length), number))
                .map(|(at, number)| (at / length, (number, (at % length) as u64)))
                .collect();
            let (darts, _) = common::Sorted::new(size, thrown.into_iter());
            let came = darts.exchange(world)?;
            let (local, mut came_in_order) = (target.local_mut(), came.items.into_iter());
            let mut missed = common::Sorted { items: Vec::new(), lengths: Vec::new() };
            for length in came.lengths {
                let before = missed.items.len();
                for (number, place) in came_in_order.by_ref().take(length) {
                    match &mut local[place as usize] {
                        place if *place == EMPTY => *place = number,
                        _ => missed.items.push(number),
                    }
                }
                missed.lengths.push(missed.items.len() - before);
            }
            numbers = missed.exchange(world)?.items;
        }
    } else {
        let length = 2 * mine;
        let mut thrower = common::Random::new(rank + size);
        let darts = numbers.map(|number| Dart::thrown(number, &mut thrower, length, size));
        team.relay(&mut Board { target: target.local_mut(), random: &mut random }, darts)?;
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
