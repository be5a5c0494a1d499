/* Operations on a communicator with a process of another world, which comes late to them. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
#if !defined(MPICH_NUMVERSION) || MPICH_NUMVERSION >= 40100000
    MPI_Comm parent, between, all;
    MPI_Request request;
    MPI_Win win;
    int value = 1, sum, rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL)
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
    else
        between = parent;
    MPI_Intercomm_merge(between, parent != MPI_COMM_NULL, &all);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    for (int i = 0; i < 4; i++) {
        if (parent != MPI_COMM_NULL) sleep(i ? 2 : 5);
        if (i == 0) MPI_Barrier(all);
        if (i == 1) MPI_Bcast(&value, 1, MPI_INT, size - 1, all);
        if (i == 2) {
            MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, all, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        if (i == 3) {
            MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, all, &win);
            MPI_Win_fence(0, win);
            MPI_Win_free(&win);
        }
    }
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&between);
    MPI_Finalize();
#endif
    return 0;
}
