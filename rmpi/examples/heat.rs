//! Heat in a plate that is hot at its upper edge, on any number of processes and on one.

use rmpi::{Communicator, MpiOp, RmpiResult, Section, Sections, Tag};

/// The heat in a plate of so many cells a side after 100 steps, of which each process has a part.
fn heat(world: &Communicator<'_>, side: usize) -> RmpiResult<f64> {
    let mut dims = [0, 0];
    rmpi::dims_create(world, world.size()?, &mut dims)?;
    let Some(grid) = world.cart_create(&dims, &[false, false], true)? else { return Ok(0.0) };
    let ((up, down), (left, right)) = (grid.shift(0, 1)?, grid.shift(1, 1)?);
    // With the neighbours' cells around its own.
    let (rows, columns, width) = (side / dims[0], side / dims[1], side / dims[1] + 2);
    let mut cells = vec![0.0; (rows + 2) * width];
    if up.rank().is_none() {
        cells[..width].fill(100.0);
    }
    let row = |row| Section::row(row, 1..columns + 1, width);
    let column = |column| Section::column(column, 1..rows + 1, width);
    let sides = Sections::<f64, 4, 4>::new(
        world,
        cells.len(),
        [row(0), row(rows + 1), column(0), column(columns + 1)],
        [row(1), row(rows), column(1), column(columns)],
    )?;
    for _ in 0..100 {
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
        let old = cells.clone();
        for at in (1..=rows).flat_map(|row| row * width + 1..=row * width + columns) {
            cells[at] = 0.25 * (old[at - 1] + old[at + 1] + old[at - width] + old[at + width]);
        }
    }
    let mine: f64 = (1..=rows).flat_map(|row| &cells[row * width + 1..][..columns]).sum();
    let mut all = 0.0;
    grid.allreduce(&mine, &mut all, MpiOp::SUM)?;
    Ok(all)
}

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    // Rows and columns are divided among up to eight processes without a rest.
    let (together, alone) = (heat(world, 48)?, heat(context.comm_self(), 48)?);
    assert!((together - alone).abs() < 1e-9 * alone && alone > 1000.0, "{together} {alone}");
    if world.rank()? == 0 {
        println!("right on {} ranks", world.size()?);
    }
    Ok(())
}
