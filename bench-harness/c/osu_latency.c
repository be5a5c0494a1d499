/* What `osu latency` does, in C: messages back and forth by size.
 *
 *   osu_latency [MAX [ROUNDS]]
 *
 * Sizes 0, 1, 2, 4 ... MAX; messages of more than 8192 bytes have a tenth of the rounds. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    size_t max = argc > 1 ? strtoul(argv[1], NULL, 10) : (size_t)1 << 22;
    int rounds = argc > 2 ? atoi(argv[2]) : 10000, rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("# bytes  us\n");
    for (size_t size = 0; size <= max; size = size ? 2 * size : 1) {
        int measured = size > 8192 ? rounds / 10 : rounds, warm_up = (measured + 99) / 100;
        char *buffer = malloc(size + 1);
        memset(buffer, 'a', size);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = 0;
        for (int round = 0; round < warm_up + measured; round++) {
            if (rank == 0) {
                if (round == warm_up)
                    start = MPI_Wtime();
                MPI_Send(buffer, (int)size, MPI_UINT8_T, 1, 1, MPI_COMM_WORLD);
                MPI_Recv(buffer, (int)size, MPI_UINT8_T, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else {
                MPI_Recv(buffer, (int)size, MPI_UINT8_T, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(buffer, (int)size, MPI_UINT8_T, 0, 1, MPI_COMM_WORLD);
            }
        }
        if (rank == 0)
            printf("%-8zu %12.4f\n", size, (MPI_Wtime() - start) * 1e6 / (2.0 * measured));
        free(buffer);
    }
    MPI_Finalize();
    return 0;
}
