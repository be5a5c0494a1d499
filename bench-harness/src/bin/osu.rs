//! Latency and bandwidth by message size: what the OSU Micro-Benchmarks measure, with the same calls.
//!
//! Rank 0 prints a table. Latencies are in microseconds, one way; bandwidths in 10^6 bytes a second.

use std::error::Error;

use clap::{Parser, ValueEnum};
use rmpi::{Communicator, MpiOp, Request, RequestSlice, RmpiContext, RmpiResult, Tag};

#[derive(Parser)]
#[command(about = "Latency and bandwidth of MPI by message size")]
struct Arguments {
    #[arg(value_enum)]
    benchmark: Benchmark,
    /// Smallest message in bytes; by default the least that makes sense
    #[arg(long)]
    min: Option<usize>,
    /// Largest message in bytes
    #[arg(long, default_value_t = 1 << 22)]
    max: usize,
    /// Measured rounds a size; messages of more than 8192 bytes have a tenth (collectives and bandwidth: a
    /// fifth) of these
    #[arg(long)]
    iterations: Option<usize>,
    /// Messages in flight, for bandwidths
    #[arg(long, default_value_t = 64)]
    window: usize,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Benchmark {
    /// Messages back and forth between two ranks
    Latency,
    /// The same between each rank of one half and one of the other, all at once
    MultiLat,
    /// Windows of messages from rank 0 to rank 1
    Bw,
    /// And in both directions at once
    Bibw,
    Barrier,
    Bcast,
    Reduce,
    Allreduce,
    Gather,
    Scatter,
    Allgather,
    Alltoall,
}
use Benchmark::{
    Allgather, Allreduce, Alltoall, Barrier, Bcast, Bibw, Bw, Gather, Latency, MultiLat, Reduce,
    Scatter,
};

impl Benchmark {
    fn is_collective(self) -> bool {
        !matches!(self, Latency | MultiLat | Bw | Bibw)
    }

