/* A PMPI tool that counts two functions, and asks MPI something when it ends. */
#include <mpi.h>
#include <stdio.h>

static int ranks, sends;

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    ranks++;
    return PMPI_Comm_rank(comm, rank);
}

int MPI_Send(const void *buf, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    /* By its address, too. */
    int (*volatile next)(const void *, int, MPI_Datatype, int, int, MPI_Comm) = PMPI_Send;
    sends++;
    return next(buf, count, type, to, tag, comm);
}

int MPI_Finalize(void)
{
    int rank;
    char line[100];
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(line, sizeof line, "pmpi: rank %d: %d ranks, %d sends\n", rank, ranks, sends);
    fputs(line, stderr);
    return PMPI_Finalize();
}
