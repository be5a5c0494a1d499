/* Calls by way of two wrappers, from places with a comment that names them. For two ranks. */
#include <mpi.h>

/* Keeps a call from being the last thing that its function does, which the compiler would make a jump. */
#define STAY __asm__ volatile("" ::: "memory")
#define APART __attribute__((noinline, noclone))

static int rank, data[100];
/* Loops count in volatile variables: the compiler would unroll them, and each call would be a place of its own. */

static APART void transfer(int count)
{
    if (rank == 0)
        MPI_Send(data, count, MPI_INT, 1, 0, MPI_COMM_WORLD); /* send */
    else
        MPI_Recv(data, 100, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* receive */
    STAY;
}

static APART void exchange(int count)
{
    transfer(count); /* wrapped */
    STAY;
}

static inline __attribute__((always_inline)) void meet(void)
{
    MPI_Barrier(MPI_COMM_WORLD); /* meet */
    STAY;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (volatile int i = 0; i < 3; i++)
        exchange(10); /* short */
    for (volatile int i = 0; i < 2; i++)
        exchange(100); /* long */
    for (volatile int i = 0; i < 4; i++)
        meet(); /* barriers */
    MPI_Finalize();
    return 0;
}
