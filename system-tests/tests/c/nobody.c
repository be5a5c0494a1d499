/* Messages to nobody: by threads, from two places, on two communicators, inside of another call, and while measuring is
 * switched off. */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>

enum { CALLS = 1000, THREADS = 3 };

static MPI_Comm other;

static void *messages(void *unused)
{
    for (int i = 0; i < CALLS; i++) {
        int in;
        MPI_Send(&i, 1, MPI_INT, MPI_PROC_NULL, i % 3, MPI_COMM_WORLD);
        if (i % 4 == 0)
            MPI_Send(&i, 1, MPI_INT, MPI_PROC_NULL, 1, other);
        MPI_Sendrecv(&i, 1, MPI_INT, MPI_PROC_NULL, 0, &in, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    return unused;
}

static int deleted(MPI_Comm comm, int key, void *value, void *unused)
{
    for (int i = 0; i < 10; i++)
        MPI_Send(&i, 1, MPI_INT, MPI_PROC_NULL, 7, MPI_COMM_WORLD);
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    MPI_Comm last;
    int level, key;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level != MPI_THREAD_MULTIPLE)
        abort();
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, messages, NULL);
    messages(NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    MPI_Comm_dup(MPI_COMM_WORLD, &last);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &key, NULL);
    MPI_Comm_set_attr(last, key, NULL);
    MPI_Comm_free(&last);
    MPI_Pcontrol(0);
    messages(NULL);
    MPI_Pcontrol(1);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free(&other);
    MPI_Finalize();
    return 0;
}
