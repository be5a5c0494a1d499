//! Programs for mpi-check, one by one, by the first argument, on two ranks. A line that ends in a class is the one that must be
//! named; programs whose names begin with "right" have none.

use std::time::Duration;

use rmpi::{Communicator, MpiOp, RmpiResult, Tag};

/// Rust lets nobody forget a request or change a buffer that MPI has: those faults have no program here.
fn run(what: &str, world: &Communicator<'_>) -> RmpiResult {
    let (rank, size) = (world.rank()?, world.size()?);
    let other = world.process(size - 1 - rank);
    let (mut numbers, mut received, tag) = ([rank as i32; 8], [0_i32; 8], Tag::new(1));
    match what {
        "right_ring" => rmpi::scope(|scope| {
            other.irecv(scope, &mut received, tag)?;
            other.isend(scope, &numbers, tag).map(drop)
        })?,
        "right_owned" => {
            let sent = other.isend_owned(vec![1.5_f64; 100], tag)?;
            other.receive_vec::<f64>(tag)?;
            sent.wait()?;
        }
        "right_collectives" => {
            let copy = world.dup()?;
            copy.process(1).bcast(&mut numbers)?;
            copy.allreduce(&numbers, &mut received, MpiOp::MAX)?;
            copy.barrier()?;
        }
        "right_probe" if rank == 0 => other.send(&numbers[..5], tag)?,
        "right_probe" => drop(world.any_source().receive_vec::<i32>(tag)?),
        "wrong_lost" if rank == 0 => other.send(&numbers, tag)?, // lost-message
        "wrong_datatypes" if rank == 0 => other.send(&numbers, tag)?,
        "wrong_datatypes" => other.recv(&mut [0_f32; 8], tag)?, // datatype-mismatch
        "wrong_length" if rank == 0 => other.send(&numbers, tag)?,
        "wrong_length" => assert!(other.recv(&mut received[..4], tag).is_err()), // truncation
        "wrong_roots" => world.process(rank).bcast(&mut numbers)?, // collective-mismatch
        "wrong_operations" => {
            let operation = if rank == 0 { MpiOp::SUM } else { MpiOp::MAX };
            world.allreduce(&numbers, &mut received, operation)?; // collective-mismatch
        }
        "wrong_functions" if rank == 0 => world.barrier()?, // collective-mismatch
        "wrong_functions" => world.process(0).bcast(&mut numbers)?,
        "wrong_leak" => drop(world.dup()?.into_raw()), // leak
        "wrong_cycle" => other.ssend(&numbers, tag)?,  // deadlock
        "wrong_absent" if rank == 0 => world.barrier()?, // deadlock
        "wrong_absent" => other.recv(&mut received, tag)?,
        "wrong_lost" => {}
        _ => unreachable!("there is no program {what}"),
    }
    Ok(())
}

fn main() -> RmpiResult {
    let context = rmpi::init()?;
    // Some of them hang:
    std::thread::spawn(|| {
        std::thread::sleep(Duration::from_secs(4));
        std::process::abort();
    });
    run(&std::env::args().nth(1).unwrap_or_default(), context.world())
}
