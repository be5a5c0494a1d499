/* A ring and a reduction, ROUNDS times, as any program of many ranks has them: `./ranks ROUNDS`. The first rank prints a line of JSON:
   the longest MPI_Init, its own MPI_Finalize, and the memory of a rank in KiB (its share of what it has in common with others, and
   what is its own), on average, before the end. Waiting ranks let others go on. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec * 1e-9;
}

static long memory(const char *name)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long sum = 0;
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, name, strlen(name))) sum = atol(line + strlen(name));
    if (file) fclose(file);
    return sum;
}

int main(int argc, char **argv)
{
    double time = now();
    MPI_Init(&argc, &argv);
    double init = now() - time, longest;
    int rank, size, in, sum, rounds = argc > 1 ? atoi(argv[1]) : 2;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < rounds; i++) {
        MPI_Request requests[2];
        MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    long own[2] = {memory("Pss:"), memory("Private_Dirty:")}, all[2];
    MPI_Reduce(own, all, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&init, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    time = now();
    MPI_Finalize();
    if (rank == 0)
        printf("{\"init\": %.6f, \"finalize\": %.6f, \"memory\": %.1f, \"own\": %.1f, \"calls\": %d}\n", longest, now() - time,
               (double)all[0] / size, (double)all[1] / size, 8 + 4 * rounds);
    return 0;
}
