//! A tool that uses `rmpi` in pmpi mode: before the end, rank 0 tells the sum of all ranks. Tools below
//! see nothing of it.

use mpi_tool_layer::mpi_sys::{c_int, pmpi};
use mpi_tool_layer::{RawMpiInterceptionLayer, Tool, UnsafeBox, install_pmpi_layer};
use rmpi::pmpi_mode as rmpi;

struct SumOfRanks;

/// Calls a function while errors of the predefined communicators return, whatever the application wants of them.
///
/// # Safety
/// MPI runs, and this thread may call it.
unsafe fn with_errors_returned(function: impl FnOnce()) {
    let [mut of_world, mut of_self] = [pmpi::MPI_ERRHANDLER_NULL; 2];
    // SAFETY: MPI must run, and be this thread's to call, as the caller promises. The communicators and the handler that
    // is set at first are predefined; the others are what MPI has given, and are freed once.
    unsafe {
        let all = [(pmpi::MPI_COMM_WORLD, &mut of_world), (pmpi::MPI_COMM_SELF, &mut of_self)];
        for (comm, theirs) in all {
            pmpi::MPI_Comm_get_errhandler(comm, theirs);
            pmpi::MPI_Comm_set_errhandler(comm, pmpi::MPI_ERRORS_RETURN);
        }
        function();
        let all = [(pmpi::MPI_COMM_WORLD, of_world), (pmpi::MPI_COMM_SELF, of_self)];
        for (comm, mut theirs) in all {
            pmpi::MPI_Comm_set_errhandler(comm, theirs);
            pmpi::MPI_Errhandler_free(&mut theirs);
        }
    }
}

/// Rank 0 tells the sum.
///
/// # Safety
/// MPI runs, errors of the predefined communicators return, and this thread may call MPI and is the only one that does.
unsafe fn tell() -> rmpi::RmpiResult {
    // SAFETY: `assume_initialized` wants an MPI that runs as long as the context, whose errors return, and that this
    // thread may call and no other calls meanwhile: the caller promises it, and the context ends here.
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
        // SAFETY: MPI must run, and be this thread's alone to call. It runs until the next function is called; the
        // standard lets one thread finalize it, when all others are done with it. In `tell`, errors return.
        unsafe {
            with_errors_returned(|| {
                if let Err(error) = tell() {
                    eprintln!("sum of ranks: {error}");
                }
            });
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
