//! A tool that uses `rmpi` in pmpi mode: before the end, rank 0 tells the sum of all ranks. Tools below
//! see nothing of it.

use mpi_tool_layer::mpi_sys::c_int;
use mpi_tool_layer::{RawMpiInterceptionLayer, Tool, UnsafeBox, install_pmpi_layer};
use rmpi::pmpi_mode as rmpi;

struct SumOfRanks;

fn tell() -> rmpi::RmpiResult {
    // SAFETY: MPI runs until the next function is called, errors end the program as the application
    // wants, and it is the application's thread.
    let context = unsafe { rmpi::RmpiContext::<rmpi::Single>::assume_initialized() };
    let world = context.world();
    let rank = world.rank()?;
    let mut sum = 0;
    world.allreduce(&rank, &mut sum, rmpi::MpiOp::SUM)?;
    if rank == 0 {
        eprintln!("sum of ranks: {sum}");
    }
    Ok(())
}

// SAFETY: a layer must do what the MPI standard says of each function. MPI does it: every call goes on as it
// came, and its result goes back.
unsafe impl RawMpiInterceptionLayer for SumOfRanks {
    fn finalize<F>(&self, next_f: UnsafeBox<'_, F>) -> c_int
    where
        F: FnOnce() -> c_int,
    {
        if let Err(error) = tell() {
            eprintln!("sum of ranks: {error}");
        }
        // SAFETY: MPI_Finalize must be called once, when communication is over: this is the application's call
        // of it, passed on once, and `tell` is done.
        unsafe { next_f.unwrap()() }
    }
}

impl Tool for SumOfRanks {
    const NEW: Self = SumOfRanks;
}

install_pmpi_layer!(SumOfRanks, name = "sum_of_ranks");
