/* Topologies of all processes but the last one, which finalizes while the others still use them. */
#include <mpi.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size, sum, no = 0, ends[64], edges[64];
    MPI_Comm made[3];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int fewer = size - 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &fewer, &no, 0, &made[0]);
    for (int i = 0; i < fewer; i++) {
        ends[i] = i + 1;
        edges[i] = (i + 1) % fewer;
    }
    MPI_Graph_create(MPI_COMM_WORLD, fewer, ends, edges, 0, &made[1]);
    if (rank < fewer) {
        MPI_Comm_dup(made[0], &made[2]);
        for (int i = 0; i < 3; i++) {
            if (rank == fewer - 1) sleep(i ? 2 : 5);
            MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, made[i]);
            MPI_Comm_free(&made[i]);
        }
    }
    MPI_Finalize();
    return 0;
}
