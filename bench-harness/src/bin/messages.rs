//! Typed messages beside raw ones in C, values beside serialisation by hand, and a structured grid in C
//! and on rmpi; in one program, sample by sample in random order: run by `bench-harness messages` on
//! some ranks. Rank 0 prints a line of JSON for each.
//!
//! With `grid ROWS COLUMNS STEPS`, only the grid, whose results have to be the same to the last bit.

use std::cell::RefCell;
use std::error::Error;
use std::ffi::c_int;
use std::hint::black_box;
use std::time::Instant;

use rmpi::{Communicator, MpiOp, RequestSlice, RmpiResult, Tag, TypedCommunicator};
use serde::{Deserialize, Serialize};
use serde_json::json;

#[path = "../pairs.rs"]
mod pairs;
use pairs::{C, Measurement};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;
type Messages = extern "C" fn(*mut f64, c_int, c_int);
type GridInC = extern "C" fn(*mut f64, *mut f64, c_int, c_int, c_int) -> f64;

/// The counterparts in C: messages.c.
struct InC {
    messages: Messages,
    grid: GridInC,
}

impl InC {
    fn open(path: &str) -> Outcome<Self> {
        let library = C::open(path)?;
        let grid = library.function("c_grid");
        // SAFETY: the transmute wants the function's own prototype: `double c_grid(double *, double *, int,
        // int, int)` in messages.c.
        let grid = unsafe { std::mem::transmute::<*mut libc::c_void, GridInC>(grid) };
        Ok(Self { messages: library.one("c_messages"), grid })
    }
}

/// What grids send: their own rows, and what their neighbours call these.
const DOWN: Tag = Tag::new(0);
const UP: Tag = Tag::new(1);

/// This process's rows of a grid between two that are a neighbour's or the boundary.
#[derive(Clone, PartialEq)]
struct Grid {
    rows: usize,
    columns: usize,
    cells: Vec<f64>,
}

/// A solution of Laplace's equation, and of its differences too: the boundary has it.
fn solution(row: usize, column: usize) -> f64 {
    let (y, x) = (row as f64 / 64.0, column as f64 / 64.0);
    x * x - y * y + 2.0 * x * y
}

impl Grid {
    /// Zero, but on the boundary of the whole.
    fn new(first: usize, rows: usize, of: usize, columns: usize) -> Self {
        let mut cells = vec![0.0; (rows + 2) * columns];
        for (i, row) in cells.chunks_exact_mut(columns).enumerate() {
            let row_of_all = first + i;
            for (j, cell) in row.iter_mut().enumerate() {
                if row_of_all == 0 || row_of_all == of + 1 || j == 0 || j == columns - 1 {
                    *cell = solution(row_of_all, j);
                }
            }
        }
        Self { rows, columns, cells }
    }

    /// Fetches the neighbours' rows.
    fn exchange(&mut self, world: &Communicator<'_>) -> RmpiResult {
        let (rank, size) = (world.rank()?, world.size()?);
        let above = if rank == 0 { world.process_null() } else { world.process(rank - 1) };
        let below = if rank + 1 == size { world.process_null() } else { world.process(rank + 1) };
        let (from_above, rest) = self.cells.split_at_mut(self.columns);
        let (own, from_below) = rest.split_at_mut(self.rows * self.columns);
        let (first, last) = (&own[..self.columns], &own[(self.rows - 1) * self.columns..]);
        rmpi::scope(|scope| {
            let mut requests = [
                Some(above.irecv(scope, from_above, DOWN)?.without_buffer()),
                Some(below.irecv(scope, from_below, UP)?.without_buffer()),
                Some(above.isend(scope, first, UP)?.without_buffer()),
                Some(below.isend(scope, last, DOWN)?.without_buffer()),
            ];
            RequestSlice::new(&mut requests).waitall()
        })
    }

    /// Each element becomes the mean of its neighbours; the outermost columns stay.
    fn sweep(&self, to: &mut Self) {
        let columns = self.columns;
        let rows = self.cells.windows(3 * columns).step_by(columns);
        for (around, to) in rows.zip(to.cells[columns..].chunks_exact_mut(columns)) {
            // Of one length, so that nothing is checked element by element.
            let inner = columns - 2;
            let part = |begin: usize| &around[begin..][..inner];
            let (above, below) = (part(1), part(2 * columns + 1));
            let (left, right) = (part(columns), part(columns + 2));
            let to = &mut to[1..][..inner];
            for j in 0..inner {
                to[j] = 0.25 * (above[j] + below[j] + left[j] + right[j]);
            }
        }
    }

