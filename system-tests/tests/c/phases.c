/* Calls in phases, and while measuring is switched off: what is where is in the comments. */
#include <mpi.h>

static void barriers(int number)
{
    for (int i = 0; i < number; i++)
        MPI_Barrier(MPI_COMM_WORLD);
}

/* A message to oneself, from two calls to one. */
static void start(int *out, int *in, MPI_Request *requests)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Irecv(in, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[1]);
}

int main(int argc, char **argv)
{
    int out = 1, in;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Init(&argc, &argv);
    barriers(3); /* in no phase */
    MPI_Pcontrol(2);
    barriers(2); /* in phase 2, and a message that arrives in phase 3 */
    start(&out, &in, requests);
    MPI_Pcontrol(3, "with a name");
    MPI_Waitall(2, requests, statuses);
    barriers(1); /* in phase 3 */
    MPI_Pcontrol(2);
    barriers(5); /* in phase 2 again */
    start(&out, &in, requests);
    MPI_Pcontrol(0);
    MPI_Waitall(2, requests, statuses); /* not measured, but what has arrived is */
    barriers(7);
    start(&out, &in, requests); /* not measured, and neither is what arrives later */
    MPI_Pcontrol(1);
    MPI_Waitall(2, requests, statuses);
    MPI_Pcontrol(-1);
    barriers(4); /* in no phase */
    MPI_Finalize();
    return 0;
}
