/* Ends by a signal. */
#include <mpi.h>
#include <signal.h>

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    raise(SIGTERM);
    return 0;
}
