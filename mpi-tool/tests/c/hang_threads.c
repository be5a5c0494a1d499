/* Three threads of each rank wait for messages that nobody sends. */
#include <mpi.h>
#include <pthread.h>
#include <stdlib.h>

static int rank;

static void *worker(void *tag) {
    int value;
    MPI_Recv(&value, 1, MPI_INT, 1 - rank, *(int *)tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return NULL;
}

int main(int argc, char **argv) {
    int level, tags[3] = {1, 2, 3};
    pthread_t threads[3];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    if (level != MPI_THREAD_MULTIPLE) abort();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, worker, &tags[i]);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    MPI_Finalize();
    return 0;
}
