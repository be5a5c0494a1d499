/* MPI_Abort with an error code by rank 1, while the other ranks wait in a barrier. Only rank 1's
 * counts are exact: the others are killed. */
#include "expect.h"
#include <unistd.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, sum = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        printf("rank 1 of %d aborts\n", size);
        fflush(stdout);
    }
    for (int round = 0; round < 100; round++)
        MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == 99 * size);

    if (rank == 1) {
        /* What the macro would do, and the counts written while there is time. */
        expect_call("MPI_Abort");
        expect_write();
        (MPI_Abort)(MPI_COMM_WORLD, 5);
        /* MPICH 5.0.2's returns, and the launcher ends this process later. */
        for (;;) pause();
    }
    /* One that meets the end of rank 1 in the barrier may come to its own end before it is killed. */
    unsetenv("EXPECT_DIR");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
