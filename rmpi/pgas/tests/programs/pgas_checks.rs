//! What arrays, active messages and distributed values promise, on as many processes as there are.

use rmpi::MpiDatatype;
use rmpi_actors::Settings;
use rmpi_pgas::{
    ActiveMessage, Array, Atomic, Darc, DarcId, Error, Here, Layout, LocalLock, ReadOnly, Relay,
    Team,
};

const LENGTH: usize = 101;

/// The elements of all processes, by index.
fn all(array: &Array<'_, i64, Atomic>) -> Vec<i64> {
    array.get(0..array.len()).unwrap()
}

/// Each operation, beside the same on a vector by this process for all.
fn elements(team: &Team<'_>, layout: Layout) -> Result<(), Error> {
    let (rank, size) = (team.rank(), team.size());
    let start = |index: usize| index as i64 * 37 % 1009;
    let mut array = Array::<i64, Atomic>::from_fn(team, LENGTH, layout, start)?;
    let mut expected: Vec<i64> = (0..LENGTH).map(start).collect();
    assert_eq!(all(&array), expected);
    // The indices and operands of each process; operations commute.
    let indices = |of: usize| -> Vec<usize> { (0..300).map(|n| n * (of + 3) % LENGTH).collect() };
    let operands = |of: usize| -> Vec<i64> { (0..300).map(|n| n * 7 + of as i64).collect() };
    macro_rules! operation {
        ($batch:ident, |$old:ident, $operand:ident| $value:expr) => {
            array.$batch(&indices(rank), &operands(rank))?;
            for of in 0..size {
                for (index, $operand) in indices(of).into_iter().zip(operands(of)) {
                    let $old = expected[index];
                    expected[index] = $value;
                }
            }
            assert_eq!(all(&array), expected, stringify!($batch));
            // At places that were found before.
            let places = array.places(&indices(rank))?;
            array.$batch(&places, &operands(rank))?;
            for of in 0..size {
                for (index, $operand) in indices(of).into_iter().zip(operands(of)) {
                    let $old = expected[index];
                    expected[index] = $value;
                }
            }
            assert_eq!(all(&array), expected, stringify!($batch));
            let loaded: Vec<_> = indices(rank).iter().map(|&index| expected[index]).collect();
            assert_eq!(array.batch_load(&places)?, loaded);
            // One operand for all indices, another on each process.
            array.$batch(&indices(rank), rank as i64 + 5)?;
            for of in 0..size {
                for index in indices(of) {
                    let ($old, $operand) = (expected[index], of as i64 + 5);
                    expected[index] = $value;
                }
            }
            assert_eq!(all(&array), expected, stringify!($batch));
        };
    }
    operation!(batch_add, |old, operand| old.wrapping_add(operand));
    operation!(batch_sub, |old, operand| old.wrapping_sub(operand));
    operation!(batch_bit_xor, |old, operand| old ^ operand);
    operation!(batch_min, |old, operand| old.min(operand));
    operation!(batch_max, |old, operand| old.max(operand));
    operation!(batch_mul, |old, operand| old.wrapping_mul(operand));
    operation!(batch_bit_or, |old, operand| old | operand);
    operation!(batch_bit_and, |old, operand| old & operand);
    // Fetching: each process gets another number of each element.
    array.local_mut().fill(0);
    team.barrier()?;
    let every: Vec<usize> = (0..LENGTH).collect();
    let fetched = array.batch_fetch_add(&every, 1)?;
    assert!(fetched.iter().all(|&number| (0..size as i64).contains(&number)));
    assert_eq!(array.sum()?, (LENGTH * size) as i64);
    let mine: i64 = fetched.iter().sum();
    let sums = Array::<i64, ReadOnly>::from_fn(team, size, Layout::Cyclic, |_| mine)?;
    assert_eq!(sums.sum()?, (LENGTH * size * (size - 1) / 2) as i64);
    // One process wins each exchange.
    let size_now = size as i64;
    let won = array.batch_compare_exchange(&every, size_now, -1 - rank as i64)?;
    let winners = all(&array);
    for (index, won) in won.iter().enumerate() {
        assert_eq!(won.is_ok(), winners[index] == -1 - rank as i64);
        assert_eq!(
            won.unwrap_or_else(|other| other),
            if won.is_ok() { size_now } else { winners[index] }
        );
    }
    // A range is a list of operands.
    array.batch_store(&every, 7..7 + LENGTH as i64)?;
    assert_eq!(all(&array), (7..7 + LENGTH as i64).collect::<Vec<_>>());
    assert!(matches!(array.batch_store(&every, 0..2), Err(Error::Lengths { .. })));
    // Swapped values come back once.
    array.batch_store(&[rank], 1000 + rank as i64)?;
    let swapped = array.batch_swap(&[(rank + 1) % size], -7)?;
    assert_eq!(swapped, [1000 + ((rank + 1) % size) as i64]);
    // Ranges: each process writes its own.
    let length = LENGTH / size;
    array.put(rank * length, &vec![rank as i64; length])?;
    let written = all(&array);
    assert!((0..size * length).all(|index| written[index] == (index / length) as i64));
    // A part of it.
    let mut part = array.sub_array_mut(10..20)?;
    assert_eq!(part.len(), 10);
    part.batch(rmpi_pgas::operations::Store, &[rank % 10], 77)?;
    assert_eq!(part.batch_load(&[rank % 10])?, [77]);
    assert_eq!(
        part.batch_load(&[10]),
        Err(Error::NoSuchElement { index: 10, length: 10 }),
        "a range ends"
    );
    assert_eq!(array.batch_load(&[10 + rank % 10])?, [77]);
    assert!(array.sub_array(0..LENGTH + 1).is_err());
    Ok(())
}

