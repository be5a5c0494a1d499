/* A PMPI tool in C, which knows nothing of this framework. */
#include <mpi.h>
#include <stdio.h>

int MPI_Finalize(void) {
    fprintf(stderr, "the C tool sees MPI_Finalize\n");
    return PMPI_Finalize();
}
