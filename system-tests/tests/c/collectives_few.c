/* A few collectives and synchronous sends to oneself, for tools that change calls. */
#include "expect.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, sum, value;
    MPI_Request request;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++) {
        MPI_Irecv(&value, 1, MPI_INT, rank, i, MPI_COMM_WORLD, &request);
        MPI_Ssend(&i, 1, MPI_INT, rank, i, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(value == i);
    }
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
