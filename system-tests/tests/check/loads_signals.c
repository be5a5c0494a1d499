/* A thread sends signals to one that calls MPI, each when the one before has come: none may be lost. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { N = 4096, SIGNALS = 500, MILLISECONDS = 20000 };
static atomic_int came, is_over;
static pthread_t first;
static int sent[N], received[N];

static void note(int signal) {
    (void)signal;
    came++;
}

static void *send_signals(void *unused) {
    for (int i = 0; i < SIGNALS && came == i; i++) {
        pthread_kill(first, SIGUSR1);
        for (int passed = 0; came == i && passed < MILLISECONDS; passed++) usleep(1000);
    }
    is_over = 1;
    return unused;
}

int main(int argc, char **argv) {
    int level;
    pthread_t thread;
    signal(SIGUSR1, note);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    first = pthread_self();
    pthread_create(&thread, NULL, send_signals, NULL);
    while (!is_over) {
        MPI_Request q[2];
        MPI_Irecv(received, N, MPI_INT, 0, 0, MPI_COMM_SELF, &q[0]);
        MPI_Isend(sent, N, MPI_INT, 0, 0, MPI_COMM_SELF, &q[1]);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    }
    pthread_join(thread, NULL);
    MPI_Finalize();
    puts(came == SIGNALS ? "all came" : "some are lost");
    return 0;
}