fn reductions(team: &Team<'_>, layout: Layout) -> Result<(), Error> {
    let array = Array::<i64, ReadOnly>::from_fn(team, LENGTH, layout, |index| index as i64 - 50)?;
    assert_eq!(array.sum()?, 0);
    assert_eq!((array.min()?, array.max()?), (Some(-50), Some(50)));
    assert_eq!(array.product()?, 0);
    let empty = Array::<i64, ReadOnly>::new(team, 0, layout)?;
    assert_eq!((empty.sum()?, empty.product()?, empty.min()?), (0, 1, None));
    assert_eq!(array.dist_iter().filter(|element| element % 2 == 0).count()?, 51);
    assert_eq!(array.dist_iter().skip(90).take(93).map(|element| element * 2).sum()?, 246);
    let steps = array.dist_iter().step_by(25).enumerate().map(|(index, _)| index as u64);
    assert_eq!(steps.collect()?, [0, 25, 50, 75, 100]);
    let mut array = array.into_atomic()?;
    array.dist_iter_mut().enumerate().for_each(|(index, element)| *element = index as i64)?;
    assert!(array.local_iter().all(|(index, element)| index as i64 == *element));
    assert_eq!(array.sum()?, (LENGTH * (LENGTH - 1) / 2) as i64);
    assert_eq!(array.dist_iter().collect()?, (0..LENGTH as i64).collect::<Vec<_>>());
    Ok(())
}

/// Adds to a whole part, and says how it was.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Raise(i64);

impl ActiveMessage<[i64]> for Raise {
    type Answer = [i64; 2];
    fn run(self, part: &mut [i64], here: Here) -> [i64; 2] {
        let sum = part.iter().sum();
        part.iter_mut().for_each(|element| *element += self.0);
        [sum, here.rank as i64]
    }
}

fn messages(team: &Team<'_>) -> Result<(), Error> {
    let (rank, size) = (team.rank(), team.size());
    let mut array = Array::<i64, LocalLock>::new(team, 10 * size, Layout::Block)?;
    let to_all: Vec<_> = (0..size).map(|to| (to, Raise(1))).collect();
    let answers = array.execute(to_all)?;
    for (to, [sum, at]) in answers.into_iter().enumerate() {
        assert_eq!(at, to as i64);
        // Others may have been before, each as a whole.
        assert!(sum % 10 == 0 && (0..10 * size as i64).contains(&sum));
    }
    assert!(array.local().iter().all(|&element| element == size as i64));
    // One process asks for what is not there: nobody sends anything.
    let wrong = if rank == 0 { vec![(0, Raise(1)), (size, Raise(1))] } else { vec![(0, Raise(1))] };
    assert!(array.execute(wrong).is_err());
    assert_eq!(array.sum()?, (10 * size * size) as i64);
    Ok(())
}

/// Counts in the receiver's value of a name.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct CountIn(DarcId);

impl ActiveMessage<&Team<'_>> for CountIn {
    type Answer = u64;
    fn run(self, team: &mut &Team<'_>, _: Here) -> u64 {
        let Ok(counter) = team.find_darc::<std::cell::Cell<u64>>(self.0) else { return u64::MAX };
        counter.set(counter.get() + 1);
        counter.get()
    }
}

