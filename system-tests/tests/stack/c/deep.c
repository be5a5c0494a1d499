/* Calls MPI at the end of a stack: the program's, a thread's, and one of its own. */
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

static long calls;

/* Fills all but 100 KB above `end`, by frames with calls of MPI in them. */
static void fill(char *end)
{
    volatile char room[4096];
    int rank;
    room[0] = 0;
    if ((char *)room - end > 100000)
        fill(end);
    if (room[0] == 0)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    calls++;
}

static void *thread(void *unused)
{
    pthread_attr_t attributes;
    void *end;
    size_t size;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &end, &size);
    pthread_attr_destroy(&attributes);
    fill(end);
    return unused;
}

static ucontext_t main_context, own_context;

static char *own_stack;

static void own(void)
{
    fill(own_stack);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    thread(NULL);
    pthread_t other;
    pthread_create(&other, NULL, thread, NULL);
    pthread_join(other, NULL);
    size_t size = 4 << 20;
    own_stack = malloc(size);
    getcontext(&own_context);
    own_context.uc_stack.ss_sp = own_stack;
    own_context.uc_stack.ss_size = size;
    own_context.uc_link = &main_context;
    makecontext(&own_context, own, 0);
    swapcontext(&main_context, &own_context);
    MPI_Finalize();
    printf("%ld\n", calls);
    return 0;
}