    fn greatest_change(&self, since: &Self) -> f64 {
        let own = self.columns..(self.rows + 1) * self.columns;
        let mut change = 0.0;
        for (new, old) in self.cells[own.clone()].iter().zip(&since.cells[own]) {
            let here = (new - old).abs();
            change = if here > change { here } else { change };
        }
        change
    }
}

/// As `c_grid`: the result is in the first grid; the last sweep's greatest change comes back.
fn grid(world: &Communicator<'_>, old: &mut Grid, new: &mut Grid, steps: c_int) -> RmpiResult<f64> {
    let mut change = 0.0;
    for step in 0..steps {
        old.exchange(world)?;
        old.sweep(new);
        new.exchange(world)?;
        new.sweep(old);
        if step % 10 == 9 || step == steps - 1 {
            world.allreduce(&old.greatest_change(new), &mut change, MpiOp::MAX)?;
        }
    }
    Ok(change)
}

/// Both, which have to agree to the last bit, with each other and with one process that has it all.
fn check_grid(
    world: &Communicator<'_>,
    c: &InC,
    rows: usize,
    columns: usize,
    steps: c_int,
) -> Outcome {
    let (rank, size) = (world.rank()?, world.size()?);
    let of = rows * size;
    let start = Grid::new(rank * rows, rows, of, columns);
    let (mut rust, mut spare) = (start.clone(), start.clone());
    let change = grid(world, &mut rust, &mut spare, steps)?;
    let (mut in_c, mut spare) = (start.clone(), start);
    let (to, from) = (in_c.cells.as_mut_ptr(), spare.cells.as_mut_ptr());
    let change_in_c = (c.grid)(to, from, rows as c_int, columns as c_int, steps);
    let own = columns..(rows + 1) * columns;
    let bits = |cells: &[f64]| cells.iter().map(|cell| cell.to_bits()).collect::<Vec<_>>();
    if bits(&rust.cells[own.clone()]) != bits(&in_c.cells[own.clone()]) {
        return Err("the grids in C and in Rust differ".into());
    }
    if change.to_bits() != change_in_c.to_bits() {
        return Err(format!("the last change is {change} and in C {change_in_c}").into());
    }
    // All of it, element by element.
    let mut all = Grid::new(0, of, of, columns).cells;
    for _ in 0..2 * steps {
        let before = all.clone();
        for i in 1..=of {
            for j in 1..columns - 1 {
                let at = |i: usize, j: usize| before[i * columns + j];
                all[i * columns + j] =
                    0.25 * (at(i - 1, j) + at(i + 1, j) + at(i, j - 1) + at(i, j + 1));
            }
        }
    }
    let mine = (1 + rank * rows) * columns..(1 + (rank + 1) * rows) * columns;
    if bits(&rust.cells[own.clone()]) != bits(&all[mine]) {
        return Err("the grids of many processes and of one differ".into());
    }
    let mut error = 0.0_f64;
    for (i, row) in rust.cells[own].chunks_exact(columns).enumerate() {
        for (j, cell) in row.iter().enumerate() {
            error = error.max((cell - solution(1 + rank * rows + i, j)).abs());
        }
    }
    let mut greatest = 0.0;
    world.allreduce(&error, &mut greatest, MpiOp::MAX)?;
    if rank == 0 {
        println!("{}", json!({"ranks": size, "change": change, "error": greatest}));
    }
    Ok(())
}

/// Both in pairs; prints the seconds of each sample. `alone` is what a value's serialisation takes without
/// a message.
fn measure(
    measurement: &mut Measurement<'_>,
    pattern: &str,
    bytes: usize,
    alone: Option<f64>,
    mut reference: impl FnMut() -> Outcome,
    mut ours: impl FnMut() -> Outcome,
) -> Outcome {
    let world = measurement.context.world();
    reference()?;
    ours()?;
    let (times, _) = measurement.samples(reference, ours)?;
    if world.rank()? == 0 {
        println!(
            "{}",
            json!({"pattern": pattern, "ranks": world.size()?, "bytes": bytes, "alone": alone,
                "reference": times[0], "ours": times[1]})
        );
    }
    Ok(())
}

/// Something with a structure: numbers of several kinds, texts, what may be missing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Record {
    id: u64,
    name: String,
    position: [f64; 3],
    note: Option<u32>,
}

fn records(bytes: usize) -> Vec<Record> {
    let record = |id: u64| Record {
        id,
        name: format!("particle {id:05}"),
        position: [id as f64, 0.5, -1.0],
        note: id.is_multiple_of(2).then_some(7),
    };
    // About 45 bytes each.
    (0..(bytes / 45).max(1) as u64).map(record).collect()
}

