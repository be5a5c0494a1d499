/* Programs with MPI_THREAD_MULTIPLE, right ones and wrong ones: `./multiple NAME`. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 3 };
static int rank, size;
static MPI_Comm comms[THREADS];
static pthread_barrier_t all;

/* The main thread waits for what this one sends late. */
static void *send_late(void *unused)
{
    int value = 1;
    sleep(6);
    MPI_Send(&value, 1, MPI_INT, rank, 5, MPI_COMM_WORLD);
    return unused;
}

/* Each thread has a communicator. */
static void *on_own(void *arg)
{
    MPI_Comm comm = *(MPI_Comm *)arg;
    int value = 1, sum;
    for (int i = 0; i < 200; i++) {
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
        MPI_Sendrecv(&value, 1, MPI_INT, (rank + 1) % size, i, &sum, 1, MPI_INT, MPI_ANY_SOURCE, i, comm, MPI_STATUS_IGNORE);
    }
    return arg;
}

/* Threads that take turns on one communicator, in one order on all ranks. */
static void *in_turns(void *arg)
{
    int own = (MPI_Comm *)arg - comms, value = 1, sum;
    for (int turn = 0; turn < 60; turn++) {
        pthread_barrier_wait(&all);
        if (turn % THREADS == own) MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    return arg;
}

/* An address that nobody may read. */
static void *const nowhere = (void *)8;

/* Each thread makes communicators between the same two groups, with the same tag, by a communicator of its own. */
static void *between(void *arg)
{
    MPI_Comm comm = *(MPI_Comm *)arg, half, inter, both;
    int low = rank < size / 2, count, in;
    for (int round = 0; round < 5; round++) {
        int out[16] = {0};
        MPI_Request requests[16];
        MPI_Comm_split(comm, low, rank, &half);
        MPI_Intercomm_create(half, 0, comm, low ? size / 2 : 0, 99, &inter);
        MPI_Comm_remote_size(inter, &count);
        for (int j = 0; j < count; j++) MPI_Isend(&out[j], 1, MPI_INT, j, 0, inter, &requests[j]);
        for (int j = 0; j < count; j++) MPI_Recv(&in, 1, MPI_INT, j, 0, inter, MPI_STATUS_IGNORE);
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        /* Between groups, a root gives or takes, and its neighbours do neither. */
        int all[16] = {0}, root = !low ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
        MPI_Bcast(low && rank != 0 ? NULL : &in, 1, MPI_INT, root, inter);
        /* MPICH 4.0.2 refuses a null pointer there. */
        MPI_Reduce(low ? nowhere : out, rank == 0 ? &in : NULL, 1, MPI_INT, MPI_SUM, root, inter);
        MPI_Gather(low ? NULL : out, 1, MPI_INT, rank == 0 ? all : NULL, 1, MPI_INT, root, inter);
        MPI_Scatter(rank == 0 ? all : NULL, 1, MPI_INT, low ? NULL : &in, 1, MPI_INT, root, inter);
        MPI_Intercomm_merge(inter, low, &both);
        MPI_Sendrecv(out, 1, MPI_INT, size - 1 - rank, 1, &in, 1, MPI_INT, MPI_ANY_SOURCE, 1, both, MPI_STATUS_IGNORE);
        MPI_Barrier(both);
        MPI_Comm_free(&both);
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }
    return arg;
}

/* Threads that take any message: who gets which, and in which order they return, nobody knows. */
static void *any(void *arg)
{
    char data[64];
    MPI_Status status;
    for (int i = 0; i < 100; i++) {
        MPI_Message message;
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(data, 64, status.MPI_TAG ? MPI_INT : MPI_CHAR, &message, &status);
    }
    return arg;
}

static void *finalize(void *unused)
{
    MPI_Finalize(); /* FINALIZE */
    return unused;
}

static void *at_once(void *arg)
{
    int value = 1, sum;
    pthread_barrier_wait(&all);
    for (int i = 0; i < 300; i++) MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* AT ONCE */
    return arg;
}

static void run(void *(*work)(void *), int count)
{
    pthread_t threads[THREADS];
    for (int i = 0; i < count; i++) pthread_create(&threads[i], 0, work, &comms[i]);
    for (int i = 0; i < count; i++) pthread_join(threads[i], 0);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    int level, value = 0;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    alarm(40);
    pthread_barrier_init(&all, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    if (!strcmp(name, "late")) {
        pthread_create(&thread, NULL, send_late, NULL);
        MPI_Recv(&value, 1, MPI_INT, rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        pthread_join(thread, NULL);
    }
    if (!strcmp(name, "own")) run(on_own, THREADS);
    if (!strcmp(name, "turns")) run(in_turns, THREADS);
    if (!strcmp(name, "between")) run(between, THREADS);
    if (!strcmp(name, "any")) {
        MPI_Request requests[2 * 100];
        char text[8] = {0};
        int numbers[8] = {0}, to = size - 1 - rank;
        for (int i = 0; i < 100; i++) MPI_Isend(text, i % 8, MPI_CHAR, to, 0, MPI_COMM_WORLD, &requests[2 * i]);
        for (int i = 0; i < 100; i++) MPI_Isend(numbers, i % 8, MPI_INT, to, 1, MPI_COMM_WORLD, &requests[2 * i + 1]);
        run(any, 2);
        MPI_Waitall(200, requests, MPI_STATUSES_IGNORE);
    }
    if (!strcmp(name, "at once")) run(at_once, THREADS);
    for (int i = 0; i < THREADS; i++) MPI_Comm_free(&comms[i]);
    if (!strcmp(name, "stand")) MPI_Recv(&value, 1, MPI_INT, size - 1 - rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* STAND */
    if (!strcmp(name, "finalize")) {
        pthread_create(&thread, NULL, finalize, NULL);
        pthread_join(thread, NULL);
    } else {
        MPI_Finalize();
    }
    if (level < MPI_THREAD_MULTIPLE) puts("no threads");
    puts("over");
    return 0;
}
