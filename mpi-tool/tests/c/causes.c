/* Ranks that make others wait, by sleeping in known places. The first argument says which; the rank that is late prints how
 * long it has slept too long, in seconds.
 *
 *   chain   rank 0 alone sleeps, and a token goes from rank to rank
 *   skew    the last rank sleeps too long first, and then as long as all others, while these wait already
 *   nested  rank 1 sleeps too long before a collective operation of some ranks, between two of all
 *   posted  the last rank sleeps too long while its messages are on their way
 *   places  rank 0 sleeps for long in one place, and rank 1 in this one for less, and in another one, too: these two print
 *           their rank and how long they have slept in each place
 */
#include <mpi.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Sleeps are long, so that what a busy machine adds is little. */
enum { ROUNDS = 5 };

static int rank, size;

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

static double chain(void)
{
    double slept = 0;
    int token = 0;
    for (int round = 0; round < ROUNDS; round++) {
        sleep_for(1);
        MPI_Comm_test_inter(MPI_COMM_WORLD, &token); /* before the slow part */
        if (rank == 0)
            slept += sleep_for(400);
        if (rank > 0)
            MPI_Recv(&token, 1, MPI_INT, rank - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank < size - 1)
            MPI_Send(&token, 1, MPI_INT, rank + 1, 5, MPI_COMM_WORLD); /* behind the slow part */
    }
    return slept;
}

static double skew(void)
{
    double slept = 0, sum = 0;
    int flag;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD); /* before what is too long */
        if (rank == size - 1)
            slept += sleep_for(400);
        MPI_Comm_test_inter(MPI_COMM_WORLD, &flag); /* behind what is too long */
        sleep_for(100);
        MPI_Allreduce(&slept, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    return slept;
}

static double nested(void)
{
    double slept = 0, sum = 0;
    MPI_Comm part;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Bcast(&sum, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); /* before the part's work */
        if (rank == 1)
            slept += sleep_for(400);
        MPI_Allreduce(&slept, &sum, 1, MPI_DOUBLE, MPI_SUM, part); /* behind the part's work */
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_free(&part);
    return slept;
}

static double posted(void)
{
    double slept = 0, in, out = 0;
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Request requests[2];
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Irecv(&in, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&out, 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD, &requests[1]); /* before the overlap */
        sleep_for(20);
        if (rank == size - 1)
            slept += sleep_for(400);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* behind the overlap */
    }
    return slept;
}

static void places(void)
{
    double one = 0, other = 0;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Barrier(MPI_COMM_WORLD); /* before the one place */
        if (rank < 2)
            one += sleep_for(rank == 0 ? 400 : 300);
        MPI_Barrier(MPI_COMM_WORLD); /* between both places */
        if (rank == 1)
            other += sleep_for(250);
        MPI_Barrier(MPI_COMM_WORLD); /* behind the other place */
    }
    if (rank < 2)
        printf("%d %f %f\n", rank, one, other);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    double slept = 0;
    if (strcmp(argv[1], "chain") == 0)
        slept = chain();
    else if (strcmp(argv[1], "skew") == 0)
        slept = skew();
    else if (strcmp(argv[1], "nested") == 0)
        slept = nested();
    else if (strcmp(argv[1], "posted") == 0)
        slept = posted();
    else
        places();
    if (slept > 0)
        printf("%f\n", slept);
    MPI_Finalize();
    return 0;
}
