/* Two ranks whose shares are known: in each step, rank 0 works for 70 ms and sends, and rank 1 receives and works for 30 ms. So rank 1
 * is in MPI for about 70 % of the time. It measures how much it is, and writes that into a file: shares.c STEPS FILE. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime(), inside = 0;
    for (long step = atol(argv[1]); step > 0; step--) {
        if (rank == 0) {
            usleep(70000);
            MPI_Ssend(&token, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
            usleep(30000);
        } else {
            double enter = MPI_Wtime();
            MPI_Recv(&token, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            inside += MPI_Wtime() - enter;
            usleep(30000);
        }
    }
    if (rank == 1) {
        FILE *file = fopen(argv[2], "w");
        fprintf(file, "%.6f\n", inside / (MPI_Wtime() - begin));
        fclose(file);
    }
    MPI_Finalize();
    return 0;
}
