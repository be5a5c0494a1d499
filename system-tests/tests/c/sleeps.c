/* Ranks that work for 400 ms, 800 ms, 1200 ms and so on, and then wait for each other. */
#include <mpi.h>
#include <time.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int part = 0; part < 4 * (rank + 1); part++)
        nanosleep(&(struct timespec){0, 100000000}, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
