/* Ranks that come late to collective operations, each time others. Rank 0 prints for each function how long all ranks
   together had to wait for the last one, in nanoseconds: what is between a rank's arrival and the last one's. The clock
   is the same for all processes of a host. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { CALLS = 6, MOST_RANKS = 8 };

static const char *names[CALLS] = {"MPI_Bcast",    "MPI_Allreduce", "MPI_Alltoall",
                                   "MPI_Exscan",   "MPI_Barrier",   "MPI_Neighbor_allgather"};

/* Comes so many tenths of a second late, and says when it is there. */
static long long late(int tenths)
{
    struct timespec now;
    for (int part = 0; part < tenths; part++)
        nanosleep(&(struct timespec){0, 100000000}, NULL);
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int argc, char **argv)
{
    int rank, ranks, from[MOST_RANKS], to[MOST_RANKS], gathered[2 * MOST_RANKS], one = 1, sum;
    long long there[CALLS], all[MOST_RANKS][CALLS];
    MPI_Comm half, ring, wide;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_dup(MPI_COMM_WORLD, &wide);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, (int[]){1}, 0, &ring);
    for (int i = 0; i < MOST_RANKS; i++)
        to[i] = rank;

    /* The root is there first, so that it would not wait. */
    there[0] = late(rank);
    MPI_Bcast(from, 1, MPI_INT, 0, MPI_COMM_WORLD);
    there[1] = late(ranks - rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, wide);
    there[2] = late(rank / 2);
    MPI_Alltoall(to, 1, MPI_INT, from, 1, MPI_INT, half);
    there[3] = late(rank == 1 ? 3 : 0);
    MPI_Exscan(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    there[4] = late(rank == 0 ? 2 : 0);
    MPI_Barrier(wide);
    /* Waits for neighbours only: nobody says how long. */
    there[5] = late(0);
    MPI_Neighbor_allgather(&rank, 1, MPI_INT, gathered, 1, MPI_INT, ring);

    MPI_Gather(there, CALLS, MPI_LONG_LONG, all, CALLS, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
    for (int call = 0; rank == 0 && call < CALLS - 1; call++) {
        long long wait = 0;
        for (int own = 0; own < ranks; own++) {
            long long last = 0;
            for (int other = 0; other < ranks; other++)
                if ((call != 2 || other % 2 == own % 2) && all[other][call] > last)
                    last = all[other][call];
            wait += last - all[own][call];
        }
        printf("%s %lld\n", names[call], wait);
    }
    MPI_Comm_free(&half);
    MPI_Comm_free(&wide);
    MPI_Comm_free(&ring);
    MPI_Finalize();
    return 0;
}
