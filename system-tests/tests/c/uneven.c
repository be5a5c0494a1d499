/* Ranks that call differently: rank r calls MPI_Comm_size 10 * r times, rank 2 MPI_Wtime once. */
#include "expect.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10 * rank; i++)
        MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 2)
        MPI_Wtime();
    MPI_Finalize();
    return 0;
}
