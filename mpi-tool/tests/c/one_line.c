/* Calls of which several are in one line: by a macro, and by a compiler that unrolls a loop. */
#include <mpi.h>

#define THRICE(call) call; call; call

static void several(void) { THRICE(MPI_Barrier(MPI_COMM_WORLD)); }

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    several();
    for (int i = 0; i < 2; i++) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
