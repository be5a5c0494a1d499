//! Heat in a plate that is hot at its upper edge. A structure keeps the messages of every step with their buffers, and
//! needs neither a scope nor a lifetime but the communicator's. `heat.rs` does the same in a scope, without copies.

use rmpi::{Communicator, MpiOp, OwnedPersistentRequest, Process, RmpiResult, Tag};

/// A process's part of the plate has so many rows and columns, and the cells of its neighbours around them.
#[derive(Clone, Copy)]
struct Part {
    rows: usize,
    columns: usize,
}

impl Part {
    /// Where the cells of an edge are (above, below, left, right): at depth 0 the neighbour's, at depth 1 this part's.
    fn edge(self, side: usize, depth: usize) -> impl Iterator<Item = usize> {
        let Self { rows, columns } = self;
        let width = columns + 2;
        let (first, step, count) = match side {
            0 => (depth * width + 1, 1, columns),
            1 => ((rows + 1 - depth) * width + 1, 1, columns),
            2 => (width + depth, width, rows),
            _ => (width + columns + 1 - depth, width, rows),
        };
        (0..count).map(move |i| first + i * step)
    }
}

struct Halo<'c> {
    part: Part,
    neighbours: [Process<'c>; 4],
    /// Four to send, four to receive.
    messages: Vec<OwnedPersistentRequest<'c, Vec<f64>>>,
}

impl<'c> Halo<'c> {
    fn new(part: Part, neighbours: [Process<'c>; 4]) -> RmpiResult<Self> {
        let mut messages = Vec::new();
        for (side, to) in neighbours.iter().enumerate() {
            let cells = vec![0.0; part.edge(side, 1).count()];
            messages.push(to.send_init_owned(cells, Tag::new(side as u32))?);
        }
        for (side, from) in neighbours.iter().enumerate() {
            let cells = vec![0.0; part.edge(side, 0).count()];
            // It is sent to the opposite side.
            messages.push(from.recv_init_owned(cells, Tag::new(side as u32 ^ 1))?);
        }
        Ok(Self { part, neighbours, messages })
    }

    fn exchange(&mut self, cells: &mut [f64]) -> RmpiResult {
        for (side, message) in self.messages[..4].iter_mut().enumerate() {
            let buffer = message.buffer_mut()?.iter_mut();
            buffer.zip(self.part.edge(side, 1)).for_each(|(to, at)| *to = cells[at]);
        }
        OwnedPersistentRequest::startall(&mut self.messages)?;
        OwnedPersistentRequest::waitall(&mut self.messages)?;
        for (side, message) in self.messages[4..].iter().enumerate() {
            if self.neighbours[side].rank().is_some() {
                let buffer = message.buffer()?.iter();
                buffer.zip(self.part.edge(side, 0)).for_each(|(from, at)| cells[at] = *from);
            }
        }
        Ok(())
    }
}

/// The heat in a plate of so many cells a side after 100 steps.
fn heat(world: &Communicator<'_>, cells_per_side: usize) -> RmpiResult<f64> {
    let mut dims = [0, 0];
    rmpi::dims_create(world, world.size()?, &mut dims)?;
    let Some(grid) = world.cart_create(&dims, &[false, false], true)? else { return Ok(0.0) };
    let part = Part { rows: cells_per_side / dims[0], columns: cells_per_side / dims[1] };
    let width = part.columns + 2;
    let ((up, down), (left, right)) = (grid.shift(0, 1)?, grid.shift(1, 1)?);
    let mut halo = Halo::new(part, [up, down, left, right])?;
    let mut cells = vec![0.0; (part.rows + 2) * width];
    if up.rank().is_none() {
        cells[..width].fill(100.0);
    }
    for _ in 0..100 {
        halo.exchange(&mut cells)?;
        let old = cells.clone();
        for at in (1..=part.rows).flat_map(|row| row * width + 1..=row * width + part.columns) {
            cells[at] = 0.25 * (old[at - 1] + old[at + 1] + old[at - width] + old[at + width]);
        }
    }
    let mine: f64 = (1..=part.rows).flat_map(|row| &cells[row * width + 1..][..part.columns]).sum();
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
