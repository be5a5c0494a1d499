/* A second MPI_Init, which the standard forbids: an MPI returns an error or ends the process. */
#include "expect.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (rank == 0) {
        printf("first init done\n");
        fflush(stdout);
    }

    /* What the macro would do, and the counts written while there is time. The barrier is for
     * MPIs that end the process: no rank is killed before it has written. */
    expect_call("MPI_Barrier");
    expect_call("MPI_Init");
    expect_write();
    (MPI_Barrier)(MPI_COMM_WORLD);
    int error = (MPI_Init)(&argc, &argv);

    if (rank == 0) {
        int class = MPI_SUCCESS;
        MPI_Error_class(error, &class);
        printf("second init: %s\n", class == MPI_SUCCESS ? "success" : "error");
    }
    MPI_Finalize();
    return 0;
}
