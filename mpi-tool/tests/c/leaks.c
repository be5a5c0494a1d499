/* The rank of the first argument, or all or none of them, leaves a datatype. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank;
    MPI_Datatype pair;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    int leaks = !strcmp(argv[1], "all") || (strcmp(argv[1], "none") && atoi(argv[1]) == rank);
    if (!leaks)
        MPI_Type_free(&pair);
    MPI_Finalize();
    return 0;
}
