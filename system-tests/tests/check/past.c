/* Calls that tools do not see: by a function of the program's own with the name of MPI's (`-DOWN`), or by PMPI_. */
#include <mpi.h>
#include <unistd.h>

#ifdef OWN
int MPI_Send(const void *buffer, int count, MPI_Datatype datatype, int to, int tag, MPI_Comm comm)
{
    return PMPI_Send(buffer, count, datatype, to, tag, comm);
}
#define RECV MPI_Recv
#else
#define RECV PMPI_Recv
#endif

int main(int argc, char **argv)
{
    int number = 0, rank;
    double real = 0;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Send(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Isend(&real, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sleep(3);
        MPI_Send(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        RECV(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&real, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
