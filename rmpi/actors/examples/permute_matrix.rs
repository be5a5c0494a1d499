//! Permute matrix: the rows and columns of a sparse matrix get other numbers, and each row moves to the process that has
//! its new number. Rows are dealt out to the processes in turn. `--table` says how many rows a process has, `--updates`
//! how many entries they have together.

mod common;

use rmpi::MpiDatatype;
use rmpi_actors::{Actor, Context, Domain, Error, Handler, Selector, Settings};

/// An entry whose row has its new number: for the process that knows the column's.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct OldColumn {
    row: u64,
    column: u64,
}

/// An entry with its new numbers: for the process that has the row.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Entry {
    row: u64,
    column: u64,
}

struct Matrix {
    /// The new numbers of this process's columns.
    columns: Vec<u64>,
    /// The columns of each row of this process.
    rows: Vec<Vec<u64>>,
}

impl Actor for Matrix {
    type Mailboxes = (OldColumn, Entry);
    type Error = Error;
}

impl Handler<OldColumn> for Matrix {
    #[inline]
    fn handle(&mut self, old: OldColumn, context: &mut Context<'_, '_, Self>) -> Result<(), Error> {
        let size = context.size();
        let column = self.columns[old.column as usize / size];
        context.send(old.row as usize % size, Entry { row: old.row, column })
    }
}

impl Handler<Entry> for Matrix {
    #[inline]
    fn handle(&mut self, entry: Entry, context: &mut Context<'_, '_, Self>) -> Result<(), Error> {
        self.rows[entry.row as usize / context.size()].push(entry.column);
        Ok(())
    }
}

pub(crate) fn main() -> Result<(), Error> {
    let options = common::Options::read(100_000, 10_000);
    let context = rmpi::init()?;
    let world = context.world();
    let domain = Domain::new(world)?;
    let (rank, size) = (domain.rank(), domain.size());
    let order = (options.table * size) as u64;
    // Permutations that everybody can compute, so that the result can be checked.
    let (of_rows, of_columns) = (common::Shuffle::new(order, 1), common::Shuffle::new(order, 2));
    let mine = (0..options.table).map(|row| (row * size + rank) as u64);
    let new_rows: Vec<u64> = mine.clone().map(|row| of_rows.at(row)).collect();
    let columns = mine.map(|column| of_columns.at(column)).collect();
    let mut random = common::Random::new(rank);
    let entries: Vec<(usize, u64)> = (0..options.updates)
        .map(|_| (random.below(options.table), random.below(order as usize) as u64))
        .collect();
    let state = Matrix { columns, rows: vec![Vec::new(); options.table] };
    let settings = Settings::default().buffer(options.buffer);
    let mut selector = Selector::new(&domain, state, settings)?;

    let began = common::start(world)?;
    selector.finish(|scope| {
        for &(row, column) in &entries {
            let message = OldColumn { row: new_rows[row], column };
            scope.send(column as usize % size, message)?;
        }
        scope.done::<OldColumn, _>()
    })?;

    common::report(world, "permute_matrix", options.updates as u64, began, || {
        // Each entry is there as often as it should be, or sums of hashes are equal by chance.
        let hash = |row: u64, column: u64| common::mix(row * order + column);
        let expected = entries.iter().map(|&(row, column)| {
            hash(of_rows.at((row * size + rank) as u64), of_columns.at(column))
        });
        let rows = selector.state().rows.iter().enumerate();
        let found = rows.flat_map(|(row, columns)| {
            let row = (row * size + rank) as u64;
            columns.iter().map(move |&column| hash(row, column))
        });
        let sums = [expected.fold(0, u64::wrapping_add), found.fold(0, u64::wrapping_add)];
        Ok(common::sum(world, sums[0])? == common::sum(world, sums[1])?)
    })?;
    Ok(())
}
