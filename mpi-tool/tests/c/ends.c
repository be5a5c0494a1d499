/* Five calls of MPI_Allreduce, and then one of the ways in which a process ends: argv[1] names it. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STATUS 3

static const char *way = "";

static int is(const char *name)
{
    return strcmp(way, name) == 0;
}

static int deep(volatile char *before)
{
    volatile char room[4096];
    room[0] = before ? before[0] : 1;
    /* Never so, which the compiler does not know. */
    return room[0] == 0 ? 0 : deep(room) + room[0];
}

static void finalize(void)
{
    MPI_Finalize();
}

static void leave(void)
{
    _exit(STATUS);
}

__attribute__((destructor)) static void last(void)
{
    if (is("finalize-in-destructor"))
        MPI_Finalize();
}

static void *by_thread(void *unused)
{
    if (is("overflow-in-thread"))
        deep(NULL);
    exit(STATUS);
    return unused;
}

static void handler(int signal)
{
    _exit(signal);
}

int main(int argc, char **argv)
{
    way = argc > 1 ? argv[1] : "";
    if (is("own-handler"))
        signal(SIGTERM, handler);
    MPI_Init(&argc, &argv);
    int one = 1, sum;
    for (int i = 0; i < 5; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("before the end\n");
    fflush(stdout);

    if (is("return"))
        return STATUS;
    if (is("exit"))
        exit(STATUS);
    if (is("_exit"))
        _exit(STATUS);
    if (is("_Exit"))
        _Exit(STATUS);
    if (is("quick_exit"))
        quick_exit(STATUS);
    if (is("system-call"))
        syscall(SYS_exit_group, STATUS);
    if (is("exec"))
        execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
    if (is("abort"))
        abort();
    if (is("fault"))
        *(volatile int *)8 = 1;
    if (is("divide"))
        raise(SIGFPE);
    if (is("illegal"))
        __builtin_trap();
    if (is("overflow"))
        return deep(NULL);
    if (is("exit-in-thread") || is("overflow-in-thread")) {
        pthread_t thread;
        pthread_create(&thread, NULL, by_thread, NULL);
        pthread_join(thread, NULL);
    }
    if (is("terminated") || is("own-handler"))
        raise(SIGTERM);
    if (is("killed"))
        raise(SIGKILL);
    if (is("MPI_Abort"))
        MPI_Abort(MPI_COMM_WORLD, STATUS);
    if (is("fatal-error"))
        MPI_Send(&one, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
    if (is("finalize-at-exit"))
        atexit(finalize);
    else if (is("leave-at-exit"))
        atexit(leave);
    else if (!is("finalize-in-destructor"))
        MPI_Finalize();
    return STATUS;
}
