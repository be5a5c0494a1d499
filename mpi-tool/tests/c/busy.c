/* A right program: the last rank makes MPI calls for argv[1] seconds, the others wait for it in a barrier. With "stuck" as the
 * second argument, ranks 0 and 1 then receive from each other, for ever. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, flag, value = 0;
    double end = argc > 1 ? atof(argv[1]) : 10;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == size - 1)
        for (double start = MPI_Wtime(); MPI_Wtime() - start < end; usleep(1000))
            MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 2 && rank < 2)
        MPI_Recv(&value, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0)
        puts("busy: right");
    MPI_Finalize();
    return 0;
}