fn darcs(team: &Team<'_>) -> Result<(), Error> {
    let (rank, size) = (team.rank(), team.size());
    let counter: Darc<std::cell::Cell<u64>> = team.darc(std::cell::Cell::new(0))?;
    let id = counter.id();
    let to_all: Vec<_> = (0..size).map(|to| (to, CountIn(id))).collect();
    let answers = team.execute(&mut &*team, to_all)?;
    assert!(answers.iter().all(|answer| (1..=size as u64).contains(answer)));
    assert_eq!(counter.get(), size as u64);
    assert!(team.find_darc::<u8>(id).is_err(), "another type");
    let copy = counter.clone();
    assert_eq!(counter.local_count(), 2);
    drop(counter);
    // The last process still has one: none of the values goes.
    let kept = (rank == size - 1).then_some(copy);
    assert_eq!(team.collect()?, 0);
    assert!(team.find_darc::<std::cell::Cell<u64>>(id).is_ok());
    drop(kept);
    assert_eq!(team.collect()?, 1);
    assert_eq!(team.find_darc::<std::cell::Cell<u64>>(id).unwrap_err(), Error::NoSuchDarc(0));
    Ok(())
}

/// Each process takes places, the next one if a place is taken; all find one, as there are enough.
fn retries(team: &Team<'_>, layout: Layout) -> Result<(), Error> {
    let (rank, size) = (team.rank(), team.size());
    let length = 20 * size;
    let mut array = Array::<i64, Atomic>::from_fn(team, length, layout, |_| -1)?;
    let wanted: Vec<usize> = (0..20).map(|n| n * 7 % length).collect();
    let names: Vec<i64> = (0..20).map(|n| 100 * rank as i64 + n).collect();
    let mut at = wanted.clone();
    let next = |position: usize, taken_by: i64| {
        assert!(taken_by >= 0);
        at[position] = (at[position] + 1) % length;
        Some(at[position])
    };
    assert_eq!(array.batch_compare_exchange_retry(&wanted, -1, &names, next)?, []);
    let all = array.get(0..length)?;
    at.iter().zip(&names).for_each(|(&at, &name)| assert_eq!(all[at], name));
    let mut sorted = all.clone();
    sorted.sort_unstable();
    let everybody = (0..size as i64).flat_map(|of| (0..20).map(move |n| 100 * of + n));
    assert_eq!(sorted, everybody.collect::<Vec<_>>());
    // No place is left: those that do not try again are told of, with what they found.
    let mut tries = 0;
    let once = |position: usize, _| {
        tries += u32::from(position == 0);
        (position == 0 && tries == 1).then_some(1)
    };
    let mut left = array.batch_compare_exchange_retry(&[0, 1], -1, 7, once)?;
    left.sort_unstable();
    assert_eq!(left, [(0, all[1]), (1, all[1])]);
    let nowhere = |_, _| (rank == 0).then_some(length);
    let wrong = array.batch_compare_exchange_retry(&[0], -1, 7, nowhere);
    let expected = match rank {
        0 => Error::NoSuchElement { index: length, length },
        _ => Error::Actors(rmpi_actors::Error::Elsewhere { processes: 1 }),
    };
    assert_eq!(wrong, Err(expected));
    assert_eq!(array.get(0..length)?, all);
    Ok(())
}

/// Goes around a few times, and counts where it was.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Around {
    left: u64,
    start: u64,
}

impl Relay<Vec<u64>> for Around {
    fn run(self, visits: &mut Vec<u64>, here: Here) -> Option<(usize, Self)> {
        visits[self.start as usize] += 1;
        let next = (here.rank + 1) % here.size;
        (self.left > 0).then(|| (next, Self { left: self.left - 1, ..self }))
    }
}

fn relays(team: &Team<'_>) -> Result<(), Error> {
    let (rank, size) = (team.rank(), team.size());
    let mut visits = vec![0; size];
    let mine = (0..100).map(|_| (rank, Around { left: 3 * size as u64 - 1, start: rank as u64 }));
    team.relay(&mut visits, mine)?;
    // Each was three times on each process.
    assert_eq!(visits, vec![300; size]);
    let wrong = team.relay(&mut visits, [(size, Around::default())]);
    assert!(matches!(wrong, Err(Error::Actors(rmpi_actors::Error::NoSuchProcess { .. }))));
    Ok(())
}

