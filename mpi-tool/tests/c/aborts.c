/* Rank 0 ends all ranks while the others are in a barrier. */
#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Abort(MPI_COMM_WORLD, 5);
        /* MPICH 5.0.2 returns now and then, and its launcher ends the ranks a little later. */
        pause();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}
