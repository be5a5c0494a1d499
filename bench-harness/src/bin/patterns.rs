//! Communication patterns in C and on rmpi, in one program, sample by sample in random order: run by
//! `bench-harness library` on some ranks. Rank 0 prints a line of JSON for each pattern and size.
//!
//! With `calls RUST|C FUNCTION ROUNDS`, only calls in a loop, for callgrind.

use std::error::Error;
use std::ffi::c_int;
use std::hint::black_box;

use rmpi::{Communicator, MpiOp, Request, RequestSlice, RmpiResult, Tag};

#[path = "../pairs.rs"]
mod pairs;
use pairs::{C, Counting, Measurement, ping_pong};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const TAG: Tag = Tag::new(0);

fn bandwidth(
    world: &Communicator<'_>,
    buffer: &mut [u8],
    count: usize,
    rounds: c_int,
) -> RmpiResult {
    let rank = world.rank()?;
    let other = world.process(1 - rank.min(1));
    let mut done = 0_u8;
    for _ in 0..rounds {
        rmpi::scope(|scope| {
            let mut requests = [const { None::<Request<'_, ()>> }; 16];
            if rank == 0 {
                let message = &buffer[..count];
                for request in &mut requests {
                    *request = Some(other.isend(scope, message, TAG)?.without_buffer());
                }
                RequestSlice::new(&mut requests).waitall()?;
                other.recv(&mut done, Tag::new(1))
            } else if rank == 1 {
                for (request, message) in requests.iter_mut().zip(buffer.chunks_exact_mut(count)) {
                    *request = Some(other.irecv(scope, message, TAG)?.without_buffer());
                }
                RequestSlice::new(&mut requests).waitall()?;
                other.send(&done, Tag::new(1))
            } else {
                Ok(())
            }
        })?;
    }
    Ok(())
}

fn one_to_many(world: &Communicator<'_>, buffer: &mut [f64], rounds: c_int) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    for _ in 0..rounds {
        if rank == 0 {
            for other in 1..size {
                world.process(other).send(&*buffer, TAG)?;
            }
            for other in 1..size {
                world.process(other).recv(&mut *buffer, TAG)?;
            }
        } else {
            world.process(0).recv(&mut *buffer, TAG)?;
            world.process(0).send(&*buffer, TAG)?;
        }
    }
    Ok(())
}

fn dot(world: &Communicator<'_>, a: &[f64], b: &[f64]) -> RmpiResult<f64> {
    let mine: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    let mut all = 0.0;
    world.allreduce(&mine, &mut all, MpiOp::SUM)?;
    Ok(all)
}

/// A whole solver, as patterns.c has it.
fn conjugate_gradients(
    world: &Communicator<'_>,
    vectors: &mut [f64],
    n: usize,
    rounds: c_int,
) -> RmpiResult {
    let width = n + 2;
    let (layer, length) = (width * width, width * width * width);
    let own = layer..layer * (n + 1);
    let (rank, size) = (world.rank()?, world.size()?);
    let mut square = 0.0;
    for round in 0..rounds {
        if round % 25 == 0 {
            vectors.fill(0.0);
            for row in (1..=n).flat_map(|z| (1..=n).map(move |y| width * (y + width * z))) {
                for vector in [1, 2] {
                    let begin = vector * length + row + 1;
                    vectors[begin..begin + n].fill(1.0);
                }
            }
            let r = &vectors[length..][own.clone()];
            square = dot(world, r, r)?;
        }
        let (x, rest) = vectors.split_at_mut(length);
        let (r, rest) = rest.split_at_mut(length);
        let (p, q) = rest.split_at_mut(length);
        rmpi::scope(|scope| {
            let (below, rest) = p.split_at_mut(layer);
            let (inside, above) = rest.split_at_mut(layer * n);
            let (down, up) = (rank.checked_sub(1), Some(rank + 1).filter(|up| *up < size));
            let from_below =
                down.map(|down| world.process(down).irecv(scope, below, TAG)).transpose()?;
            let from_above = up.map(|up| world.process(up).irecv(scope, above, TAG)).transpose()?;
            if let Some(down) = down {
                world.process(down).send(&inside[..layer], TAG)?;
            }
            if let Some(up) = up {
                world.process(up).send(&inside[layer * (n - 1)..], TAG)?;
            }
            for request in [from_below, from_above].into_iter().flatten() {
                request.wait()?;
            }
            Ok::<_, rmpi::Error>(())
        })?;
        for row in (1..=n).flat_map(|z| (1..=n).map(move |y| width * (y + width * z) + 1)) {
            let from = |begin: usize| &p[begin..begin + n];
            let (left, right) = (from(row - 1), from(row + 1));
            let (front, back) = (from(row - width), from(row + width));
            let (below, above) = (from(row - layer), from(row + layer));
            let middle = from(row);
            for (at, result) in q[row..row + n].iter_mut().enumerate() {
                *result = 6.0 * middle[at]
                    - left[at]
                    - right[at]
                    - front[at]
                    - back[at]
                    - below[at]
                    - above[at];
            }
        }
        let (p, q) = (&mut p[own.clone()], &q[own.clone()]);
        let (x, r) = (&mut x[own.clone()], &mut r[own.clone()]);
        let (before, alpha) = (square, square / dot(world, p, q)?);
        for (((x, r), p), q) in x.iter_mut().zip(&mut *r).zip(&*p).zip(q) {
            *x += alpha * p;
            *r -= alpha * q;
        }
        square = dot(world, r, r)?;
        for (p, r) in p.iter_mut().zip(&*r) {
            *p = r + square / before * *p;
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let c = C::open(&arguments[1])?;
    let context = rmpi::init()?;
    let world = context.world();
    if arguments[2] == "calls" {
        return calls(world, &c, &arguments[3], &arguments[4], arguments[5].parse()?);
    }
    let samples = arguments[2].parse()?;
    // About this much time a sample.
    let seconds: f64 = arguments[3].parse()?;
    let mut measurement = Measurement::new(&context, samples);
    let size = world.size()?;

    let rounds =
        |trial: &mut dyn FnMut(c_int) -> RmpiResult| pairs::rounds(&context, seconds, trial);

    for bytes in [1, 8, 64, 512, 4096, 32_768, 262_144, 1_048_576, 4_194_304] {
        let count = bytes as c_int;
        let mut buffer = vec![1_u8; bytes];
        let n = rounds(&mut |n| ping_pong(world, &mut buffer, n))?;
        let pointer = buffer.as_mut_ptr();
        let in_c = c.one("c_ping_pong_bytes");
        measurement.pairs(
            "ping-pong",
            bytes,
            n,
            |n| in_c(pointer.cast(), count, n),
            |n| ping_pong(world, &mut buffer, n),
        )?;
        let mut buffer = vec![1_u8; 16 * bytes];
        let n = rounds(&mut |n| bandwidth(world, &mut buffer, bytes, n))?;
        let pointer = buffer.as_mut_ptr();
        let in_c = c.one("c_bandwidth");
        measurement.pairs(
            "bandwidth",
            bytes,
            n,
            |n| in_c(pointer.cast(), count, n),
            |n| bandwidth(world, &mut buffer, bytes, n),
        )?;
    }
    for points in [16, 40] {
        let count = points as c_int;
        let width = points + 2;
        let mut vectors = vec![0.0; 4 * width * width * width];
        let n = rounds(&mut |n| conjugate_gradients(world, &mut vectors, points, n))?;
        let pointer = vectors.as_mut_ptr();
        let in_c = c.one("c_conjugate_gradients");
        // Both compute the same.
        conjugate_gradients(world, &mut vectors, points, 25)?;
        let solution = vectors.clone();
        in_c(pointer, count, 25);
        let differs = |(a, b): (&f64, &f64)| (a - b).abs() > 1e-10 * b.abs().max(1e-3);
        if solution.iter().zip(&vectors).any(differs) {
            return Err("Rust and C compute different solutions".into());
        }
        measurement.pairs(
            "conjugate gradients",
            8 * width * width,
            n,
            |n| in_c(pointer, count, n),
            |n| conjugate_gradients(world, &mut vectors, points, n),
        )?;
    }
    for length in [1, 128, 16_384] {
        let count = length as c_int;
        let (send, mut receive) = (vec![1.0; length * size], vec![0.0; length * size]);
        let (from, to) = (send.as_ptr(), receive.as_mut_ptr());
        let n = rounds(&mut |n| {
            (0..n).try_for_each(|_| {
                world.allreduce(&send[..length], &mut receive[..length], MpiOp::SUM)
            })
        })?;
        let in_c = c.two("c_allreduce");
        measurement.pairs(
            "allreduce",
            8 * length,
            n,
            |n| in_c(from, to, count, n),
            |n| {
                (0..n).try_for_each(|_| {
                    world.allreduce(&send[..length], &mut receive[..length], MpiOp::SUM)
                })
            },
        )?;
        let in_c = c.two("c_alltoall");
        measurement.pairs(
            "alltoall",
            8 * length,
            n,
            |n| in_c(from, to, count, n),
            |n| (0..n).try_for_each(|_| world.alltoall(&send, &mut receive)),
        )?;
        let in_c = c.one("c_one_to_many");
        measurement.pairs(
            "one-to-many",
            8 * length,
            n,
            |n| in_c(to, count, n),
            |n| one_to_many(world, &mut receive[..length], n),
        )?;
    }
    Ok(())
}

/// Calls in a loop, between marks that callgrind knows.
#[inline(never)]
fn calls(
    world: &Communicator<'_>,
    c: &C,
    language: &str,
    function: &str,
    rounds: c_int,
) -> Result<(), Box<dyn Error>> {
    let send = [1.0; 4];
    let mut receive = [0.0; 4];
    let nobody = world.process_null();
    let alone = world.split(Some(world.rank()? as u32), 0)?.ok_or("no communicator")?;
    alone.allreduce(&send, &mut receive, MpiOp::SUM)?;
    match (language, function) {
        ("c", "rank") => {
            // SAFETY: the transmute wants the function's own prototype: `void c_call_rank(int)` in patterns.c.
            let call: extern "C" fn(c_int) =
                unsafe { std::mem::transmute(c.function("c_call_rank")) };
            call(rounds);
        }
        ("c", "send") => c.one("c_call_send")(receive.as_mut_ptr(), 4, rounds),
        ("c", "isend-wait") => c.one("c_call_isend_wait")(receive.as_mut_ptr(), 4, rounds),
        ("c", "allreduce") => {
            c.two("c_call_allreduce")(send.as_ptr(), receive.as_mut_ptr(), 4, rounds);
        }
        ("c", "allgatherv_vec") => {
            c.two("c_call_allgatherv_vec")(send.as_ptr(), receive.as_mut_ptr(), 4, rounds);
        }
        ("rust", "rank") => {
            for _ in 0..rounds {
                black_box(world.rank()?);
            }
        }
        ("rust", "send") => {
            for _ in 0..rounds {
                nobody.send(&send, TAG)?;
            }
        }
        ("rust", "isend-wait") => rmpi::scope(|scope| {
            for _ in 0..rounds {
                nobody.isend(scope, &send, TAG)?.wait()?;
            }
            Ok::<_, rmpi::Error>(())
        })?,
        ("rust", "allreduce") => {
            for _ in 0..rounds {
                alone.allreduce(&send, &mut receive, MpiOp::SUM)?;
            }
        }
        ("rust", "allgatherv_vec") => {
            for _ in 0..rounds {
                black_box(alone.allgatherv_vec(&send)?);
            }
        }
        other => return Err(format!("no calls {other:?}").into()),
    }
    Ok(())
}