/// Each process writes to elements of its own, wherever they are, and reads others'.
fn unguarded(team: &Team<'_>, layout: Layout) -> Result<(), Error> {
    let (rank, size) = (team.rank(), team.size());
    let start = |index: usize| index as i64;
    let array = Array::<i64, ReadOnly>::from_fn(team, LENGTH, layout, start)?;
    let mut array = array.into_unsafe()?;
    assert_eq!(array.len(), LENGTH);
    // SAFETY: `get` requires that nobody writes to the elements meanwhile: all only read, until the barrier.
    let read = unsafe { array.get(0..LENGTH) }?;
    assert_eq!(read, (0..LENGTH).map(start).collect::<Vec<_>>());
    for (first, end) in [(0, 0), (5, 4), (3, 4), (7, 31), (LENGTH - 1, LENGTH)] {
        // SAFETY: as above.
        let some = unsafe { array.get(first..end) }?;
        assert_eq!(some, (first..end).map(start).collect::<Vec<_>>());
    }
    // SAFETY: as above; there is no such element.
    let error = unsafe { array.get(0..LENGTH + 1) }.unwrap_err();
    assert_eq!(error, Error::NoSuchElement { index: LENGTH, length: LENGTH });
    team.barrier()?;
    let each = LENGTH / size;
    // SAFETY: `put` requires that nobody else accesses the elements meanwhile: those of each process are its own,
    // and nobody reads before the barrier.
    unsafe { array.put(rank * each, &vec![-(rank as i64); each]) }?;
    team.barrier()?;
    let mine: Vec<i64> = array.with_local(|local| local.to_vec())?;
    let mut array = array.into_atomic()?;
    assert_eq!(array.local(), mine);
    let expected: Vec<i64> = (0..LENGTH)
        .map(|at| if at < each * size { -((at / each) as i64) } else { at as i64 })
        .collect();
    assert_eq!(all(&array), expected);
    array.batch_add(&[0], 1)?;
    let array = array.into_unsafe()?.into_local_lock()?;
    assert_eq!(array.sum()?, expected.iter().sum::<i64>() + size as i64);
    Ok(())
}

fn errors(team: &Team<'_>) -> Result<(), Error> {
    let (rank, size) = (team.rank(), team.size());
    let mut array = Array::<i64, Atomic>::new(team, LENGTH, Layout::Block)?;
    // One process has a wrong index: all return an error, and nothing was changed.
    let indices = if rank == size - 1 { [3, LENGTH] } else { [3, 4] };
    let error = array.batch_add(&indices, 1).unwrap_err();
    if rank == size - 1 {
        assert_eq!(error, Error::NoSuchElement { index: LENGTH, length: LENGTH });
    } else {
        assert_eq!(error, Error::Actors(rmpi_actors::Error::Elsewhere { processes: 1 }));
    }
    assert!(matches!(array.batch_add(&[1, 2], &[1]), Err(Error::Lengths { .. })));
    assert!(array.places(&indices).is_err());
    // One process has places of another array, where there is no such element in this one.
    let longer = Array::<i64, Atomic>::new(team, 3 * LENGTH, Layout::Block)?;
    let (of_longer, of_this) = (longer.places(&[3 * LENGTH - 1])?, array.places(&[3])?);
    let places = if rank == 0 { &of_longer } else { &of_this };
    let error = array.batch_add(places, 1).unwrap_err();
    if rank == 0 {
        assert_eq!(error, Error::OtherArray);
    } else {
        assert_eq!(error, Error::Actors(rmpi_actors::Error::Elsewhere { processes: 1 }));
    }
    let cyclic = Array::<i64, Atomic>::new(team, LENGTH, Layout::Cyclic)?;
    assert_eq!(array.batch_load(&cyclic.places(&[3])?), Err(Error::OtherArray));
    assert_eq!(array.sum()?, 0);
    if size > 1 {
        let differs = Array::<i64, Atomic>::new(team, LENGTH + rank, Layout::Block);
        assert!(matches!(differs, Err(Error::Differs(_))));
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    let context = rmpi::init()?;
    let world = context.world();
    let team = Team::new(world)?;
    for settings in [Settings::default(), Settings::default().buffer(2).away(1).receives(1)] {
        team.set_settings(settings);
        for layout in [Layout::Block, Layout::Cyclic] {
            elements(&team, layout)?;
            reductions(&team, layout)?;
            retries(&team, layout)?;
            unguarded(&team, layout)?;
        }
    }
    messages(&team)?;
    relays(&team)?;
    darcs(&team)?;
    errors(&team)?;
    // Teams of a team.
    if let Some(half) = team.split(Some(team.rank() as u32 % 2), 0)? {
        elements(&half, Layout::Cyclic)?;
        messages(&half)?;
    }
    if team.rank() == 0 {
        println!("pgas: right on {} ranks", team.size());
    }
    Ok(())
}
