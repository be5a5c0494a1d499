//! What arrays, active messages and distributed values promise, on as many processes as there are.

use rmpi::MpiDatatype;
use rmpi_actors::Settings;
use rmpi_pgas::{
    ActiveMessage, Array, Atomic, Darc, DarcId, Error, Here, Layout, LocalLock, ReadOnly, Team,
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
    let answers = array.execute(&to_all)?;
    for (to, [sum, at]) in answers.into_iter().enumerate() {
        assert_eq!(at, to as i64);
        // Others may have been before, each as a whole.
        assert!(sum % 10 == 0 && (0..10 * size as i64).contains(&sum));
    }
    assert!(array.local().iter().all(|&element| element == size as i64));
    // One process asks for what is not there: nobody sends anything.
    let wrong = if rank == 0 { vec![(0, Raise(1)), (size, Raise(1))] } else { vec![(0, Raise(1))] };
    assert!(array.execute(&wrong).is_err());
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
    let answers = team.execute(&mut &*team, &to_all)?;
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
        }
    }
    messages(&team)?;
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
