//! Four neighbours on a grid: a program begins what it needs and lets the scope wait, without a warning.

#![deny(warnings)]

use rmpi::{RmpiResult, Tag};

/// Cells of a process on each side.
const CELLS: usize = 6;
/// Of a row, with the neighbours' cells at both ends.
const ROW: usize = CELLS + 2;

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    let world = context.world();
    let mut dims = [0, 0];
    rmpi::dims_create(world, world.size()?, &mut dims)?;
    let Some(grid) = world.cart_create(&dims, &[false, false], true)? else { return Ok(()) };
    let (up, down) = grid.shift(0, 1)?;
    let (left, right) = grid.shift(1, 1)?;
    let mine = grid.rank()? as f64 + 1.0;
    let mut cells = vec![mine; ROW * ROW];
    let columns = [[mine; CELLS], [mine; CELLS]];
    let mut from_sides = [[0.0; CELLS], [0.0; CELLS]];
    let [from_left, from_right] = &mut from_sides;
    let (top, rest) = cells.split_at_mut(ROW);
    let (inner, bottom) = rest.split_at_mut(CELLS * ROW);
    rmpi::scope(|scope| -> RmpiResult {
        up.irecv(scope, &mut top[1..=CELLS], Tag::new(0))?;
        down.irecv(scope, &mut bottom[1..=CELLS], Tag::new(1))?;
        left.irecv(scope, from_left, Tag::new(2))?;
        right.irecv(scope, from_right, Tag::new(3))?;
        up.isend(scope, &inner[1..=CELLS], Tag::new(1))?;
        down.isend(scope, &inner[(CELLS - 1) * ROW + 1..CELLS * ROW - 1], Tag::new(0))?;
        left.isend(scope, &columns[0], Tag::new(3))?;
        right.isend(scope, &columns[1], Tag::new(2))?;
        Ok(())
    })?;
    // Each cell of a neighbour has its rank and one; where there is none, it is as it was.
    let of = |rank: Option<usize>, otherwise: f64| rank.map_or(otherwise, |rank| rank as f64 + 1.0);
    assert_eq!(top[1..=CELLS], [of(up.rank(), mine); CELLS]);
    assert_eq!(bottom[1..=CELLS], [of(down.rank(), mine); CELLS]);
    assert_eq!(from_sides, [[of(left.rank(), 0.0); CELLS], [of(right.rank(), 0.0); CELLS]]);
    grid.barrier()?;
    if grid.rank()? == 0 {
        println!("right on {} ranks", grid.size()?);
    }
    Ok(())
}
