//! Triangular solve: a sparse, lower triangular system of equations with ones on its diagonal, as data flow. A row is
//! solved when all columns of it are, and then tells the rows that have its column. Rows are dealt out to the processes
//! in turn. `--table` says how many rows a process has, `--updates` how many entries they have together, about.
//! Numbers are integers that wrap, so that the result is exact.

mod common;

use rmpi::MpiDatatype;
use rmpi_actors::{Actor, Context, Domain, Error, Handler, Selector, Settings};

/// A column of a row is solved, and has this part in the row.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Solved {
    row: u64,
    part: i64,
}

struct System {
    /// The right side, less the parts of columns that are solved; in the end the solution.
    values: Vec<i64>,
    /// How many columns of each row are not solved.
    left: Vec<u32>,
    /// Of each column of this process the rows that have it, and its factor there.
    columns: Vec<Vec<(u64, i64)>>,
}

impl System {
    /// Tells the rows that have a solved column.
    #[inline]
    fn tell(
        &self,
        column: usize,
        mut send: impl FnMut(u64, Solved) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let value = self.values[column];
        for &(row, factor) in &self.columns[column] {
            send(row, Solved { row, part: factor.wrapping_mul(value) })?;
        }
        Ok(())
    }
}

impl Actor for System {
    type Mailboxes = (Solved,);
    type Error = Error;
}

impl Handler<Solved> for System {
    #[inline]
    fn handle(&mut self, solved: Solved, context: &mut Context<'_, '_, Self>) -> Result<(), Error> {
        let size = context.size();
        let row = solved.row as usize / size;
        self.values[row] = self.values[row].wrapping_sub(solved.part);
        self.left[row] -= 1;
        if self.left[row] > 0 {
            return Ok(());
        }
        self.tell(row, |row, solved| context.send(row as usize % size, solved))
    }
}

/// The columns of a row, and its factors: everybody can compute them.
fn row_of(row: u64, entries: u64) -> impl Iterator<Item = (u64, i64)> {
    let mut columns: Vec<u64> =
        (0..entries.min(row)).map(|n| common::mix(row * entries + n) % row).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
        .into_iter()
        .map(move |column| (column, (common::mix(row ^ column << 20) % 9) as i64 - 4))
}

/// The solution.
fn solution(row: u64) -> i64 {
    common::mix(row) as i64
}

pub(crate) fn main() -> Result<(), Error> {
    let options = common::Options::read(40_000, 10_000);
    let context = rmpi::init()?;
    let world = context.world();
    let domain = Domain::new(world)?;
    let (rank, size) = (domain.rank(), domain.size());
    let entries = options.updates.div_ceil(options.table) as u64;
    let mut state = System {
        values: vec![0; options.table],
        left: vec![0; options.table],
        columns: vec![Vec::new(); options.table],
    };
    for row in 0..(options.table * size) as u64 {
        for (column, factor) in row_of(row, entries) {
            if column as usize % size == rank {
                state.columns[column as usize / size].push((row, factor));
            }
        }
    }
    let mut operations = 0;
    for place in 0..options.table {
        let row = (place * size + rank) as u64;
        state.values[place] = solution(row);
        for (column, factor) in row_of(row, entries) {
            let part = factor.wrapping_mul(solution(column));
            state.values[place] = state.values[place].wrapping_add(part);
            state.left[place] += 1;
            operations += 1;
        }
    }
    let settings = Settings::default().buffer(options.buffer);
    let mut selector = Selector::new(&domain, state, settings)?;

    let began = common::start(world)?;
    selector.finish(|scope| {
        // Rows without columns begin. While others are told, handlers may solve more rows, which tell themselves.
        let free: Vec<usize> =
            (0..options.table).filter(|&row| scope.state().left[row] == 0).collect();
        for column in free {
            let mut solved = Vec::new();
            scope.state().tell(column, |row, message| {
                solved.push((row, message));
                Ok(())
            })?;
            for (row, message) in solved {
                scope.send(row as usize % size, message)?;
            }
        }
        Ok(())
    })?;

    common::report(world, "triangular_solve", operations, began, || {
        let values = selector.state().values.iter().enumerate();
        Ok(values.into_iter().all(|(row, &value)| value == solution((row * size + rank) as u64)))
    })?;
    Ok(())
}
