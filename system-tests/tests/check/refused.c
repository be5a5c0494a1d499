/* Goes on after an error of a collective operation: rank 0 gives it a wrong argument, asks for the error, and calls it again. The
 * other ranks call it once. Nothing else is wrong here. */
#include <mpi.h>
#include <stdlib.h>

static int data[4], all[64];

static void must_fail(int code) {
    if (code == MPI_SUCCESS) abort();
}

int main(int argc, char **argv) {
    int rank, provided;
    MPI_Win window;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);

    if (rank == 0) must_fail(MPI_Bcast(data, -1, MPI_INT, 0, MPI_COMM_WORLD));
    MPI_Bcast(data, 4, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Gather(data, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Reduce(data, all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);

    /* What is made next is the same on all ranks. */
    MPI_Win_create(data, sizeof data, sizeof *data, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    if (rank == 0) MPI_Put(data, 1, MPI_INT, 1, 1, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
