/* Phases with names, and with what is none. The name of phase 3 is gone after the call. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(2, "solver");
    MPI_Barrier(MPI_COMM_WORLD);
    char *name = strdup("output of r\303\251sum\303\251s");
    MPI_Pcontrol(3, name);
    memset(name, 'x', strlen(name));
    free(name);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(2, "another name");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(4, "two\nlines");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(5, (char *)8);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(6, "");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(-1, "solver");
    MPI_Finalize();
    return 0;
}
