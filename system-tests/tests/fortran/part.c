/* The part in C of a program in two languages. */
#include <mpi.h>

int part_in_c(MPI_Fint comm) {
    int rank, sum = 0;
    /* No call that counts: it is none under MPICH. */
#ifdef OPEN_MPI
    MPI_Comm own = PMPI_Comm_f2c(comm);
#else
    MPI_Comm own = MPI_Comm_f2c(comm);
#endif
    PMPI_Comm_rank(own, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, own);
    MPI_Barrier(own);
    return sum;
}
