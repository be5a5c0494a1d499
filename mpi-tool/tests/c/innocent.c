/*
 * Programs in which all ranks wait for one that works, one by one, by the first argument. They would end if it did, so
 * nobody is to be accused of a deadlock. All run on four ranks.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;
static char buffer[1 << 22];

/* Without an end, for as long as somebody lets it. */
static void compute(void) {
    volatile unsigned long steps = 0;
    alarm(600);
    for (;;) steps++;
}

/* All hold shared locks of all targets, of which one does not call MPI. */
static void shared_locks(void) {
    static int memory, value;
    MPI_Win window;
    MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_lock_all(0, window);
    if (rank == 2) compute();
    MPI_Get(&value, 1, MPI_INT, 2, 0, 1, MPI_INT, window);
    MPI_Win_flush(2, window);
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Those that have done their part of a broadcast free its communicator and go on. */
static void freed_communicator(void) {
    MPI_Comm copy;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    if (rank == 2) compute();
    MPI_Bcast(buffer, 1, MPI_CHAR, 0, copy);
    MPI_Comm_free(&copy);
    if (rank == 0) MPI_Recv(buffer, 1, MPI_CHAR, 3, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 3) MPI_Send(buffer, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A large message that both sides have begun goes on when the receiver calls MPI. */
static void begun(void) {
    MPI_Request request;
    if (rank == 2) {
        MPI_Irecv(buffer, sizeof buffer, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request);
        compute();
    }
    if (rank == 0) MPI_Send(buffer, sizeof buffer, MPI_CHAR, 2, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* One has not come to the end of a window. */
static void window_free(void) {
    static int memory;
    MPI_Win window;
    MPI_Win_create(&memory, sizeof memory, sizeof memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    if (rank == 2) compute();
    MPI_Win_free(&window);
}

static void *sends_later(void *unused) {
    (void)unused;
    sleep(600);
    for (int to = 0; to < size; to++) MPI_Send(buffer, 1, MPI_CHAR, to, 0, MPI_COMM_WORLD);
    return NULL;
}

/* A thread that has not called MPI yet will send what all wait for. */
static void other_thread(void) {
    pthread_t thread;
    if (rank == 2) pthread_create(&thread, NULL, sends_later, NULL);
    MPI_Recv(buffer, 1, MPI_CHAR, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 2) pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level != MPI_THREAD_MULTIPLE) abort();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "shared locks") == 0) shared_locks();
    else if (strcmp(what, "freed communicator") == 0) freed_communicator();
    else if (strcmp(what, "begun") == 0) begun();
    else if (strcmp(what, "window free") == 0) window_free();
    else if (strcmp(what, "other thread") == 0) other_thread();
    MPI_Finalize();
    return 0;
}
