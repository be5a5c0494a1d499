/*
 * Wrong programs, one by one, by the first argument: all ranks wait for ever, in more ways than those of `hang.c`. All run on
 * four ranks.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORLD MPI_COMM_WORLD

static int rank, size, one = 1, all[4];
static char buffer[1 << 22];

/* What nobody sends. */
static void *receive(void *from) {
    MPI_Recv(buffer, 1, MPI_CHAR, *(int *)from, 5, WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

static void waits_for(int from) { receive(&from); }

static void between(void) {
    MPI_Comm half, both;
    MPI_Comm_split(WORLD, rank / 2, rank, &half);
    MPI_Intercomm_create(half, 0, WORLD, rank < 2 ? 2 : 0, 9, &both);
    if (rank == 3) waits_for(0);
    MPI_Barrier(both);
}

/* Each sends to the one that it wants to receive from. */
static void exchange(void) {
    int next = (rank + 1) % size;
    MPI_Sendrecv_replace(buffer, 1, MPI_CHAR, next, 1, next, 1, WORLD, MPI_STATUS_IGNORE);
}

static void synchronous_ring(void) { MPI_Ssend(buffer, 1, MPI_CHAR, (rank + 1) % size, 1, WORLD); }

static void persistent(void) {
    MPI_Request request;
    if (rank == 0) {
        MPI_Recv_init(buffer, 1, MPI_CHAR, 1, 3, WORLD, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Send_init(buffer, 1, MPI_CHAR, 0, 3, WORLD, &request);
    }
    MPI_Barrier(WORLD);
}

static void probe(void) {
    MPI_Message message;
    if (rank == 0) MPI_Mprobe(1, 9, WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Barrier(WORLD);
}

static void any_source(void) {
    if (rank == 0) waits_for(MPI_ANY_SOURCE);
    MPI_Barrier(WORLD);
}

static void idup(void) {
    MPI_Comm copy;
    MPI_Request request;
    if (rank == 2) waits_for(0);
    MPI_Comm_idup(WORLD, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void split(void) {
    MPI_Comm half;
    if (rank == 2) waits_for(0);
    MPI_Comm_split(WORLD, rank / 2, rank, &half);
}

static void file(const char *path) {
    MPI_File file;
    if (rank == 1) waits_for(0);
    MPI_File_open(WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
}

static void window(int in_fence) {
    MPI_Win window;
    MPI_Win_create(buffer, sizeof buffer, 1, MPI_INFO_NULL, WORLD, &window);
    if (rank == 1) waits_for(0);
    if (in_fence) MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

static void gather(void) {
    if (rank == 0) MPI_Barrier(WORLD);
    MPI_Gather(buffer, 1 << 20, MPI_CHAR, buffer, 1 << 20, MPI_CHAR, 0, WORLD);
}

static void scatter(void) {
    if (rank == 2) waits_for(0);
    MPI_Scatter(all, 1, MPI_INT, &one, 1, MPI_INT, 2, WORLD);
}

static void itself(void) {
    if (rank == 0) waits_for(0);
    MPI_Barrier(WORLD);
}

/* Two threads of the first rank wait for one rank each, and these for it. */
static void threads(void) {
    static int from[] = {1, 2};
    pthread_t thread;
    if (rank == 0) {
        pthread_create(&thread, NULL, receive, &from[1]);
        waits_for(from[0]);
        pthread_join(thread, NULL);
    } else if (rank < 3) {
        waits_for(0);
    }
    MPI_Barrier(WORLD);
}

static void wait_some(void) {
    MPI_Request requests[2];
    int count, which[2];
    if (rank == 0) {
        MPI_Irecv(buffer, 1, MPI_CHAR, 1, 5, WORLD, &requests[0]);
        MPI_Irecv(buffer + 1, 1, MPI_CHAR, 2, 5, WORLD, &requests[1]);
        MPI_Waitsome(2, requests, &count, which, MPI_STATUSES_IGNORE);
    }
    MPI_Barrier(WORLD);
}

/* A grid of two by two: rows and columns in another order. */
static void grid(void) {
    MPI_Comm row, column;
    MPI_Comm_split(WORLD, rank / 2, rank, &row);
    MPI_Comm_split(WORLD, rank % 2, rank, &column);
    int row_first = rank == 0 || rank == 3;
    MPI_Barrier(row_first ? row : column);
    MPI_Barrier(row_first ? column : row);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "", *argument = argc > 2 ? argv[2] : "";
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
#define IS(name) (strcmp(what, name) == 0)
    if (IS("between")) between();
    else if (IS("exchange")) exchange();
    else if (IS("synchronous ring")) synchronous_ring();
    else if (IS("persistent")) persistent();
    else if (IS("probe")) probe();
    else if (IS("any source")) any_source();
    else if (IS("idup")) idup();
    else if (IS("split")) split();
    else if (IS("file")) file(argument);
    else if (IS("fence")) window(1);
    else if (IS("window free")) window(0);
    else if (IS("gather")) gather();
    else if (IS("scatter")) scatter();
    else if (IS("itself")) itself();
    else if (IS("threads")) threads();
    else if (IS("wait some")) wait_some();
    else if (IS("grid")) grid();
    else fprintf(stderr, "no such program\n");
    MPI_Finalize();
    return 0;
}
