/* What the programs share that stand still for a while: see `standing.c`. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WORLD MPI_COMM_WORLD
#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
#define HAS_4 1
#else
#define HAS_4 0
#endif

static int rank, size;
static char buffer[1 << 22];

/* Longer than what the test gives. */
static inline void stand(void) {
    struct timespec time = {2, 500000000};
    while (nanosleep(&time, &time) != 0) {}
}

static inline void stand_at(int who) {
    if (rank == who) stand();
}

static inline void send_to(int to) { MPI_Send(buffer, 1, MPI_CHAR, to, 5, WORLD); }

static inline void receive_from(int from) { MPI_Recv(buffer, 1, MPI_CHAR, from, 5, WORLD, MPI_STATUS_IGNORE); }
