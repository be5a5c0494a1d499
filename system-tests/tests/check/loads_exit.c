/* Ends in a call of MPI: `./loads_exit HOW`. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *how;

static void leave(void *in, void *inout, int *length, MPI_Datatype *datatype) {
    (void)in, (void)inout, (void)length, (void)datatype;
    if (!strcmp(how, "_exit")) _exit(7);
    exit(7);
}

int main(int argc, char **argv) {
    int one = 1, two = 2;
    MPI_Op op;
    if (argc < 2) return 2;
    how = argv[1];
    MPI_Init(&argc, &argv);
    if (!strcmp(how, "abort")) MPI_Abort(MPI_COMM_WORLD, 7);
    if (!strcmp(how, "fatal")) MPI_Send(&one, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    MPI_Op_create(leave, 1, &op);
    MPI_Reduce_local(&one, &two, 1, MPI_INT, op);
    return 3;
}
