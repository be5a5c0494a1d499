/* Starts two programs, itself both times. Only the root says what is to be started, and without arguments. Nothing is wrong here. */
#include <mpi.h>
#include <stdio.h>

#if !defined(MPICH_NUMVERSION) || MPICH_NUMVERSION >= 40100000
#define CAN_START 1
#else
/* Debian's MPICH 4.0.2 does not survive it. */
#define CAN_START 0
#endif

int main(int argc, char **argv) {
    MPI_Comm parent, children;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        MPI_Comm_disconnect(&parent);
    } else if (CAN_START) {
        char *programs[] = {argv[0], argv[0]};
        int numbers[] = {1, 1};
        MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
        if (rank == 0)
            MPI_Comm_spawn_multiple(2, programs, MPI_ARGVS_NULL, numbers, infos, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
        else
            MPI_Comm_spawn_multiple(2, NULL, NULL, NULL, NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
        MPI_Comm_disconnect(&children);
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE);
        MPI_Comm_disconnect(&children);
        if (rank == 0) puts("started");
    }
    MPI_Finalize();
    return 0;
}
