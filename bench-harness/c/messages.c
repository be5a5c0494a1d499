/* What `messages` has in Rust, in C as one writes it: messages from one rank to another, and a
 * structured grid (Jacobi's iteration for Laplace's equation, rows distributed over the ranks). */
#include <math.h>
#include <mpi.h>

/* Messages from rank 0 to rank 1, which answers after the last. */
void c_messages(double *buffer, int count, int rounds) {
    int rank;
    char done = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        for (int i = 0; i < rounds; i++)
            MPI_Send(buffer, count, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(&done, 1, MPI_UINT8_T, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        for (int i = 0; i < rounds; i++)
            MPI_Recv(buffer, count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&done, 1, MPI_UINT8_T, 0, 1, MPI_COMM_WORLD);
    }
}

/* Each element becomes the mean of its neighbours; the outermost columns stay. */
static void sweep(const double *restrict old, double *restrict new, int rows, int columns) {
    for (int i = 1; i <= rows; i++) {
        const double *above = old + (long)(i - 1) * columns;
        const double *row = old + (long)i * columns;
        const double *below = old + (long)(i + 1) * columns;
        double *to = new + (long)i * columns;
        for (int j = 1; j < columns - 1; j++)
            to[j] = 0.25 * (above[j] + below[j] + row[j - 1] + row[j + 1]);
    }
}

static double greatest_change(const double *old, const double *new, int rows, int columns) {
    double change = 0;
    for (long i = columns; i < (long)(rows + 1) * columns; i++) {
        double here = fabs(new[i] - old[i]);
        if (here > change)
            change = here;
    }
    return change;
}

/* Two grids of rows + 2 rows, the first and the last being the neighbours' or the boundary. Twice as
 * many sweeps as steps; the result is in the first grid. Returns the last sweep's greatest change. */
double c_grid(double *old, double *new, int rows, int columns, int steps) {
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int above = rank == 0 ? MPI_PROC_NULL : rank - 1;
    int below = rank == size - 1 ? MPI_PROC_NULL : rank + 1;
    double change = 0, here;
    for (int step = 0; step < steps; step++) {
        for (int half = 0; half < 2; half++) {
            MPI_Request requests[4];
            double *last = old + (long)rows * columns;
            MPI_Irecv(old, columns, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[0]);
            MPI_Irecv(last + columns, columns, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, &requests[1]);
            MPI_Isend(old + columns, columns, MPI_DOUBLE, above, 1, MPI_COMM_WORLD, &requests[2]);
            MPI_Isend(last, columns, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &requests[3]);
            MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
            sweep(old, new, rows, columns);
            double *swap = old;
            old = new;
            new = swap;
        }
        if (step % 10 == 9 || step == steps - 1) {
            here = greatest_change(new, old, rows, columns);
            MPI_Allreduce(&here, &change, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        }
    }
    return change;
}
