/* Receives that fail, whose error handler returns: MPICH 5 returns success then and sets no status. What was in
 * the status before is no size of a message. Runs on 1 rank, by messages to itself. */
#include "moved.h"

static int handled;

static void on_comm(MPI_Comm *comm, int *code, ...) { handled++; }

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(on_comm, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);

    int in[4], out[4] = {1, 2, 3, 4};
    MPI_Status status;
    /* No rank, then no tag: large numbers, a multiple of 4 and not, also negative ones as Open MPI would have
     * them. A cancelled message has the lowest bit set in MPICH's second word. */
    for (int i = 0; i < 3; i++) {
        memset(&status, i == 0 ? 0x54 : i == 1 ? 0x7f : 0xfc, sizeof status);
        MPI_Recv(in, 4, MPI_INT, 1000, 0, comm, &status);
        MPI_Recv(in, 4, MPI_INT, 0, -5, comm, &status);
    }
    CHECK(handled == 6);

    /* All that arrives. */
    MPI_Sendrecv(out, 4, MPI_INT, 0, 0, in, 4, MPI_INT, 0, 0, comm, &status);
    moved(SENT, "point-to-point", "MPI_INT", 4);
    moved(RECEIVED, "point-to-point", "MPI_INT", 4);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
