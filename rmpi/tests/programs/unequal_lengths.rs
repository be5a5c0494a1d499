//! Buffers whose lengths differ between the processes, which is an error of the program: nothing is written
//! behind the shorter one. The argument says in which operation; how far it comes, and whether with an error,
//! is MPI's affair.

use std::env;
use std::process::exit;

use rmpi::{MpiOp, RmpiResult, Tag};

fn main() -> RmpiResult {
    let operation = env::args().nth(1).unwrap_or_else(|| "none".into());
    let long: usize = env::args().nth(2).and_then(|length| length.parse().ok()).unwrap_or(1000);
    let context = rmpi::init()?;
    let world = context.world();
    let (rank, size, short) = (world.rank()?, world.size()?, 10);
    if operation == "none" || size == 1 {
        if rank == 0 {
            println!("right on {size} ranks");
        }
        return Ok(());
    }
    // Ones are sent, and zeros are behind the buffer to receive into.
    let mine = if rank == 0 { long } else { short };
    let send = vec![u64::MAX; long * size];
    let mut memory = vec![0_u64; 2 * long * size];
    let length = match operation.as_str() {
        "allgather" | "alltoall" => mine * size,
        "gather" => short * size,
        "scatter" => short,
        _ => mine,
    };
    let (receive, behind) = memory.split_at_mut(length);
    let root = world.process(0);
    let result = match operation.as_str() {
        "recv" if rank == 0 => {
            (1..size).try_for_each(|to| world.process(to).send(&send[..long], Tag::new(0)))
        }
        "recv" => root.recv(&mut *receive, Tag::new(0)),
        "irecv" if rank == 0 => {
            (1..size).try_for_each(|to| world.process(to).ssend(&send[..long], Tag::new(0)))
        }
        "irecv" => {
            rmpi::scope(|scope| root.irecv(scope, &mut *receive, Tag::new(0))?.wait().map(drop))
        }
        "self" => rmpi::scope(|scope| {
            let me = world.process(rank);
            me.isend(scope, &send[..long], Tag::new(0))?;
            me.recv(&mut receive[..short], Tag::new(0))
        }),
        "bcast" => {
            receive.fill(if rank == 0 { u64::MAX } else { 0 });
            root.bcast(&mut *receive)
        }
        "gather" if rank == 0 => root.gather_root(&send[..short], &mut *receive),
        "gather" => root.gather(&send[..long]),
        "scatter" if rank == 0 => root.scatter_root(&send[..long * size], &mut [0; 0]),
        "scatter" => root.scatter(&mut *receive),
        "allgather" => world.allgather(&send[..mine], &mut *receive),
        "alltoall" => world.alltoall(&send[..mine * size], &mut *receive),
        "allreduce" => world.allreduce(&send[..mine], &mut *receive, MpiOp::BOR),
        "scan" => world.scan(&send[..mine], &mut *receive, MpiOp::BOR),
        other => panic!("no operation: {other}"),
    };
    let mut written = behind.iter().filter(|word| **word != 0).count();
    if operation == "self" {
        written += receive[short.min(receive.len())..].iter().filter(|word| **word != 0).count();
    }
    let class = result.map_err(|error| error.class());
    println!("{operation} on rank {rank}: {written} words behind the buffer; {class:?}");
    // Others may wait for ever for what the error left undone.
    exit(if written == 0 { 0 } else { 3 })
}