    fn is_bandwidth(self) -> bool {
        matches!(self, Bw | Bibw)
    }
}

const LARGE: usize = 8192;
const TAG: Tag = Tag::new(1);

/// Rounds of a message size: warm-up, and measured.
fn rounds(arguments: &Arguments, size: usize) -> (usize, usize) {
    let (small, share) = match arguments.benchmark {
        Latency | MultiLat => (10_000, 10),
        Bw | Bibw => (100, 5),
        _ => (1000, 10),
    };
    let small = arguments.iterations.unwrap_or(small);
    let measured = if size > LARGE { small / share } else { small };
    let warm_up = if arguments.benchmark.is_bandwidth() { 10 } else { 100 };
    (measured.div_ceil(warm_up), measured)
}

fn sizes(arguments: &Arguments) -> impl Iterator<Item = usize> {
    let least = match arguments.benchmark {
        Latency | MultiLat => 0,
        // Reductions are of floating-point numbers.
        Reduce | Allreduce => 4,
        _ => 1,
    };
    let (min, max) = (arguments.min.unwrap_or(least), arguments.max);
    let all = [0].into_iter().chain((0..usize::BITS).map(|power| 1 << power));
    let once = arguments.benchmark == Barrier;
    all.skip_while(move |size| *size < min.max(least))
        .take_while(move |size| *size <= max)
        .take(if once { 1 } else { usize::MAX })
}

/// Seconds of the measured rounds on this rank, which takes part as a sender or the other one.
fn ping_pong(
    context: &RmpiContext,
    other: usize,
    sends_first: bool,
    buffer: &mut [u8],
    (warm_up, measured): (usize, usize),
) -> RmpiResult<f64> {
    let other = context.world().process(other);
    let mut start = 0.0;
    for round in 0..warm_up + measured {
        if sends_first {
            if round == warm_up {
                start = context.wtime();
            }
            other.send(&*buffer, TAG)?;
            other.recv(&mut *buffer, TAG)?;
        } else {
            other.recv(&mut *buffer, TAG)?;
            other.send(&*buffer, TAG)?;
        }
    }
    Ok(if sends_first { context.wtime() - start } else { 0.0 })
}

/// Seconds of the measured rounds of windows of messages.
fn windows(
    context: &RmpiContext,
    both_ways: bool,
    window: usize,
    out: &[u8],
    into: &mut [u8],
    (warm_up, measured): (usize, usize),
) -> RmpiResult<f64> {
    let world = context.world();
    let rank = world.rank()?;
    let other = world.process(1 - rank);
    let (sends, receives) = (rank == 0 || both_ways, rank == 1 || both_ways);
    let size = out.len();
    let mut start = 0.0;
    let mut answer = [0_u8; 4];
    for round in 0..warm_up + measured {
        if round == warm_up {
            start = context.wtime();
        }
        rmpi::scope(|scope| {
            let mut requests: Vec<Option<Request<'_, ()>>> = Vec::with_capacity(2 * window);
            if receives {
                for part in into.chunks_exact_mut(size) {
                    requests.push(Some(other.irecv(scope, part, TAG)?.without_buffer()));
                }
            }
            if sends {
                for _ in 0..window {
                    requests.push(Some(other.isend(scope, out, TAG)?.without_buffer()));
                }
            }
            RequestSlice::new(&mut requests).waitall()
        })?;
        if rank == 0 {
            other.recv(&mut answer, TAG)?;
        } else {
            other.send(&answer, TAG)?;
        }
    }
    Ok(context.wtime() - start)
}

/// One collective operation; `out` and `into` have room for a part of each rank.
fn collective(
    world: &Communicator<'_>,
    benchmark: Benchmark,
    size: usize,
    out: &mut [u8],
    into: &mut [u8],
    numbers: &mut (Vec<f32>, Vec<f32>),
) -> RmpiResult {
    let root = world.process(0);
    let is_root = || Ok::<_, rmpi::Error>(world.rank()? == 0);
    let count = size / size_of::<f32>();
    match benchmark {
        Barrier => world.barrier(),
        Bcast => root.bcast(&mut out[..size]),
        Reduce if is_root()? => {
            root.reduce_root(&numbers.0[..count], &mut numbers.1[..count], MpiOp::SUM)
        }
        Reduce => root.reduce(&numbers.0[..count], MpiOp::SUM),
        Allreduce => world.allreduce(&numbers.0[..count], &mut numbers.1[..count], MpiOp::SUM),
        Gather if is_root()? => root.gather_root(&out[..size], into),
        Gather => root.gather(&out[..size]),
        Scatter if is_root()? => root.scatter_root(&*out, &mut into[..size]),
        Scatter => root.scatter(&mut into[..size]),
        Allgather => world.allgather(&out[..size], into),
        Alltoall => world.alltoall(&*out, into),
        Latency | MultiLat | Bw | Bibw => unreachable!("no collective"),
    }
}

/// Average, least and most microseconds of a collective operation over the ranks, on rank 0.
fn measure_collective(
    context: &RmpiContext,
    arguments: &Arguments,
    size: usize,
) -> RmpiResult<[f64; 3]> {
    let world = context.world();
    let ranks = world.size()?;
    let (mut out, mut into) = (vec![1_u8; size * ranks], vec![0_u8; size * ranks]);
    let mut numbers = (vec![1.0; size / 4], vec![0.0; size / 4]);
    let (warm_up, measured) = rounds(arguments, size);
    let mut seconds = 0.0;
    world.barrier()?;
    for round in 0..warm_up + measured {
        let start = context.wtime();
        collective(world, arguments.benchmark, size, &mut out, &mut into, &mut numbers)?;
        let end = context.wtime();
        if round >= warm_up {
            seconds += end - start;
        }
        world.barrier()?;
    }
    let mine = seconds / measured as f64 * 1e6;
    let mut all = [0.0; 3];
    let root = world.process(0);
    for (result, operation) in all.iter_mut().zip([MpiOp::SUM, MpiOp::MIN, MpiOp::MAX]) {
        if world.rank()? == 0 {
            root.reduce_root(&mine, result, operation)?;
        } else {
            root.reduce(&mine, operation)?;
        }
    }
    all[0] /= ranks as f64;
    Ok(all)
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let context = rmpi::init()?;
    let world = context.world();
    let (rank, ranks) = (world.rank()?, world.size()?);
    let benchmark = arguments.benchmark;
    let fits = match benchmark {
        MultiLat => ranks.is_multiple_of(2),
        benchmark if benchmark.is_collective() => ranks >= 2 || benchmark == Barrier,
        _ => ranks == 2,
    };
    if !fits {
        return Err(format!("{ranks} ranks: this benchmark wants two, or pairs of them").into());
    }
    let column = match benchmark {
        benchmark if benchmark.is_collective() => "average, least and most of the ranks, us",
        benchmark if benchmark.is_bandwidth() => "MB/s",
        _ => "us",
    };
    if rank == 0 {
        println!("# bytes  {column}");
    }
    let half = ranks.div_ceil(2);
    for size in sizes(&arguments) {
        let rounds = rounds(&arguments, size);
        let measured = rounds.1 as f64;
        if benchmark.is_collective() {
            let [average, least, most] = measure_collective(&context, &arguments, size)?;
            if rank == 0 {
                println!("{size:<8} {average:>12.2} {least:>12.2} {most:>12.2}");
            }
            continue;
        }
        let mut buffer = vec![b'a'; size];
        world.barrier()?;
        let value = match benchmark {
            Bw | Bibw => {
                let both_ways = benchmark == Bibw;
                let mut into = vec![0; size * arguments.window];
                let seconds =
                    windows(&context, both_ways, arguments.window, &buffer, &mut into, rounds)?;
                let messages =
                    measured * arguments.window as f64 * if both_ways { 2.0 } else { 1.0 };
                size as f64 * messages / 1e6 / seconds
            }
            _ => {
                let (other, sends_first) =
                    if rank < half { (rank + half, true) } else { (rank - half, false) };
                let seconds = ping_pong(&context, other, sends_first, &mut buffer, rounds)?;
                let mut one_way = seconds * 1e6 / (2.0 * measured);
                if benchmark == MultiLat {
                    let (mine, root) = (one_way, world.process(0));
                    if rank == 0 {
                        root.reduce_root(&mine, &mut one_way, MpiOp::SUM)?;
                    } else {
                        root.reduce(&mine, MpiOp::SUM)?;
                    }
                    one_way /= half as f64;
                }
                one_way
            }
        };
        if rank == 0 {
            println!("{size:<8} {value:>12.4}");
        }
    }
    Ok(())
}
