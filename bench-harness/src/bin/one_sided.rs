//! One-sided communication in C and on rmpi, in one program, sample by sample in random order: run by
//! `bench-harness one-sided` on some ranks. Rank 0 prints a line of JSON for each pattern and size.
//!
//! With `check`, only compares the results of both, and those of one process.

use std::error::Error;
use std::ffi::c_int;

use rmpi::{
    AccessesAll, Active, Assertion, Communicator, Epoch, Group, LockType, Passive, RmpiContext,
    RmpiResult, Window,
};

#[path = "../pairs.rs"]
mod pairs;
use pairs::{C, Counting, Measurement, ping_pong};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const NONE: Assertion = Assertion::NONE;

fn put_ping_pong(
    window: &mut Window<'_, f64, Active>,
    other: &Group<'_>,
    buffer: &[f64],
    rounds: c_int,
) -> RmpiResult {
    let rank = window.rank();
    for _ in 0..if rank < 2 { rounds } else { 0 } {
        for turn in 0..2 {
            if rank == turn {
                window.start(other, NONE, |epoch| epoch.process(1 - rank).put(buffer, 0))?;
            } else {
                window.post(other, NONE, |_| Ok(()))?;
            }
        }
    }
    Ok(())
}

fn get_ping_pong(
    window: &mut Window<'_, f64, Active>,
    other: &Group<'_>,
    buffer: &mut [f64],
    rounds: c_int,
) -> RmpiResult {
    let rank = window.rank();
    for _ in 0..if rank < 2 { rounds } else { 0 } {
        for turn in 0..2 {
            if rank == turn {
                window.start(other, NONE, |epoch| epoch.process(1 - rank).get(&mut *buffer, 0))?;
            } else {
                window.post(other, NONE, |_| Ok(()))?;
            }
        }
    }
    Ok(())
}

fn put_one_to_many(
    window: &mut Window<'_, f64, Active>,
    buffer: &[f64],
    rounds: c_int,
) -> RmpiResult {
    let (rank, size) = (window.rank(), window.size());
    for _ in 0..rounds {
        window.fence(NONE, |epoch| match rank {
            0 => (1..size).try_for_each(|other| epoch.process(other).put(buffer, 0)),
            _ => Ok(()),
        })?;
        window.fence(NONE, |epoch| match rank {
            0 => Ok(()),
            _ => epoch.process(0).put(buffer, rank * buffer.len()),
        })?;
    }
    Ok(())
}

fn get_one_to_many(
    window: &mut Window<'_, f64, Active>,
    buffer: &mut [f64],
    count: usize,
    rounds: c_int,
) -> RmpiResult {
    let rank = window.rank();
    for _ in 0..rounds {
        window.fence(NONE, |epoch| {
            let parts = buffer.chunks_exact_mut(count).enumerate().skip(1);
            for (other, part) in parts.take(if rank == 0 { usize::MAX } else { 0 }) {
                epoch.process(other).get(part, 0)?;
            }
            Ok(())
        })?;
        window.fence(NONE, |epoch| match rank {
            0 => Ok(()),
            _ => epoch.process(0).get(&mut buffer[..count], rank * count),
        })?;
    }
    Ok(())
}

/// A grid's part on a rank: so many rows, and a halo above and below.
#[derive(Clone, Copy)]
struct Grid {
    rank: usize,
    size: usize,
    rows: usize,
    columns: usize,
}

impl Grid {
    /// One colour of red-black successive over-relaxation; the first row is the upper halo.
    fn relax(self, grid: &mut [f64], colour: usize) {
        let n = self.columns;
        for i in 1..=self.rows {
            let (above, rest) = grid[(i - 1) * n..(i + 2) * n].split_at_mut(n);
            let (row, below) = rest.split_at_mut(n);
            // The first of the colour, the value behind it, the next of the colour, and so on.
            let first = 1 + (self.rank * self.rows + i + colour) % 2;
            let (mut left, row) = (row[first - 1], row[first..].as_chunks_mut::<2>().0);
            let (above, below) =
                (above[first..].as_chunks::<2>().0, below[first..].as_chunks::<2>().0);
            for (([value, right], above), below) in row.iter_mut().zip(above).zip(below) {
                let around = above[0] + below[0] + left + *right;
                *value += 1.5 * (0.25 * around - *value);
                left = *right;
            }
        }
    }

    /// The rank above, where its lower halo is, and what becomes it; and so below.
    fn above(self) -> Option<(usize, usize, core::ops::Range<usize>)> {
        let n = self.columns;
        (self.rank > 0).then(|| (self.rank - 1, (self.rows + 1) * n, n..2 * n))
    }

    fn below(self) -> Option<(usize, usize, core::ops::Range<usize>)> {
        let n = self.columns;
        let last = self.rows * n..(self.rows + 1) * n;
        (self.rank + 1 < self.size).then(|| (self.rank + 1, 0, last))
    }
}

