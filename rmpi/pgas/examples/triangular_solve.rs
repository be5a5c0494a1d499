//! Triangular solve: a sparse, lower triangular system of equations with ones on its diagonal. In each round, the rows
//! whose columns are all solved tell the rows that have their column, by subtractions from arrays or by active messages
//! (`--form am`), or in plain MPI (`--form plain`). `--table` says how many rows a process has, `--updates` how many entries they have together, about.
//! Numbers are integers that wrap, so that the result is exact.

mod common;

use rmpi::MpiDatatype;
use rmpi_actors::Settings;
use rmpi_pgas::{ActiveMessage, Array, Atomic, Error, Here, Layout, Team};

/// A column of a row is solved, and has this part in the row.
#[derive(Clone, Copy, Default, MpiDatatype)]
struct Solved {
    row: u64,
    part: i64,
}

impl ActiveMessage<(&mut [i64], &mut [i64])> for Solved {
    type Answer = u8;
    #[inline]
    fn run(self, (values, left): &mut (&mut [i64], &mut [i64]), here: Here) -> u8 {
        let row = self.row as usize / here.size;
        values[row] = values[row].wrapping_sub(self.part);
        left[row] -= 1;
        0
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
    let (options, form) =
        common::Options::read_with_form(40_000, 10_000, &["array", "am", "plain"]);
    let context = rmpi::init()?;
    let world = context.world();
    let team = Team::new(world)?;
    team.set_settings(Settings::default().buffer(options.buffer));
    let (rank, size) = (team.rank(), team.size());
    let order = options.table * size;
    let entries = options.updates.div_ceil(options.table) as u64;
    // The right side, less the parts of columns that are solved; in the end the solution.
    let mut values = Array::<i64, Atomic>::from_fn(&team, order, Layout::Cyclic, |row| {
        let parts = row_of(row as u64, entries)
            .map(|(column, factor)| factor.wrapping_mul(solution(column)));
        parts.fold(solution(row as u64), i64::wrapping_add)
    })?;
    // How many columns of each row are not solved.
    let mut left = Array::<i64, Atomic>::from_fn(&team, order, Layout::Cyclic, |row| {
        row_of(row as u64, entries).count() as i64
    })?;
    // Of each column of this process the rows that have it, and its factor there.
    let mut columns = vec![Vec::new(); options.table];
    for row in 0..order {
        for (column, factor) in row_of(row as u64, entries) {
            if column as usize % size == rank {
                columns[column as usize / size].push((row, factor));
            }
        }
    }
    let operations = left.local().iter().sum::<i64>() as u64;

    let began = common::start(world)?;
    let mut is_told = vec![false; options.table];
    loop {
        let (mut rows, mut parts) = (Vec::new(), Vec::new());
        for place in 0..options.table {
            if is_told[place] || left.local()[place] > 0 {
                continue;
            }
            is_told[place] = true;
            for &(row, factor) in &columns[place] {
                rows.push(row);
                parts.push(factor.wrapping_mul(values.local()[place]));
            }
        }
        if form == "array" {
            values.batch_sub(&rows, &parts)?;
            left.batch_sub(&rows, 1)?;
        } else if form == "plain" {
            let told = rows.iter().zip(&parts);
            let told = told.map(|(&row, &part)| (row % size, (row as u64, part)));
            let (told, _) = common::Sorted::new(size, told);
            let (values, left) = (values.local_mut(), left.local_mut());
            for (row, part) in told.exchange(world)?.items {
                let row = row as usize / size;
                values[row] = values[row].wrapping_sub(part);
                left[row] -= 1;
            }
        } else {
            let told = rows.iter().zip(&parts);
            let told = told.map(|(&row, &part)| (row % size, Solved { row: row as u64, part }));
            team.post(&mut (values.local_mut(), left.local_mut()), told)?;
        }
        let waiting = is_told.iter().filter(|is_told| !**is_told).count();
        if common::sum(world, waiting as u64)? == 0 {
            break;
        }
    }

    common::report(world, "triangular_solve", operations, began, || {
        Ok(values.local_iter().all(|(row, &value)| value == solution(row as u64)))
    })?;
    Ok(())
}
