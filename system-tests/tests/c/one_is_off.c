/* Rank 0 switches measuring off and the others do not, while all make the same collective calls. */
#include <mpi.h>

int main(int argc, char **argv)
{
    int rank, number = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Pcontrol(rank == 0 ? 0 : 1);
    for (int i = 0; i < 5; i++) {
        MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
