//! Permute matrix: the rows and columns of a sparse matrix get other numbers, by loads and stores of arrays or by active
//! messages (`--form am`), or in plain MPI (`--form plain`). `--table` says how many rows a process has, `--updates` how many entries they have together.

mod common;

use rmpi::MpiDatatype;
use rmpi_actors::Settings;
use rmpi_pgas::{ActiveMessage, Array, Atomic, Error, Here, Layout, ReadOnly, Team};

/// Asks for a column's new number; the state is the part of them that a process has.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct NewColumn(u64);

impl ActiveMessage<&[u64]> for NewColumn {
    type Answer = u64;
    #[inline]
    fn run(self, columns: &mut &[u64], here: Here) -> u64 {
        columns[self.0 as usize / here.size]
    }
}

/// An entry for a row of a process.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Entry {
    row: u64,
    column: u64,
}

impl ActiveMessage<Vec<Entry>> for Entry {
    type Answer = u8;
    #[inline]
    fn run(self, entries: &mut Vec<Entry>, _: Here) -> u8 {
        entries.push(self);
        0
    }
}

pub(crate) fn main() -> Result<(), Error> {
    let (options, form) =
        common::Options::read_with_form(100_000, 10_000, &["array", "am", "plain"]);
    let context = rmpi::init()?;
    let world = context.world();
    let team = Team::new(world)?;
    team.set_settings(Settings::default().buffer(options.buffer));
    let (rank, size) = (team.rank(), team.size());
    let order = options.table * size;
    let degree = options.updates.div_ceil(options.table);
    // Permutations that everybody can compute, so that the result can be checked.
    let of_rows = common::Shuffle::new(order as u64, 1);
    let of_columns = common::Shuffle::new(order as u64, 2);
    let new_columns = Array::<u64, ReadOnly>::from_fn(&team, order, Layout::Cyclic, |column| {
        of_columns.at(column as u64)
    })?;
    let mut random = common::Random::new(rank);
    let rows: Vec<usize> = (0..options.table * degree)
        .map(|entry| entry / degree * size + rank)
        .map(|row| of_rows.at(row as u64) as usize)
        .collect();
    let columns: Vec<usize> = rows.iter().map(|_| random.below(order)).collect();
    let mut next = Array::<u64, Atomic>::new(&team, order, Layout::Cyclic)?;
    let mut matrix = Array::<u64, Atomic>::new(&team, order * degree, Layout::Block)?;

    let began = common::start(world)?;
    let mut entries = Vec::new();
    if form == "array" {
        let columns = new_columns.batch_load(&columns)?;
        let slots = next.batch_fetch_add(&rows, 1)?;
        let places = rows.iter().zip(slots).map(|(row, slot)| row * degree + slot as usize);
        matrix.batch_store(&places.collect::<Vec<_>>(), &columns)?;
        let found = matrix.local_iter().map(|(place, &column)| (place / degree, column));
        entries.extend(found.map(|(row, column)| Entry { row: row as u64, column }));
    } else if form == "plain" {
        // All requests, all replies, and all entries, each at once.
        let requests = columns.iter().map(|&column| (column % size, column as u64));
        let (requests, places) = common::Sorted::new(size, requests);
        let came = requests.exchange(world)?;
        let local = new_columns.local();
        let items = came.items.iter().map(|&column| local[column as usize / size]).collect();
        let replies = common::Sorted { items, lengths: came.lengths }.exchange(world)?;
        let moved = rows.iter().zip(&places);
        let moved = moved.map(|(&row, &place)| (row % size, (row as u64, replies.items[place])));
        let (moved, _) = common::Sorted::new(size, moved);
        let came = moved.exchange(world)?.items.into_iter();
        entries.extend(came.map(|(row, column)| Entry { row, column }));
    } else {
        let asked: Vec<_> =
            columns.iter().map(|&column| (column % size, NewColumn(column as u64))).collect();
        let columns = team.execute(&mut new_columns.local(), asked.iter().copied())?;
        let moved = rows.iter().zip(columns);
        let moved = moved.map(|(&row, column)| (row % size, Entry { row: row as u64, column }));
        team.post(&mut entries, moved)?;
    }

    common::report(world, "permute_matrix", rows.len() as u64, began, || {
        // Each entry is there as often as it should be, or sums of hashes are equal by chance.
        let hash = |row: u64, column: u64| common::mix(row * order as u64 + column);
        let expected = rows.iter().zip(&columns);
        let expected =
            expected.map(|(&row, &column)| hash(row as u64, of_columns.at(column as u64)));
        let found = entries.iter().map(|entry| hash(entry.row, entry.column));
        let sums = [expected.fold(0, u64::wrapping_add), found.fold(0, u64::wrapping_add)];
        Ok(common::sum(world, sums[0])? == common::sum(world, sums[1])?)
    })?;
    Ok(())
}
