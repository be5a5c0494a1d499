/* Rank 0 makes a child by fork, which calls MPI and makes what it does not free: questions only, as more would harm MPI itself.
 * The child ends as the first argument says ("exit", "_exit"), or rank 0 goes on beside it ("beside").
 * With "killed", nobody calls MPI after the child has ended, and rank 0 is ended by SIGKILL. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 100, SIZES = 50000 };

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "exit";
    int rank, size, status = 0;
    MPI_Datatype pair;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    fflush(NULL);
    pid_t child = rank == 0 ? fork() : 1;
    if (child == 0) {
        MPI_Datatype other;
        for (int i = 0; i < SIZES; i++)
            MPI_Type_size(pair, &size);
        MPI_Type_contiguous(3, MPI_INT, &other);
        MPI_Type_free(&pair);
        if (strcmp(way, "_exit") == 0)
            _exit(size == 2 * sizeof(int) ? 0 : 1);
        exit(size == 2 * sizeof(int) ? 0 : 1);
    }
    if (strcmp(way, "beside") == 0)
        for (int i = 0; i < RANKS; i++)
            MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0 && (waitpid(child, &status, 0) != child || status != 0))
        printf("the child failed\n");
    if (strcmp(way, "killed") == 0) {
        if (rank == 0)
            raise(SIGKILL);
        pause();
    }
    if (strcmp(way, "beside") != 0)
        for (int i = 0; i < RANKS; i++)
            MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Type_free(&pair);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("the end\n");
    MPI_Finalize();
    return 0;
}
