/* The functions that calls.c can call, wrapped: BEFORE(name) is what the tool does at a call. */
#include <mpi.h>

int MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    BEFORE(0);
    return PMPI_Comm_rank(comm, rank);
}

double MPI_Wtime(void)
{
    BEFORE(1);
    return PMPI_Wtime();
}

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    BEFORE(2);
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int MPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                 void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                 MPI_Comm comm, MPI_Status *status)
{
    BEFORE(3);
    return PMPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype,
                         source, recvtag, comm, status);
}
