/*
 * A loop of calls of one kind between two lines that it writes, with itself alone: what the loop costs is what the calls
 * cost, and not how long one has waited for another.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SELF MPI_COMM_SELF

static double out = 1, in;

static void messages(void) {
    MPI_Request request;
    MPI_Irecv(&in, 1, MPI_DOUBLE, 0, 1, SELF, &request);
    MPI_Send(&out, 1, MPI_DOUBLE, 0, 1, SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend(&out, 1, MPI_DOUBLE, 0, 1, SELF, &request);
    MPI_Recv(&in, 1, MPI_DOUBLE, 0, 1, SELF, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void operations(void) {
    MPI_Allreduce(&out, &in, 1, MPI_DOUBLE, MPI_SUM, SELF);
    MPI_Bcast(&in, 1, MPI_DOUBLE, 0, SELF);
    MPI_Barrier(SELF);
}

static MPI_Request never;

static void questions(void) {
    int flag;
    MPI_Test(&never, &flag, MPI_STATUS_IGNORE);
    MPI_Iprobe(0, 2, SELF, &flag, MPI_STATUS_IGNORE);
}

static void say(const char *line) {
    if (write(1, line, strlen(line)) < 0) abort();
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    long rounds = argc > 2 ? atol(argv[2]) : 0;
    void (*loop)(void) = strcmp(what, "messages") == 0 ? messages : strcmp(what, "operations") == 0 ? operations : questions;
    MPI_Init(&argc, &argv);
    MPI_Irecv(&in, 1, MPI_DOUBLE, 0, 3, SELF, &never);
    loop(); /* what happens once has happened */
    say("begin\n");
    while (rounds-- > 0) loop();
    say("end\n");
    MPI_Send(&out, 1, MPI_DOUBLE, 0, 3, SELF);
    MPI_Wait(&never, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
