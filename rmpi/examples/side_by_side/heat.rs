//! Heat in a plate that is hot at its upper edge.

use rmpi::{MpiOp, RmpiResult, Section, Sections, Tag};

const SIDE: usize = 48;
const STEPS: usize = 100;

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    let mut dims = [0, 0];
    rmpi::dims_create(world, world.size()?, &mut dims)?;
    let grid = world.cart_create(&dims, &[false, false], true)?;
    let Some(grid) = grid else { return Ok(()) };
    let (up, down) = grid.shift(0, 1)?;
    let (left, right) = grid.shift(1, 1)?;

    // With the neighbours' cells around its own.
    let (rows, columns) = (SIDE / dims[0], SIDE / dims[1]);
    let width = columns + 2;
    let mut cells = vec![0.0; (rows + 2) * width];
    if up.rank().is_none() {
        cells[..width].fill(100.0);
    }

    let row = |i| Section::row(i, 1..columns + 1, width);
    let column = |j| Section::column(j, 1..rows + 1, width);
    let sides = Sections::<f64, 4, 4>::new(
        world,
        cells.len(),
        [row(0), row(rows + 1), column(0), column(columns + 1)],
        [row(1), row(rows), column(1), column(columns)],
    )?;
    for step in 1..=STEPS {
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
        let mut sum = 0.0;
        for i in 1..=rows {
            for at in i * width + 1..=i * width + columns {
                let beside = old[at - 1] + old[at + 1];
                cells[at] = 0.25 * (beside + old[at - width] + old[at + width]);
                sum += cells[at];
            }
        }
        if step % 25 == 0 {
            let mut all = 0.0;
            grid.allreduce(&sum, &mut all, MpiOp::SUM)?;
            if grid.rank()? == 0 {
                println!("step {step}: heat {all:.6}");
            }
        }
    }
    Ok(())
}
