/* Two ranks that wait for each other in turns. Each prints when it was computing and when it was in a barrier, in
   nanoseconds since it began its first call: "RANK computes|waits FROM TO". */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { TURNS = 4 };

static long long start;

static long long now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec - start;
}

int main(int argc, char **argv)
{
    int rank;
    long long moments[TURNS][3];
    start = now();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int turn = 0; turn < TURNS; turn++) {
        moments[turn][0] = now();
        for (int part = 0; turn % 2 == rank && part < 4; part++)
            nanosleep(&(struct timespec){0, 100000000}, NULL);
        moments[turn][1] = now();
        MPI_Barrier(MPI_COMM_WORLD);
        moments[turn][2] = now();
    }
    for (int turn = 0; turn < TURNS; turn++)
        if (turn % 2 == rank)
            printf("%d computes %lld %lld\n", rank, moments[turn][0], moments[turn][1]);
        else
            printf("%d waits %lld %lld\n", rank, moments[turn][1], moments[turn][2]);
    MPI_Finalize();
    return 0;
}
