/* Polling while all others wait, which ends by what no call of MPI shows: `./polls file`, `thread` or `signal`. It ends once the
   checker has written a report, which it does when it thinks that nobody can go on; after 40 seconds else. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t is_over;

static void look(int signal)
{
    (void)signal;
    if (access("findings.json", F_OK) == 0) is_over = 1;
}

static void *look_often(void *unused)
{
    while (!is_over) {
        usleep(50000);
        look(0);
    }
    return unused;
}

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "file";
    int rank, size, level, flag, value = 0;
    MPI_Init_thread(&argc, &argv, strcmp(how, "thread") ? MPI_THREAD_SINGLE : MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        pthread_t thread;
        int is_file = !strcmp(how, "file"), is_thread = !strcmp(how, "thread");
        if (is_thread) pthread_create(&thread, NULL, look_often, NULL);
        if (!strcmp(how, "signal")) {
            struct itimerval often = {{0, 50000}, {0, 50000}};
            signal(SIGALRM, look);
            setitimer(ITIMER_REAL, &often, NULL);
        }
        for (double begin = MPI_Wtime(); !is_over && MPI_Wtime() - begin < 40;) {
            for (int i = 0; i < 1000; i++) MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            if (is_file) look(0);
        }
        if (!strcmp(how, "signal")) setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
        is_over = 1;
        if (is_thread) pthread_join(thread, NULL);
        for (int other = 1; other < size; other++) MPI_Send(&value, 1, MPI_INT, other, 1, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
