/* Goes on after errors: rank 0 sends more than rank 1 has room for, and rank 1 asks for the error and goes on. Each wait
 * fails, and MPI may leave the handle of a request that has failed. Nothing else is wrong here. */
#include <mpi.h>
#include <stdlib.h>

static int sent[4], got[2];

static void must_fail(int code) {
    if (code == MPI_SUCCESS)
        abort();
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        for (int i = 0; i < 4; i++)
            MPI_Send(sent, 4, MPI_INT, 1, i, MPI_COMM_WORLD);
    } else {
        MPI_Request kept, once;
        MPI_Status status;
        MPI_Irecv(got, 2, MPI_INT, 0, 0, MPI_COMM_WORLD, &once);
        must_fail(MPI_Wait(&once, &status));
        int done = 0, code = MPI_SUCCESS;
        MPI_Irecv(got, 2, MPI_INT, 0, 1, MPI_COMM_WORLD, &once);
        while (!done && code == MPI_SUCCESS)
            code = MPI_Test(&once, &done, MPI_STATUS_IGNORE);
        must_fail(code);
        MPI_Recv_init(got, 2, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &kept);
        for (int i = 0; i < 2; i++) {
            MPI_Start(&kept);
            must_fail(MPI_Wait(&kept, &status));
        }
        MPI_Request_free(&kept);
    }
    MPI_Finalize();
    return 0;
}
