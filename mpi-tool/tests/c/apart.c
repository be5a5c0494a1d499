/* Programs whose ranks, four of them, are on two hosts: those of even rank on the first one. The argument says which one runs.
 * A comment at a line's end says what is wrong there. Errors return, so that what comes afterwards does not depend on MPI. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, values[1000], others[1000], counts[4] = {1, 1, 1, 1}, places[4] = {0, 1, 2, 3};
static float floats[4];
static MPI_Comm comm;
static MPI_Request request, requests[128];

/* Ranks that wait for ever end six seconds after there is a report, or after half a minute. That is late: the thread that finds
 * a deadlock sometimes gets a core only once a second, beside ranks that never give up theirs. */
static struct sigaction before;
static int seconds = 30;

static void tick(int signal) {
    if (seconds > 6 && access(getenv("MPI_TOOL_OUTPUT"), F_OK) == 0) seconds = 6;
    if (seconds-- > 0) {
        alarm(1);
        return;
    }
    sigaction(signal, &before, NULL);
    raise(signal);
}

static int is(const char *name, char **argv) { return !strcmp(argv[1], name); }

static void right(void) {
    MPI_Comm sub, dup;
    MPI_Datatype pair;
    int right_ = (rank + 1) % 4, left = (rank + 3) % 4;
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &sub);
    MPI_Comm_dup(sub, &dup);
    for (int i = 0; i < 200; i++) {
        MPI_Bcast(values, i % 3, MPI_INT, i % 2, dup);
        MPI_Allreduce(values, others, 2, MPI_INT, MPI_SUM, sub);
    }
    MPI_Comm_free(&sub);
    MPI_Ibarrier(dup, &request);
    MPI_Comm_free(&dup);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    for (int i = 0; i < 64; i++) {
        MPI_Irecv(others + 2 * i, 1, pair, left, i % 2, MPI_COMM_WORLD, requests + i);
        MPI_Isend(values + 2 * i, 2, MPI_INT, right_, i % 2, MPI_COMM_WORLD, requests + 64 + i);
    }
    MPI_Waitall(128, requests, MPI_STATUSES_IGNORE);
    MPI_Type_free(&pair);
    /* From anybody, and of one rank in its order. MPICH 5.0.2 hangs in such receives, without a tool. */
    for (int i = 0; !rank && i < 9; i++) {
        MPI_Status status;
        int source = MPI_ANY_SOURCE;
#ifdef MPICH
        MPI_Probe(MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, &status);
        source = status.MPI_SOURCE;
#endif
        MPI_Recv(others, 10, MPI_INT, source, 5, MPI_COMM_WORLD, &status);
    }
    for (int i = 0; rank && i < 3; i++) MPI_Send(values, i, MPI_INT, 0, 5, MPI_COMM_WORLD);
    MPI_Gatherv(values, 1, MPI_INT, others, counts, places, MPI_INT, 3, MPI_COMM_WORLD);
    /* The root need not wait for the others, which come later. */
    if (rank) usleep(300000);
    MPI_Bcast(values, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Allgather(values, 1, MPI_INT, others, 1, MPI_INT, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    int level;
    MPI_Init_thread(&argc, &argv, argc > 2 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    struct sigaction ticks = {.sa_handler = tick, .sa_flags = SA_RESTART};
    sigaction(SIGALRM, &ticks, &before);
    alarm(1);
    if (is("right", argv)) right();
    if (is("roots", argv)) MPI_Bcast(values, 1, MPI_INT, rank == 3, MPI_COMM_WORLD); /* roots */
    if (is("functions", argv)) {
        if (rank == 2) MPI_Barrier(MPI_COMM_WORLD);
        else MPI_Allreduce(values, others, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* functions */
    }
    if (is("split", argv)) {
        MPI_Comm_split(MPI_COMM_WORLD, rank / 2, 0, &comm);
        MPI_Iallreduce(values, others, 1, rank == 1 ? MPI_FLOAT : MPI_INT, MPI_SUM, comm, &request); /* split */
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Comm_free(&comm);
    }
    if (is("blocks", argv)) {
        if (rank == 1) counts[2] = 2;
        MPI_Gatherv(values, 1, MPI_INT, others, counts, places, MPI_INT, 1, MPI_COMM_WORLD); /* blocks */
    }
    /* On one host. */
    if (is("near", argv)) {
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &comm);
        MPI_Bcast(values, 1, MPI_INT, rank == 3, comm); /* near */
        MPI_Comm_free(&comm);
    }
    if (is("types", argv)) {
        if (rank == 0) MPI_Send(values, 4, MPI_INT, 3, 1, MPI_COMM_WORLD);
        if (rank == 3) MPI_Recv(floats, 4, MPI_FLOAT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* types */
    }
    if (is("long", argv)) {
        if (rank == 1) MPI_Send(values, 4, MPI_INT, 2, 1, MPI_COMM_WORLD);
        if (rank == 2) MPI_Recv(others, 3, MPI_INT, 1, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* long */
    }
    if (is("lost", argv)) {
        if (rank == 3) MPI_Send(values, 4, MPI_INT, 0, 1, MPI_COMM_WORLD); /* lost */
    }
    if (is("cycle", argv))
        MPI_Recv(values, 1, MPI_INT, (rank + 1) % 4, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* cycle */
    if (is("one", argv)) {
        if (rank == 1) MPI_Ssend(values, 1, MPI_INT, 0, 0, MPI_COMM_WORLD); /* one */
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (is("leak", argv) && rank == 1) {
        MPI_Datatype pair;
        MPI_Type_contiguous(2, MPI_INT, &pair); /* leak */
    }
    MPI_Finalize();
    return 0;
}
