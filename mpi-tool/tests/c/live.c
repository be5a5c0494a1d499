/* Rank 0 alone works in each step, for a known time; then a token goes to all others by way of each other. So the others wait for
 * rank 0, for as long as it works. Without an argument, it never ends; with one, after so many steps. */
#include <mpi.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, token = 0;
    long steps = argc > 1 ? atol(argv[1]) : -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (long step = 0; step != steps; step++) {
        MPI_Comm_size(MPI_COMM_WORLD, &size); /* WORKS BEHIND */
        if (rank == 0) usleep(100000);
        if (rank > 0) MPI_Recv(&token, 1, MPI_INT, rank - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* WAITS */
        if (rank < size - 1) MPI_Send(&token, 1, MPI_INT, rank + 1, 5, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
