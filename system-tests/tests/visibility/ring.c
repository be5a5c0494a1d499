/* What each program of this folder does, in its language: five times two messages of 1000 integers
 * around a ring, then three collective operations. `cargo xtask matrix` knows what tools must count. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    int sent[1000], received[1000];
    for (int i = 0; i < 1000; i++)
        sent[i] = rank;
    for (int round = 0; round < 5; round++) {
        MPI_Request receive, send;
        MPI_Irecv(received, 1000, MPI_INT, left, 1, MPI_COMM_WORLD, &receive);
        MPI_Isend(sent, 1000, MPI_INT, right, 1, MPI_COMM_WORLD, &send);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        MPI_Sendrecv(sent, 1000, MPI_INT, right, 2, received, 1000, MPI_INT, left, 2, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    double values[500] = {0};
    MPI_Bcast(values, 500, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    int mine[10], sums[10];
    for (int i = 0; i < 10; i++)
        mine[i] = received[i];
    MPI_Allreduce(mine, sums, 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("sum %d\n", sums[9]);
    MPI_Finalize();
    return 0;
}
