//! Sums the ranks by `MPI_Allreduce` five times and by `PMPI_Allreduce` seven times: with a call
//! counter preloaded, five a rank are counted.

use core::ffi::c_int;
use core::ptr;

/// The same source over either module.
macro_rules! sum_of_ranks {
    ($mpi:path, $times:literal) => {{
        use $mpi as mpi;
        let (mut rank, mut sum): (c_int, c_int) = (0, 0);
        for _ in 0..$times {
            // SAFETY: MPI is initialized, and not finalized before the end of `main`. The buffers hold
            // the one int that the count and the datatype say, and are different ones. The library has
            // both functions, by either name.
            let result = unsafe {
                mpi::MPI_Comm_rank(mpi::MPI_COMM_WORLD, &mut rank);
                mpi::MPI_Allreduce(
                    (&raw const rank).cast(),
                    (&raw mut sum).cast(),
                    1,
                    mpi::MPI_INT,
                    mpi::MPI_SUM,
                    mpi::MPI_COMM_WORLD,
                )
            };
            assert_eq!(result, mpi::MPI_SUCCESS);
        }
        (rank, sum)
    }};
}

fn main() {
    // SAFETY: MPI_Init is called once, first of all, in the main thread; its arguments may be null.
    unsafe { mpi_sys::MPI_Init(ptr::null_mut(), ptr::null_mut()) };
    let (rank, seen) = sum_of_ranks!(mpi_sys, 5);
    let (_, unseen) = sum_of_ranks!(mpi_sys::pmpi, 7);
    assert_eq!(seen, unseen);
    if rank == 0 {
        println!("sum {seen}");
    }
    // SAFETY: MPI_Finalize is called once, by the thread that initialized MPI; all operations are
    // complete, and nothing of MPI is used after this.
    unsafe { mpi_sys::MPI_Finalize() };
}
