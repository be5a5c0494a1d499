/* A thread whose stack is as small as it may be calls MPI: `./small_stack BYTES`. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size, level;

static void *work(void *unused)
{
    int value = rank, sum = 0;
    MPI_Comm comm;
    MPI_Sendrecv_replace(&value, 1, MPI_INT, (rank + 1) % size, 0, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
    if (sum != size * (size - 1) / 2) abort();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_attr_t small;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    pthread_attr_init(&small);
    if (pthread_attr_setstacksize(&small, strtoul(argv[1], NULL, 10))) abort();
    if (pthread_create(&thread, &small, work, NULL)) abort();
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
