/* The module of late.c. */
#include "expect.h"

int run(int *argc, char ***argv) {
    int rank, ranks, sum;
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < 10; i++)
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks, sum %d\n", ranks, sum);
    MPI_Finalize();
    return 0;
}
