/* Makes calls that cost next to nothing, so that what a tool adds can be seen.
 *
 *   calls FUNCTION CALLS [THREADS]
 *
 * FUNCTION is a name below; prints the nanoseconds per call of the thread that took longest. The
 * calls are in measured(), for callgrind's --toggle-collect. */
#include <mpi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *function;
static long calls;
static pthread_barrier_t start;

__attribute__((noinline)) static void measured_comm_rank(long n)
{
    int rank;
    while (n--)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}

__attribute__((noinline)) static void measured_wtime(long n)
{
    while (n--)
        MPI_Wtime();
}

__attribute__((noinline)) static void measured_send(long n)
{
    int value = 0;
    while (n--)
        MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

__attribute__((noinline)) static void measured_sendrecv(long n)
{
    int in = 0, out = 0;
    while (n--)
        MPI_Sendrecv(&out, 1, MPI_INT, MPI_PROC_NULL, 0, &in, 1, MPI_INT, MPI_PROC_NULL, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A message to itself: three calls. */
__attribute__((noinline)) static void measured_message(long n)
{
    double in, out = 0;
    MPI_Request request;
    while (n--) {
        MPI_Irecv(&in, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF, &request);
        MPI_Send(&out, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

/* The same, in one call. */
__attribute__((noinline)) static void measured_exchange(long n)
{
    double in, out = 0;
    while (n--)
        MPI_Sendrecv(&out, 1, MPI_DOUBLE, 0, 0, &in, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
}

__attribute__((noinline)) static void measured_bcast(long n)
{
    double value = 0;
    while (n--)
        MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_SELF);
}

__attribute__((noinline)) static void measured_allreduce(long n)
{
    double in = 0, out;
    while (n--)
        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

static void measured(long n)
{
    if (strcmp(function, "MPI_Comm_rank") == 0)
        measured_comm_rank(n);
    else if (strcmp(function, "MPI_Wtime") == 0)
        measured_wtime(n);
    else if (strcmp(function, "MPI_Send") == 0)
        measured_send(n);
    else if (strcmp(function, "MPI_Sendrecv") == 0)
        measured_sendrecv(n);
    else if (strcmp(function, "message") == 0)
        measured_message(n);
    else if (strcmp(function, "exchange") == 0)
        measured_exchange(n);
    else if (strcmp(function, "MPI_Bcast") == 0)
        measured_bcast(n);
    else if (strcmp(function, "MPI_Allreduce") == 0)
        measured_allreduce(n);
    else
        abort();
}

static void *thread(void *nanoseconds)
{
    struct timespec before, after;
    measured_comm_rank(1000); /* what happens once has happened */
    pthread_barrier_wait(&start);
    clock_gettime(CLOCK_MONOTONIC, &before);
    measured(calls);
    clock_gettime(CLOCK_MONOTONIC, &after);
    *(double *)nanoseconds =
        (after.tv_sec - before.tv_sec) * 1e9 + (after.tv_nsec - before.tv_nsec);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return fprintf(stderr, "usage: %s FUNCTION CALLS [THREADS]\n", argv[0]), 2;
    function = argv[1];
    calls = atol(argv[2]);
    int threads = argc > 3 ? atoi(argv[3]) : 1, provided;
    MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    pthread_barrier_init(&start, NULL, threads);
    pthread_t other[threads];
    double took[threads], longest = 0;
    for (int i = 1; i < threads; i++)
        pthread_create(&other[i], NULL, thread, &took[i]);
    thread(&took[0]);
    for (int i = 1; i < threads; i++)
        pthread_join(other[i], NULL);
    for (int i = 0; i < threads; i++)
        longest = took[i] > longest ? took[i] : longest;
    printf("%.4f\n", longest / calls);
    MPI_Finalize();
    return 0;
}
