/* Threads that call MPI one at a time, as MPI_THREAD_SERIALIZED asks for: nothing may be found. */
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static _Thread_local jmp_buf out;
static MPI_Op jumps, asks;

static void jump(void *in, void *inout, int *length, MPI_Datatype *datatype) {
    (void)in, (void)inout, (void)length, (void)datatype;
    longjmp(out, 1);
}

/* A callback may call MPI: it is the same thread. */
static void ask(void *in, void *inout, int *length, MPI_Datatype *datatype) {
    int size;
    MPI_Type_size(*datatype, &size);
    for (int i = 0; i < *length; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static void take_turns(int number) {
    int rank, size, flag, one = 1, two = 2;
    for (int i = 0; i < 2000; i++) {
        pthread_mutex_lock(&lock);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Sendrecv(&one, 1, MPI_INT, rank, number, &two, 1, MPI_INT, rank, number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (i % 8 == 0) MPI_Reduce_local(&one, &two, 1, MPI_INT, asks);
        pthread_mutex_unlock(&lock);
        /* These may be called at any time. */
        MPI_Initialized(&flag);
        MPI_Finalized(&flag);
        MPI_Query_thread(&flag);
        MPI_Is_thread_main(&flag);
    }
    for (int i = 0; i < 20; i++) {
        pthread_mutex_lock(&lock);
        if (!setjmp(out)) MPI_Reduce_local(&one, &two, 1, MPI_INT, jumps);
        pthread_mutex_unlock(&lock);
        /* The other one calls MPI meanwhile, and only then does this one. */
        pthread_barrier_wait(&both);
        pthread_mutex_lock(&lock);
        if (i % 2 == number) MPI_Comm_size(MPI_COMM_WORLD, &size);
        pthread_mutex_unlock(&lock);
        pthread_barrier_wait(&both);
        MPI_Initialized(&flag);
    }
}

static void *second(void *unused) {
    take_turns(1);
    return unused;
}

int main(int argc, char **argv) {
    int level;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    pthread_barrier_init(&both, NULL, 2);
    MPI_Op_create(jump, 1, &jumps);
    MPI_Op_create(ask, 1, &asks);
    pthread_create(&thread, NULL, second, NULL);
    take_turns(0);
    pthread_join(thread, NULL);
    MPI_Op_free(&jumps);
    MPI_Op_free(&asks);
    MPI_Finalize();
    puts("over");
    return 0;
}
