/* Amdahl's program: a fixed amount of work that all ranks share, and a part that rank 0 does alone while the others wait. Both
 * are sleeps. Each rank prints how long the program took between MPI_Init and MPI_Finalize by its own clock, how long it has slept
 * alone, and how long it has slept in all, in seconds. */
#include <mpi.h>

#include <stdio.h>
#include <time.h>

/* Sleeps are long, so that what a busy machine adds is little. In milliseconds, of each round. */
enum { ROUNDS = 4, ALONE = 100, SHARED = 400 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

static double sleep_for(long milliseconds)
{
    double begin = now();
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&time, &time) != 0)
        continue;
    return now() - begin;
}

static double alone, slept;

static void round_of(int rank, int size)
{
    int data = 0;
    MPI_Comm_test_inter(MPI_COMM_WORLD, &data); /* before what rank 0 does alone */
    if (rank == 0)
        alone += sleep_for(ALONE);
    MPI_Bcast(&data, 1, MPI_INT, 0, MPI_COMM_WORLD); /* behind what rank 0 does alone */
    slept += sleep_for(SHARED / size);
    MPI_Barrier(MPI_COMM_WORLD); /* behind what all share */
}

int main(int argc, char **argv)
{
    int rank, size;
    double begin;
    MPI_Init(&argc, &argv);
    begin = now();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < ROUNDS; round++)
        round_of(rank, size);
    printf("%.6f %.6f %.6f\n", now() - begin, alone, alone + slept);
    MPI_Finalize();
    return 0;
}
