/* Buffers that threads use, on two ranks: `./loads_threads WHAT`. WHAT `right`: a thread uses its buffers when its operation is
 * complete, and often another thread has ended it, or has one with the same handle. WHAT `before`: a thread changes a buffer before
 * another one sends it, and nothing that the sanitizer sees orders the two. WHAT `freed`: a thread frees it
 * before. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 16, ROUNDS = 200 };
static int rank, peer;
static MPI_Comm w = MPI_COMM_WORLD;
static int sent[2][N], received[2][N], other[2][N];
static MPI_Request q[2];
static MPI_Win win;

static void fill(int *buffer, int value) {
    for (int i = 0; i < N; i++) buffer[i] = value;
}
static int sum(int *buffer) {
    int sum = 0;
    for (int i = 0; i < N; i++) sum += buffer[i];
    return sum;
}

/* Sends that are complete at once may have one handle. */
static void *messages(void *number) {
    int me = *(int *)number, value = 0;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request receive, send;
        MPI_Irecv(received[me], N, MPI_INT, peer, me, w, &receive);
        fill(sent[me], i);
        MPI_Isend(sent[me], N, MPI_INT, peer, me, w, &send);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        fill(sent[me], -1);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        value += sum(received[me]);
        fill(received[me], -1);
    }
    if (value != N * ROUNDS * (ROUNDS - 1) / 2) puts("wrong messages");
    return NULL;
}

/* A thread looks at its request, which ends all that are complete. */
static void *looks(void *number) {
    int me = *(int *)number;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request receive, send;
        int done = 0;
        MPI_Irecv(received[me], N, MPI_INT, peer, me, w, &receive);
        MPI_Isend(sent[me], N, MPI_INT, peer, me, w, &send);
        while (me == 0 && !done) MPI_Request_get_status(receive, &done, MPI_STATUS_IGNORE);
        if (me == 0) fill(received[me], -1);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        fill(sent[me], i);
        fill(received[me], -1);
    }
    return NULL;
}

static void *partitions(void *number) {
    int me = *(int *)number, done = 0;
    fill(sent[me], me);
    MPI_Pready(me, q[0]);
    while (!done) MPI_Parrived(q[1], me, &done);
    sum(received[me]);
    fill(received[me], -1);
    return NULL;
}

static void *gets(void *number) {
    int me = *(int *)number;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Get(other[me], N, MPI_INT, peer, 0, N, MPI_INT, win);
        MPI_Win_flush(peer, win);
        sum(other[me]);
        fill(other[me], -1);
    }
    return NULL;
}

static void *starts(void *unused) {
    MPI_Irecv(received[0], N, MPI_INT, peer, 5, w, &q[0]);
    MPI_Isend(sent[0], N, MPI_INT, peer, 5, w, &q[1]);
    return unused;
}

static void both(void *(*run)(void *)) {
    static int numbers[2] = {0, 1};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, run, &numbers[i]);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    MPI_Barrier(w);
}

static void right(void) {
    both(messages);
    both(looks);
    MPI_Psend_init(sent, 2, N, MPI_INT, peer, 7, w, MPI_INFO_NULL, &q[0]);
    MPI_Precv_init(received, 2, N, MPI_INT, peer, 7, w, MPI_INFO_NULL, &q[1]);
    for (int i = 0; i < 20; i++) {
        MPI_Startall(2, q);
        both(partitions);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
        fill(sent[0], i), fill(received[1], i);
    }
    MPI_Request_free(&q[0]), MPI_Request_free(&q[1]);
    int *window;
    MPI_Win_allocate(N * sizeof(int), sizeof(int), MPI_INFO_NULL, w, &window, &win);
    fill(window, 1);
    MPI_Barrier(w);
    MPI_Win_lock_all(0, win);
    both(gets);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    pthread_t thread;
    for (int i = 0; i < 20; i++) {
        pthread_create(&thread, NULL, starts, NULL);
        pthread_join(thread, NULL);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
        fill(sent[0], i), fill(received[0], i);
    }
}

/* What the sanitizer does not see orders nothing for it. */
static volatile int is_changed;
__attribute__((no_sanitize("thread"), noinline)) static void set_changed(void) { is_changed = 1; }
__attribute__((no_sanitize("thread"), noinline)) static void wait_changed(void) {
    while (!is_changed) usleep(1000);
}
static int *memory;
static void *changes(void *unused) {
    memory[0] = 7; /* changed */
    set_changed();
    return unused;
}
/* The thread lives on: what it has freed is not given to others. */
static pthread_barrier_t over;
static void *frees(void *unused) {
    free(memory); /* freed */
    set_changed();
    pthread_barrier_wait(&over);
    return unused;
}

static void exchange(int *buffer) {
    MPI_Isend(buffer, N, MPI_INT, peer, 1, w, &q[0]); /* sent */
    MPI_Recv(received[0], N, MPI_INT, peer, 1, w, MPI_STATUS_IGNORE);
    MPI_Wait(&q[0], MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    int level;
    if (argc < 2) return 2;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level < MPI_THREAD_MULTIPLE) return puts("no threads"), MPI_Finalize();
    MPI_Comm_rank(w, &rank);
    peer = 1 - rank;
    if (!strcmp(argv[1], "right")) right();
    if (!strcmp(argv[1], "before") || !strcmp(argv[1], "freed")) {
        int frees_it = !strcmp(argv[1], "freed");
        pthread_t thread;
        memory = malloc(N * sizeof(int));
        fill(memory, 1);
        pthread_barrier_init(&over, NULL, 2);
        pthread_create(&thread, NULL, frees_it ? frees : changes, NULL);
        wait_changed();
        exchange(memory);
        if (frees_it) pthread_barrier_wait(&over);
        pthread_join(thread, NULL);
    }
    MPI_Finalize();
    puts("done");
    return 0;
}