/// Gives the neighbours this process's first and last row.
fn put_edges<'e, K: AccessesAll>(epoch: &'e Epoch<'e, '_, f64, K>, grid: Grid) -> RmpiResult {
    for (other, place, rows) in [grid.above(), grid.below()].into_iter().flatten() {
        epoch.process(other).put(epoch.own(rows)?, place)?;
    }
    Ok(())
}

fn sor_fence(window: &mut Window<'_, f64, Active>, grid: Grid, rounds: c_int) -> RmpiResult {
    for step in 0..2 * rounds as usize {
        window.fence(NONE, |epoch| put_edges(epoch, grid))?;
        grid.relax(window.local_mut(), step % 2);
    }
    Ok(())
}

fn sor_pscw(
    window: &mut Window<'_, f64, Active>,
    neighbours: &Group<'_>,
    grid: Grid,
    rounds: c_int,
) -> RmpiResult {
    for step in 0..2 * rounds as usize {
        window.post(neighbours, NONE, |exposure| {
            exposure.start(neighbours, NONE, |epoch| put_edges(epoch, grid))
        })?;
        grid.relax(window.local_mut(), step % 2);
    }
    Ok(())
}

fn sor_lock(
    world: &Communicator<'_>,
    window: &mut Window<'_, f64, Passive>,
    grid: Grid,
    rounds: c_int,
) -> RmpiResult {
    for step in 0..2 * rounds as usize {
        for (other, place, rows) in [grid.above(), grid.below()].into_iter().flatten() {
            window.lock(LockType::Shared, other, NONE, |epoch| {
                epoch.target().put(epoch.own(rows)?, place)
            })?;
        }
        world.barrier()?;
        window.lock_local(|memory| grid.relax(memory, step % 2))?;
        world.barrier()?;
    }
    Ok(())
}

/// A window in C, of which there is one at a time.
struct InC<'c>(&'c C);

impl<'c> InC<'c> {
    fn open(c: &'c C, length: usize, columns: usize) -> Self {
        c.one("c_open")(std::ptr::null_mut(), length as c_int, columns as c_int);
        Self(c)
    }

    fn memory(&mut self, length: usize) -> &mut [f64] {
        // SAFETY: the transmute wants the function's own prototype: `double *c_memory(void)` in one_sided.c. It
        // gives the window's memory, which has this length since `open`; nobody accesses it outside of epochs,
        // and `self` is borrowed meanwhile.
        unsafe {
            let memory: extern "C" fn() -> *mut f64 =
                std::mem::transmute(self.0.function("c_memory"));
            std::slice::from_raw_parts_mut(memory(), length)
        }
    }
}

impl Drop for InC<'_> {
    fn drop(&mut self) {
        // SAFETY: the transmute wants the function's own prototype: `void c_close(void)` in one_sided.c.
        let close: extern "C" fn() = unsafe { std::mem::transmute(self.0.function("c_close")) };
        close();
    }
}

/// Makes two things, one of them first.
fn in_order<A, B>(
    a_first: bool,
    a: impl FnOnce() -> RmpiResult<A>,
    b: impl FnOnce() -> RmpiResult<B>,
) -> RmpiResult<(A, B)> {
    if a_first {
        let a = a()?;
        Ok((a, b()?))
    } else {
        let b = b()?;
        Ok((a()?, b))
    }
}

/// What the whole grid begins with at a row and a column.
fn start(row: usize, column: usize) -> f64 {
    ((row * 31 + column * 17) % 101) as f64 / 7.0
}

/// Fills a rank's part of the grid, with its halos.
fn fill(memory: &mut [f64], grid: Grid) {
    for (i, row) in memory.chunks_exact_mut(grid.columns).enumerate() {
        for (j, value) in row.iter_mut().enumerate() {
            *value = start(grid.rank * grid.rows + i, j);
        }
    }
}

