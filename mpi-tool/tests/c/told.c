/*
 * Programs that hang, one by one, by the first argument: what matters is which of several lines is told. These lines end in a
 * comment. All run on four ranks.
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, one = 1, sum;
static int buffer[4];

/* One rank is a round behind, and has gone on: it is in another call than the one that is wrong. */
static void gone_on(void) {
    for (int round = 0; round < (rank == 1 ? 2 : 3); round++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* third round */
    }
    MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); /* instead */
    MPI_Recv(buffer, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void *worker(void *unused) {
    (void)unused;
    MPI_Recv(buffer, 1, MPI_INT, 1 - rank, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* in a thread */
    return NULL;
}

/* All receive in a circle, and two ranks have threads that wait for each other: that is the shorter circle. */
static void threads(void) {
    pthread_t thread;
    if (rank < 2) pthread_create(&thread, NULL, worker, NULL);
    MPI_Recv(buffer + 1, 1, MPI_INT, (rank + 1) % 4, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* in the circle */
}

/* Is a process stopped, by its state in /proc? */
static int is_stopped(int process) {
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    if (fscanf(file, "%*d (%*[^)]) %c", &state) != 1) state = 0;
    fclose(file);
    return state == 'T';
}

/* A child of its own stops this process in a moment. */
static void stop_soon(int process) {
    if (fork() == 0) {
        usleep(300000);
        kill(process, SIGSTOP);
        _exit(0);
    }
}

/* Somebody stops a rank that receives, and then the message comes. */
static void stopped_inside(void) {
    int process = getpid();
    if (rank == 1) {
        MPI_Send(&process, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        stop_soon(process);
        MPI_Recv(buffer, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* stopped here */
    } else if (rank == 0) {
        MPI_Recv(&process, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        while (!is_stopped(process)) usleep(1000);
        MPI_Ssend(buffer, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The same in an operation to which all have come. */
static void stopped_in_barrier(void) {
    int process = getpid();
    if (rank == 1) {
        MPI_Send(&process, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        stop_soon(process);
    } else if (rank == 0) {
        MPI_Recv(&process, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        while (!is_stopped(process)) usleep(1000);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* stopped in a barrier */
}

int main(int argc, char **argv) {
    int level;
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Init_thread(&argc, &argv, strcmp(what, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(what, "gone on") == 0) gone_on();
    else if (strcmp(what, "threads") == 0) threads();
    else if (strcmp(what, "stopped inside") == 0) stopped_inside();
    else if (strcmp(what, "stopped in barrier") == 0) stopped_in_barrier();
    else MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Finalize();
    return 0;
}
