//! Heat in a plate that is hot at its upper edge. Each process has a part of the plate, and exchanges its outer rows and
//! columns with four neighbours: all eight at once, columns too, without a copy. A program begins what it needs and lets
//! the scope wait, without a warning.

#![deny(warnings)]

use rmpi::{MpiOp, RmpiResult, Section, Sections, Tag};

/// Cells of a process on each side.
const CELLS: usize = 6;
/// Of a row, with the neighbours' cells at both ends.
const ROW: usize = CELLS + 2;
const STEPS: usize = 25;

/// A plate of so many rows and columns without its edges, as it is at the beginning.
fn plate(rows: usize, columns: usize, is_at_the_top: bool) -> Vec<f64> {
    let mut cells = vec![0.0; (rows + 2) * (columns + 2)];
    if is_at_the_top {
        cells[..columns + 2].fill(100.0);
    }
    cells
}

/// Each cell becomes the mean of its neighbours. Returns by how much they changed at most.
fn step(cells: &mut Vec<f64>, next: &mut Vec<f64>, rows: usize, columns: usize) -> f64 {
    let (width, mut change) = (columns + 2, 0.0_f64);
    next.copy_from_slice(cells);
    for row in 1..=rows {
        for at in row * width + 1..=row * width + columns {
            next[at] =
                0.25 * (cells[at - 1] + cells[at + 1] + cells[at - width] + cells[at + width]);
            change = change.max((next[at] - cells[at]).abs());
        }
    }
    std::mem::swap(cells, next);
    change
}

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    let mut dims = [0, 0];
    rmpi::dims_create(world, world.size()?, &mut dims)?;
    let Some(grid) = world.cart_create(&dims, &[false, false], true)? else { return Ok(()) };
    let (up, down) = grid.shift(0, 1)?;
    let (left, right) = grid.shift(1, 1)?;
    let coordinates = grid.coords(grid.rank()?)?;
    let mut cells = plate(CELLS, CELLS, coordinates[0] == 0);
    let mut next = cells.clone();

    // Rows and columns: of the neighbours, to receive into, and of this process, to send.
    let row = |row| Section::row(row, 1..CELLS + 1, ROW);
    let column = |column| Section::column(column, 1..CELLS + 1, ROW);
    let sides = Sections::<f64, 4, 4>::new(
        world,
        cells.len(),
        [row(0), row(CELLS + 1), column(0), column(CELLS + 1)],
        [row(1), row(CELLS), column(1), column(CELLS)],
    )?;
    let mut change = 0.0;
    for _ in 0..STEPS {
        let ([above, below, before, behind], [top, bottom, first, last]) = sides.of(&mut cells)?;
        rmpi::scope(|scope| -> RmpiResult {
            up.irecv(scope, above, Tag::new(0))?;
            down.irecv(scope, below, Tag::new(1))?;
            left.irecv(scope, before, Tag::new(2))?;
            right.irecv(scope, behind, Tag::new(3))?;
            up.isend(scope, top, Tag::new(1))?;
            down.isend(scope, bottom, Tag::new(0))?;
            left.isend(scope, first, Tag::new(3))?;
            right.isend(scope, last, Tag::new(2))?;
            Ok(())
        })?;
        let mine = step(&mut cells, &mut next, CELLS, CELLS);
        grid.allreduce(&mine, &mut change, MpiOp::MAX)?;
    }

    // The same for the whole plate, in one process.
    let (rows, columns) = (dims[0] * CELLS, dims[1] * CELLS);
    let mut whole = plate(rows, columns, true);
    let mut next = whole.clone();
    let mut last_change = 0.0;
    for _ in 0..STEPS {
        last_change = step(&mut whole, &mut next, rows, columns);
    }
    assert_eq!(change, last_change);
    for row in 1..=CELLS {
        let start = (coordinates[0] * CELLS + row) * (columns + 2) + coordinates[1] * CELLS + 1;
        assert_eq!(cells[row * ROW + 1..][..CELLS], whole[start..][..CELLS]);
    }
    grid.barrier()?;
    if grid.rank()? == 0 {
        println!("right on {} ranks", grid.size()?);
    }
    Ok(())
}