/// C, rmpi and one process compute the same numbers, bit by bit.
fn check(context: &RmpiContext, c: &C) -> Result<(), Box<dyn Error>> {
    let world = context.world();
    let (rank, size) = (world.rank()?, world.size()?);
    let (rows, columns, rounds) = (24 / size, 33, 20);
    let grid = Grid { rank, size, rows, columns };
    let length = (rows + 2) * columns;
    // The whole grid, on this process alone.
    let whole = Grid { rank: 0, size: 1, rows: rows * size, columns };
    let mut serial = vec![0.0; (whole.rows + 2) * columns];
    fill(&mut serial, whole);
    for step in 0..2 * rounds {
        whole.relax(&mut serial, step % 2);
    }
    let mine = &serial[(rank * rows + 1) * columns..((rank + 1) * rows + 1) * columns];
    let same = |what: &str, memory: &[f64]| {
        let inner = &memory[columns..length - columns];
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(inner), bits(mine), "{what} on rank {rank}");
    };
    let neighbours: Vec<_> = [rank.checked_sub(1), Some(rank + 1).filter(|below| *below < size)]
        .into_iter()
        .flatten()
        .collect();
    let neighbours = world.group()?.incl(&neighbours)?;
    let rounds = rounds as c_int;
    for name in ["c_sor_fence", "c_sor_pscw", "c_sor_lock"] {
        let mut window = InC::open(c, length, columns);
        fill(window.memory(length), grid);
        world.barrier()?;
        c.one(name)(std::ptr::null_mut(), 0, rounds);
        world.barrier()?;
        same(name, window.memory(length));
    }
    let mut window = Window::<f64, _>::allocate(world, length, None, Active)?;
    fill(window.local_mut(), grid);
    sor_fence(&mut window, grid, rounds)?;
    same("fence", window.local());
    fill(window.local_mut(), grid);
    sor_pscw(&mut window, &neighbours, grid, rounds)?;
    same("post and start", window.local());
    let mut window = Window::<f64, _>::allocate(world, length, None, Passive)?;
    window.lock_local(|memory| fill(memory, grid))?;
    world.barrier()?;
    sor_lock(world, &mut window, grid, rounds)?;
    window.lock_local(|memory| same("lock", memory))?;
    world.barrier()?;
    if rank == 0 {
        println!("the same on {size} ranks");
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let c = C::open(&arguments[1])?;
    let context = rmpi::init()?;
    if arguments[2] == "check" {
        return check(&context, &c);
    }
    let world = context.world();
    let (rank, size) = (world.rank()?, world.size()?);
    if size < 2 {
        return Err("at least two ranks are needed".into());
    }
    let samples: usize = arguments[2].parse()?;
    let seconds: f64 = arguments[3].parse()?;
    let mut measurement = Measurement::new(&context, samples.div_ceil(2));
    let group = world.group()?;
    let other = group.incl(&[usize::from(rank == 0)])?;
    let rounds =
        |trial: &mut dyn FnMut(c_int) -> RmpiResult| pairs::rounds(&context, seconds, trial);

    // Which window comes first matters by more than what is measured: half of the samples each.
    for (count, c_first) in [1, 64, 4096, 65_536].into_iter().flat_map(|n| [(n, true), (n, false)])
    {
        let (bytes, in_c_count) = (8 * count, count as c_int);
        let mut buffer = vec![1.0; count * size];
        let pointer = buffer.as_mut_ptr();
        let allocate = || Window::<f64, _>::allocate(world, count * size, None, Active);
        let open = || Ok(InC::open(&c, count * size, 0));
        let (in_c, mut window) = in_order(c_first, open, allocate)?;
        let mut measure = |name: &str, rust: &mut dyn FnMut(c_int) -> RmpiResult| -> RmpiResult {
            let function = c.one(&format!("c_{}", name.replace([' ', '-'], "_")));
            let n = rounds(rust)?;
            measurement.pairs(name, bytes, n, |n| function(pointer, in_c_count, n), rust)
        };
        measure("send ping-pong", &mut |n| ping_pong(world, &mut buffer[..count], n))?;
        measure("put ping-pong", &mut |n| put_ping_pong(&mut window, &other, &buffer[..count], n))?;
        measure("get ping-pong", &mut |n| {
            get_ping_pong(&mut window, &other, &mut buffer[..count], n)
        })?;
        measure("put one-to-many", &mut |n| put_one_to_many(&mut window, &buffer[..count], n))?;
        measure("get one-to-many", &mut |n| get_one_to_many(&mut window, &mut buffer, count, n))?;
        drop(in_c);
    }
    let (rows, columns) = (512 / size, 512);
    let grid = Grid { rank, size, rows, columns };
    let length = (rows + 2) * columns;
    let neighbours: Vec<_> = [rank.checked_sub(1), Some(rank + 1).filter(|below| *below < size)]
        .into_iter()
        .flatten()
        .collect();
    let neighbours = group.incl(&neighbours)?;
    let mut measure = |name: &str, rust: &mut dyn FnMut(c_int) -> RmpiResult| -> RmpiResult {
        let function = c.one(&format!("c_{}", name.replace([' ', '-'], "_")));
        let n = rounds(rust)?;
        measurement.pairs(name, 8 * columns, n, |n| function(std::ptr::null_mut(), 0, n), rust)
    };
    let open = || {
        let mut in_c = InC::open(&c, length, columns);
        fill(in_c.memory(length), grid);
        Ok(in_c)
    };
    for c_first in [true, false] {
        let allocate = || Window::<f64, _>::allocate(world, length, None, Active);
        let (in_c, mut window) = in_order(c_first, open, allocate)?;
        fill(window.local_mut(), grid);
        measure("sor fence", &mut |n| sor_fence(&mut window, grid, n))?;
        measure("sor pscw", &mut |n| sor_pscw(&mut window, &neighbours, grid, n))?;
        drop((in_c, window));

        let allocate = || Window::<f64, _>::allocate(world, length, None, Passive);
        let (in_c, mut window) = in_order(c_first, open, allocate)?;
        window.lock_local(|memory| fill(memory, grid))?;
        world.barrier()?;
        measure("sor lock", &mut |n| sor_lock(world, &mut window, grid, n))?;
        drop((in_c, window));
    }
    Ok(())
}
