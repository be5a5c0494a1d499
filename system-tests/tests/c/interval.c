/* Ranks that send to themselves for so many tenths of a second, by the first argument. With a second argument, each process
 * is killed then, by the signal that nobody can catch. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, out = 0, in;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    double end = PMPI_Wtime() + atof(argv[1]) / 10;
    while (PMPI_Wtime() < end)
        MPI_Sendrecv(&out, 1, MPI_INT, rank, 0, &in, 1, MPI_INT, rank, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    if (argc > 2)
        raise(SIGKILL);
    MPI_Finalize();
    return 0;
}
