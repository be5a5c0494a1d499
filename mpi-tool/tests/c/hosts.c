/* Says which host each rank is on, and sends a message around all ranks. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, ranks, token = 0, length;
    char name[MPI_MAX_PROCESSOR_NAME];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Get_processor_name(name, &length);
    printf("rank %d of %d is on %s\n", rank, ranks, name);
    for (int round = 0; round < 5; round++) {
        if (rank == 0)
            MPI_Send(&token, 1, MPI_INT, 1 % ranks, 0, MPI_COMM_WORLD);
        MPI_Recv(&token, 1, MPI_INT, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        token++;
        if (rank != 0)
            MPI_Send(&token, 1, MPI_INT, (rank + 1) % ranks, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return rank == 0 && token != 5 * ranks;
}
