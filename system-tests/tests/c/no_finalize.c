/* A program that exits with 0 without MPI_Finalize. Its launcher may kill the remaining ranks
 * then, so that only a run with one rank has a sure exit status and complete counts. */
#include "expect.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, token = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < 20; round++) {
        MPI_Request request;
        MPI_Isend(&round, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &request);
        MPI_Recv(&token, 1, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(token == round);
    }
    if (rank == 0) {
        printf("exit without finalize\n");
        fflush(stdout);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    exit(0);
}