/// Messages from rank 0 to rank 1, which answers after the last.
fn messages(
    world: &Communicator<'_>,
    rounds: c_int,
    mut send: impl FnMut() -> Outcome,
    mut receive: impl FnMut() -> Outcome,
) -> Outcome {
    let done = Tag::new(1);
    match world.rank()? {
        0 => {
            (0..rounds).try_for_each(|_| send())?;
            world.process(1).recv(&mut 0_u8, done)?;
        }
        1 => {
            (0..rounds).try_for_each(|_| receive())?;
            world.process(0).send(&0_u8, done)?;
        }
        _ => {}
    }
    Ok(())
}

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().collect();
    let c = InC::open(&arguments[1])?;
    let context = rmpi::init()?;
    let world = context.world();
    if arguments[2] == "grid" {
        let (rows, columns) = (arguments[3].parse()?, arguments[4].parse()?);
        return check_grid(world, &c, rows, columns, arguments[5].parse()?);
    }
    let samples = arguments[2].parse()?;
    let rounds: c_int = arguments[3].parse()?;
    let mut measurement = Measurement::new(&context, samples);
    if world.size()? > 1 {
        measure_messages(&mut measurement, &c, rounds)?;
    }
    // As many cells a process, however many there are.
    for columns in [256, 1024] {
        let (rank, size) = (world.rank()?, world.size()?);
        let rows = 512;
        let start = Grid::new(rank * rows, rows, rows * size, columns);
        // The same memory for both: where it lies matters to the caches.
        let grids = RefCell::new((start.clone(), start));
        measure(
            &mut measurement,
            "grid",
            8 * rows * columns,
            None,
            || {
                let (old, new) = &mut *grids.borrow_mut();
                let (old, new) = (old.cells.as_mut_ptr(), new.cells.as_mut_ptr());
                black_box((c.grid)(old, new, rows as c_int, columns as c_int, 20));
                Ok(())
            },
            || {
                let (old, new) = &mut *grids.borrow_mut();
                black_box(grid(world, old, new, 20)?);
                Ok(())
            },
        )?;
    }
    Ok(())
}

fn measure_messages(measurement: &mut Measurement<'_>, c: &InC, rounds: c_int) -> Outcome {
    let world = measurement.context.world();
    let typed = TypedCommunicator::new(world)?;
    let (to, from) = (typed.process(1), typed.process(0));
    for bytes in [100, 1000, 10_000, 100_000, 1_000_000] {
        let count = bytes / 8;
        let (sent, mut got, mut in_c) = (vec![1.0; count], vec![0.0; count], vec![1.0; count]);
        let pointer = in_c.as_mut_ptr();
        measure(
            measurement,
            "plain",
            8 * count,
            None,
            || {
                (c.messages)(pointer, count as c_int, rounds);
                Ok(())
            },
            || {
                let receive = || from.recv(&mut got).map(drop).map_err(Into::into);
                messages(world, rounds, || to.send(&sent).map_err(Into::into), receive)
            },
        )?;
    }
    // A tenth of the messages: each costs more.
    let rounds = (rounds / 10).max(1);
    for bytes in [100, 1000, 10_000, 100_000, 1_000_000] {
        let value = records(bytes);
        let form = postcard::to_extend(&value, Vec::new())?;
        let length = form.len();
        let start = Instant::now();
        for _ in 0..rounds {
            let form = postcard::to_extend(black_box(&value), Vec::new())?;
            black_box(postcard::from_bytes::<Vec<Record>>(&form)?);
        }
        let alone = start.elapsed().as_secs_f64();
        let tag = Tag::new(0);
        measure(
            measurement,
            "value",
            length,
            Some(alone),
            // As one writes it by hand, where both know how long the message is.
            || {
                let send = || -> Outcome {
                    let form = postcard::to_extend(&value, Vec::new())?;
                    Ok(world.process(1).send(&form, tag)?)
                };
                let receive = || -> Outcome {
                    let mut form = vec![0_u8; length];
                    world.process(0).recv(&mut form, tag)?;
                    black_box(postcard::from_bytes::<Vec<Record>>(&form)?);
                    Ok(())
                };
                messages(world, rounds, send, receive)
            },
            || {
                let receive = || -> Outcome {
                    black_box(from.recv_value::<Vec<Record>>()?);
                    Ok(())
                };
                messages(world, rounds, || Ok(to.send_value(&value)?), receive)
            },
        )?;
    }
    Ok(())
}
